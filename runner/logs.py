"""One log file for each row: its stages and everything the board printed, with the time since the row began."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path
from types import TracebackType

from portbench.boards.console import BoundedLog
from portbench.results.storage import StorageError
from portbench.runner.stages import Stage


class RowLog:
    """A log written line by line, so that it survives a kill.

    The board's output is limited in size. Raises StorageError if a line cannot be written.
    """

    def __init__(self, folder: Path, row_id: str) -> None:
        self.path = folder / (re.sub(r"[^\w.\-]+", "_", row_id) + ".log")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("w", encoding="utf-8", buffering=1)
        except OSError as error:
            raise self._fault(error) from error
        self._lines = BoundedLog(self._write)
        self._started = time.monotonic()
        self._usable = True

    def stage(self, stage: Stage) -> None:
        self.note(stage)

    def note(self, text: str) -> None:
        """Write a line about the bench."""
        self._lines.note(f"# {text}")

    def line(self, text: str) -> None:
        """Write a line that the board printed."""
        self._lines.line(text)

    def __enter__(self) -> RowLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._lines.end()
            if error is not None:
                self.note(f"ended by {error!r}")
        finally:
            self._usable = False
            with contextlib.suppress(OSError):  # told already
                self._file.close()

    def _write(self, text: str) -> None:
        if not self._usable:
            return
        try:
            self._file.write(f"{time.monotonic() - self._started:9.3f} {text}\n")
        except OSError as error:
            self._usable = False
            raise self._fault(error) from error

    def _fault(self, error: OSError) -> StorageError:
        return StorageError(f"{self.path}: cannot be written ({error.strerror}); make room or make it writable")
