"""The progress of rows: a live line on a terminal, a line for each row that has ended, and a log file for each row."""

from __future__ import annotations

import contextlib
import json
import re
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.progress_bar import ProgressBar
from rich.table import Column
from rich.text import Text

from portbench.boards.console import BoundedLog
from portbench.console import console, print_line, shown
from portbench.results.model import Row, Status
from portbench.results.storage import LATEST, StorageError, read, writing
from portbench.runner.plan import PlannedRow
from portbench.runner.stages import Stage

_DOING: dict[str, str] = {
    Stage.IMAGE: "getting the image",
    Stage.OPEN: "opening",
    Stage.FLASH: "flashing",
    Stage.CONSOLE: "waiting for console",
    Stage.IDENTIFY: "asking what runs",
    Stage.DEPLOY: "deploying",
    Stage.READY: "waiting until ready",
    Stage.RUN: "running",
}
_STYLES = {"measured": "green", "skipped": "yellow", "unsupported": "yellow", "failed": "bold red"}
_PARTS = 10
_TAIL_BYTES = 4096
_BAR = 10
"""Characters: at 80 columns a row's name and stage fit beside it."""


class _RowBar(ProgressColumn):
    """A row's progress by the time that it took before; for all rows, how many have ended."""

    def render(self, task: Task) -> ProgressBar:
        if (usual_s := task.fields.get("usual_s")) is None:
            return ProgressBar(task.total, task.completed, width=_BAR, pulse=task.total is None)
        return ProgressBar(usual_s, min(task.elapsed or 0, usual_s), width=_BAR)


class _Left(ProgressColumn):
    """Time left, where it is known."""

    def render(self, task: Task) -> Text:
        left_s = task.fields["left_s"](task.elapsed or 0.0)
        return Text("" if left_s is None else f"{_seconds(left_s)} left")


def _live(out: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
        _RowBar(),
        _Left(),
        console=out,
        transient=True,
        expand=True,
        disable=not out.is_terminal,
    )


@contextlib.contextmanager
def simulating(seconds: float, out: Console | None = None) -> Iterator[Callable[[float, str], None]]:
    """A live line on `out`, by default standard error, while a board runs for `seconds` of simulated time.

    Tell it how many have passed and what the board did last; without a terminal nothing is shown.
    """
    passed_s = 0.0

    def left_s(elapsed_s: float) -> float | None:
        return elapsed_s / passed_s * max(0.0, seconds - passed_s) if passed_s else None

    def tell(now_s: float, what: str) -> None:
        nonlocal passed_s
        passed_s = now_s
        live.update(task, completed=now_s, description=f"{now_s:.2f} of {seconds:g} s of simulated time: {shown(what)}")

    with _live(out or console(stderr=True)) as live:
        task = live.add_task("", total=seconds, left_s=left_s)
        yield tell


class ProgressView:
    """Shows `rows` rows on `out`, by default standard error; without a terminal as lines alone.

    `brief`: tells of measured rows in ten steps only. `failures`: tells of failed rows. `usual_s`: the seconds that
    rows took before, by label. `at_once`: how many are measured at the same time.
    Threads may share it.
    """

    def __init__(
        self,
        rows: int,
        out: Console | None = None,
        *,
        brief: bool = False,
        failures: bool = True,
        usual_s: Mapping[str, float] = MappingProxyType({}),
        at_once: int = 1,
    ) -> None:
        self._rows = rows
        self._usual_s = dict(usual_s)
        """Usual times of rows that have not ended."""
        self._took_s: list[float] = []
        self._at_once = at_once
        self._failures = failures
        self._brief = brief
        self._done = 0
        self._told: set[str] = set()
        self._on: dict[str, TaskID] = {}
        self._mutex = threading.Lock()
        self._began_s = time.monotonic()
        self._console = out or console(stderr=True)
        self._live = _live(self._console)
        self._task = self._live.add_task(f"0/{rows} rows", total=rows, left_s=self._left_s)

    def __enter__(self) -> ProgressView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def doing(self, label: str, what: str) -> None:
        """`what` is done for the row `label`: a stage, or words."""
        with self._mutex:
            said = shown(f"{label}: {_DOING.get(what, what)}")
            if label in self._on:
                self._live.update(self._on[label], description=said)
                return
            usual_s = self._usual_s.get(label)
            left_s = partial(_less, usual_s)
            self._on[label] = self._live.add_task(said, total=None, usual_s=usual_s, left_s=left_s)

    def done(self, label: str, row: Row, log: Path | None = None) -> None:
        """The row `label` has ended. Reasons for skipping are shown once; a failure with its console and log."""
        with self._mutex:
            self._done += 1
            self._usual_s.pop(label, None)
            if (task := self._on.pop(label, None)) is not None:
                if row.status in (Status.MEASURED, Status.FAILED):  # others take no time
                    self._took_s.append(self._elapsed_s(task))
                self._live.remove_task(task)
            self._live.update(self._task, advance=1, description=f"{self._done}/{self._rows} rows")
            details = describe(row)
            if row.status in (Status.SKIPPED, Status.UNSUPPORTED) and details in self._told:
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
                print_line(self._live.console, line)
        except OSError:  # its reader has gone: rows are measured all the same
            self._live.disable = True
            self._live.console.quiet = True

    def _elapsed_s(self, task: TaskID) -> float:
        return next((each.elapsed or 0.0 for each in self._live.tasks if each.id == task), 0.0)

    def _left_s(self, _: float) -> float | None:
        """Estimate the time left for all rows: each by its last time, else by the mean of the others, with those that
        run longer than that already."""
        known = [*self._took_s, *self._usual_s.values()]
        if not known:
            return None
        spent_s = {label: self._elapsed_s(task) for label, task in list(self._on.items())}
        new = [seconds for label, seconds in spent_s.items() if label not in self._usual_s]
        each_s = statistics.mean(known)
        each_s = statistics.mean([*known, *(seconds for seconds in new if seconds > each_s)])
        running_s = sum(max(0.0, self._usual_s.get(label, each_s) - seconds) for label, seconds in spent_s.items())
        waiting = {label: seconds for label, seconds in self._usual_s.items() if label not in spent_s}
        unknown = self._rows - self._done - len(spent_s) - len(waiting)
        return (running_s + sum(waiting.values()) + unknown * each_s) / self._at_once


def _less(usual_s: float | None, elapsed_s: float) -> float | None:
    return None if usual_s is None else max(0.0, usual_s - elapsed_s)


def usual_s(rows: Iterable[PlannedRow], results_dir: Path) -> dict[str, float]:
    """The seconds that rows took in the newest run, from their logs, by label; none for a row with other settings."""
    try:
        run = read(results_dir / LATEST)
    except StorageError:
        return {}
    took = {
        _key(row): _logged_s(results_dir / row.log) for row in run.rows if row.log and row.status is Status.MEASURED
    }
    found = {}
    for row in rows:
        settings = row.settings.model_dump(mode="json")
        key = (row.workload.name, row.entry.id, row.profile_name, row.number - 1, json.dumps(settings, sort_keys=True))
        if (seconds := took.get(key)) is not None:
            found[row.label] = seconds
    return found


def _key(row: Row) -> tuple[str, str, str | None, int, str]:
    return row.workload, row.runtime, row.profile, row.run_index, json.dumps(row.settings, sort_keys=True)


def _logged_s(log: Path) -> float | None:
    """The time of a row's last line."""
    try:
        last = log.read_bytes()[-_TAIL_BYTES:].decode("utf-8", "replace").splitlines()[-1]
        return float(last.split()[0])
    except (OSError, ValueError, IndexError):
        return None


def describe(row: Row) -> str:
    """One line for a person: the figures, or why there are none."""
    if row.image_url is not None:
        return f"{row.runtime}: no image; how to get it is below the table"
    if row.status is not Status.MEASURED or row.value is None or row.headline is None:
        return row.reason or ""
    return f"{row.value:.1f} {row.headline.unit}"


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
            with contextlib.suppress(OSError):  # reported already
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
