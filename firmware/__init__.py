"""Firmware images: the catalogue, obtaining and checking images, and the UF2 format.

This file serves processes that need no catalogue, too.
"""

from typing import Final

FOLDER_VARIABLE: Final = "PORTBENCH_FIRMWARE_DIR"


def without_spaces(machine: str) -> str:
    """A board's name for comparisons: MicroPython writes Pico2, CircuitPython Pico 2."""
    return machine.replace(" ", "")
