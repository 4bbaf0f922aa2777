"""Check the emulated board.

Each check runs its parts and reports findings. It ends with status 1 where a finding is not as it has to be, and where
a part could not be measured, such as one whose image is missing; the last lines say which.
"""
