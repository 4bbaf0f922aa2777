"""Where a bench's rows go."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from portbench.results.model import Row


class RowSink(Protocol):
    """`results.storage.RunWriter`, or what stands in for it in a process that does not write."""

    path: Path

    def append(self, row: Row) -> None:
        """Keep a finished row."""
        ...

    def finish(self) -> None:
        """All rows have been measured."""
        ...


def native_lock(writer: RowSink) -> Path:
    """The lock file of the one native client that may run, of a bench that measures several boards at once."""
    return writer.path.with_suffix("") / "native.lock"


def turns_lock(writer: RowSink) -> Path:
    """The lock file of rows that take turns because they would disturb each other."""
    return writer.path.with_suffix("") / "turns.lock"
