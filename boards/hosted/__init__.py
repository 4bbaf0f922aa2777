"""Ports that run on the PC itself: MicroPython's unix port, and CircuitPython's driver over Blinka."""
