"""An emulated board as a process for people: a serial port, drives, controls and faults, like a board on a desk."""

from typing import Final

UARTS: Final = 2
"""UART0 and UART1."""
