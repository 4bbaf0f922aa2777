"""One log file for each row: its stages and everything the board printed, with the time since the row began."""

from __future__ import annotations

import re
import time
from pathlib import Path
from types import TracebackType

from portbench.runner.timeouts import Stage


class RowLog:
    """Written line by line, in a folder beside the run file, so that it is there even if everything is killed."""

    def __init__(self, run_file: Path, row_id: str) -> None:
        folder = run_file.with_suffix("")
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / (re.sub(r"[^\w.\-]+", "_", row_id) + ".log")
        self._file = self.path.open("w", encoding="utf-8", buffering=1)
        self._started = time.monotonic()

    def stage(self, stage: Stage) -> None:
        self.line(f"# {stage}")

    def line(self, text: str) -> None:
        self._file.write(f"{time.monotonic() - self._started:9.3f} {text}\n")

    def __enter__(self) -> RowLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.line(f"# ended by {error!r}")
        self._file.close()
