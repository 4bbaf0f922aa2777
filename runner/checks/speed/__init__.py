"""How fast the emulated board is, against the chip and against other emulators.

Everything is measured in one run on one machine, so that the ratios mean something wherever it runs.
"""
