"""How long frames are on the Ethernet cable."""

from __future__ import annotations

from typing import Final

_BYTE_US: Final = 0.08
"""On 100BASE-TX."""
_LEAST_BYTES: Final = 60
_AROUND_BYTES: Final = 12
"""Preamble and frame check sequence."""


def cable_us(length: int) -> float:
    """How long a frame of `length` bytes, without padding and check sequence, is on the cable."""
    return (max(length, _LEAST_BYTES) + _AROUND_BYTES) * _BYTE_US
