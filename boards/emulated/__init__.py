"""Emulated boards: an RP2040 and its network chip in software, which run the same UF2 as a real board."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from portbench.boards.emulated.board import EmulatedBoard as EmulatedBoard

__all__ = ["EmulatedBoard"]


def __getattr__(name: str) -> Any:
    # Only when asked for: the board's own process needs none of the USB path, and the USB path needs the registry here.
    if name == "EmulatedBoard":
        from portbench.boards.emulated.board import EmulatedBoard

        return EmulatedBoard
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
