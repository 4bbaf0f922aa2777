"""Rows that disturb each other take turns: a hosted row's figures are the PC's, emulated rows would slow it down."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

if os.name == "posix":
    import fcntl


@contextlib.contextmanager
def turn(path: Path, *, alone: bool) -> Iterator[None]:
    """While it lasts no other process has a turn `alone`; if this one is, no other has any.

    Waits without a deadline of its own: whoever has a turn has deadlines, and the kernel ends it with the process.
    """
    if os.name != "posix":
        yield
        return
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
