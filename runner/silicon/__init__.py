"""Accuracy of the emulated board: figures that others published of real boards, measured again."""
