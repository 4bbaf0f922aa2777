"""The progress of rows: a live line on a terminal, a line for each row that has ended, and a log file for each row."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from portbench.boards.console import BoundedLog
from portbench.console import console, shown
from portbench.results.model import Row, Status
from portbench.results.storage import StorageError, writing
from portbench.runner.stages import Stage

_DOING: dict[str, str] = {
    Stage.IMAGE: "obtaining the image",
    Stage.OPEN: "opening the board",
    Stage.FLASH: "flashing",
    Stage.CONSOLE: "waiting for the console",
    Stage.IDENTIFY: "asking what runs",
    Stage.DEPLOY: "deploying the client",
    Stage.READY: "waiting until it is ready",
    Stage.RUN: "running",
}
_STYLES = {"measured": "green", "skipped": "yellow", "failed": "bold red"}
_PARTS = 10


class ProgressView:
    """Shows `rows` rows on `out`, by default standard error; without a terminal as lines alone.

    `brief`: tells of measured rows in ten steps only. `failures`: tells of failed rows.
    Threads may share it.
    """

    def __init__(self, rows: int, out: Console | None = None, *, brief: bool = False, failures: bool = True) -> None:
        self._rows = rows
        self._failures = failures
        self._brief = brief
        self._done = 0
        self._told: set[str] = set()
        self._on: dict[str, str] = {}
        self._mutex = threading.Lock()
        self._began_s = time.monotonic()
        self._console = out or console(stderr=True)
        self._live = Progress(
            TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
            BarColumn(20),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            expand=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._live.add_task("", total=rows)

    def __enter__(self) -> ProgressView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def doing(self, label: str, what: str) -> None:
        """`what` is done for the row `label`: a stage, or words."""
        with self._mutex:
            self._on[label] = _DOING.get(what, what)
            self._show()

    def done(self, label: str, row: Row, log: Path | None = None) -> None:
        """The row `label` has ended. Reasons for skipping are told once; a failure with its console and log."""
        with self._mutex:
            self._done += 1
            self._on.pop(label, None)
            self._live.advance(self._task)
            self._show()
            details = describe(row)
            if row.status is Status.SKIPPED and details in self._told:
                return
            if row.status is Status.FAILED and not self._failures:
                return
            self._told.add(details)
            counted = f"[{self._done:>{len(str(self._rows))}}/{self._rows}]"
            if self._brief and row.status is Status.MEASURED:
                if self._done * _PARTS // self._rows > (self._done - 1) * _PARTS // self._rows:
                    left_s = (time.monotonic() - self._began_s) / self._done * (self._rows - self._done)
                    self._print([Text(f"{counted} {_seconds(left_s)} left")])
                return
            said = shown(f"{label}  {details}")
            lines = [Text.assemble(counted, " ", (f"{row.status:<8}", _STYLES[row.status]), f" {said}")]
            if row.status is Status.FAILED:
                if row.console_tail:
                    lines.append(Text("    the console's last lines:"))
                    lines += [Text(f"      {line}") for line in row.console_tail]
                if log is not None:
                    lines.append(Text(f"    log: {shown(str(log))}"))
            self._print(lines)

    def note(self, text: str) -> None:
        """Prints `text` on one line."""
        self._print([Text(shown(text))])

    def _print(self, lines: Sequence[Text]) -> None:
        try:
            for line in lines:
                self._live.console.print(line, soft_wrap=True)
        except OSError:  # its reader has gone: rows are measured all the same
            self._live.disable = True
            self._live.console.quiet = True

    def _show(self) -> None:
        if self._on:
            label, what = list(self._on.items())[-1]
            self._live.update(self._task, description=shown(f"{label}: {what}"))


def describe(row: Row) -> str:
    """One line for a person: the figures, or why there are none."""
    if row.image_url is not None:
        return f"{row.runtime}: no image; how to get it is below the table"
    if row.status is not Status.MEASURED or row.value is None or row.headline is None:
        return row.reason or ""
    ready_us = row.figures.get("ready_us")
    ready = "" if ready_us is None else f" (ready after {ready_us / 1e6:.2f} s)"
    return f"{row.value:.1f} {row.headline.unit}{ready}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


class RowLog:
    """The log file of a row: its stages and everything the board printed, with the time since the row began.

    It is written line by line, so that it survives a kill. The board's output is limited in size. Raises StorageError
    if a line cannot be written.
    """

    def __init__(self, folder: Path, row_id: str) -> None:
        self.path = folder / (re.sub(r"[^\w.\-]+", "_", row_id) + ".log")
        with writing(self.path):
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("w", encoding="utf-8", buffering=1)
        self._lines = BoundedLog(self._write)
        self._started = time.monotonic()
        self._usable = True

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
            with writing(self.path):
                self._file.write(f"{time.monotonic() - self._started:9.3f} {text}\n")
        except StorageError:
            self._usable = False
            raise
