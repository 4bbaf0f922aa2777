"""A running emulated board, as people name it."""

from __future__ import annotations


def desk_name(text: str) -> str:
    """`usb:NAME`, as --device has it, or NAME."""
    return text.removeprefix("usb:")
