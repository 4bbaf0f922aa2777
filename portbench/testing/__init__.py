"""Tests of a user's programs on an emulated board, in simulated time: see docs/testing-your-app.md.

The fixtures are in `portbench.testing.plugin`, which pytest loads by itself. It loads this file, too, so
each class here is imported only when it is first named.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from portbench.testing.board import Board
    from portbench.testing.errors import NothingCame
    from portbench.testing.frames import Frame
    from portbench.testing.network import Connection, Listener

__all__ = ["Board", "Connection", "Frame", "Listener", "NothingCame"]

_WHERE = {"Board": "board", "Connection": "network", "Frame": "frames", "Listener": "network", "NothingCame": "errors"}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    except ImportError:
        from portbench.engine import needs_engine

        needs_engine()
        raise
