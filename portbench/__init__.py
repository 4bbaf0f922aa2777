"""portbench: which Python firmware should I flash on this board, and why is it slow?

The subpackages are the folders at the top of the repository, under one name: `portbench.boards` is `boards/`.
"""
