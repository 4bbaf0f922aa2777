"""Files that a verb is to write at its end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def writable(paths: Iterable[Path]) -> None:
    """Raises OSError where one of them could not be written; leaves none behind that was not there."""
    for path in paths:
        there = path.exists()
        path.open("ab").close()
        if not there:
            path.unlink()
