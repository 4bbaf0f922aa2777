"""What a person watches while a bench runs: a live line for the row that is on, and one line for each that is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status
from rich.text import Text

from portbench.boards.console import RESULT_PREFIX
from portbench.runner.stages import Stage
from portbench.shown import shown

_DOING = {
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
_SHOWN_CHARACTERS = 60


class ProgressView:
    """Shows rows on `console`; without a terminal only the lines of rows that are done."""

    def __init__(self, rows: int, console: Console | None = None) -> None:
        self._rows = rows
        self._done = 0
        self._console = console or Console(file=sys.stdout, highlight=False)
        self._status: Status | None = None
        self._label = ""
        self._told: set[str] = set()
        self._stage = Stage.IMAGE
        self._since = 0.0

    @contextmanager
    def row(self, label: str) -> Iterator[None]:
        """While the block runs, `label` is the row that is on."""
        self._label = label
        if not self._console.is_terminal:
            yield
            return
        with self._console.status("") as self._status:
            try:
                self.stage(Stage.IMAGE)
                yield
            finally:
                self._status = None

    def stage(self, stage: Stage) -> None:
        self._stage = stage
        self._since = time.monotonic()
        self._show("")

    def line(self, text: str) -> None:
        """A line that the board printed."""
        if RESULT_PREFIX not in text:
            self._show(shown(text))

    def done(self, status: str, details: str, label: str | None = None) -> None:
        """The row `label`, else the one that is on, has ended as `status`; `details` is one line. What was skipped is
        told once."""
        self._done += 1
        if status == "skipped":
            if details in self._told:
                return
            self._told.add(details)
        counted = f"[{self._done:>{len(str(self._rows))}}/{self._rows}]"
        said = shown(f"{label or self._label}  {details}")
        self._print(Text.assemble(counted, " ", (f"{status:<8}", _STYLES.get(status, "")), f" {said}"))

    def note(self, text: str) -> None:
        """A line of its own."""
        self._print(Text(shown(text)))

    def _print(self, text: Text) -> None:
        try:
            self._console.print(text, soft_wrap=True)
        except OSError:  # whoever watched has gone: rows are measured all the same
            self._console = Console(quiet=True)

    def _show(self, printed: str) -> None:
        if self._status is None:
            return
        counted = f"[{self._done + 1}/{self._rows}]"
        doing = f"{counted} {self._label}: {_DOING[self._stage]}"
        after = time.monotonic() - self._since
        said = f" ({after:.0f} s) {printed[:_SHOWN_CHARACTERS]}" if printed else ""
        self._status.update(Text(doing + said))
