"""The speed of the emulated board, against the chip and against other emulators."""
