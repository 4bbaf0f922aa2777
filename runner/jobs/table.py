"""The rows of a table as jobs, and what came of them as a run file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from portbench.firmware.images import Image, ImageUnavailable
from portbench.results.model import Row, Status
from portbench.runner.bench import describe, new_run_file
from portbench.runner.collect import RowDraft
from portbench.runner.images import image_store
from portbench.runner.jobs.cluster import measure_on
from portbench.runner.jobs.job import Job, job_of
from portbench.runner.options import BenchOptions
from portbench.runner.plan import ALL, PlannedRow
from portbench.runner.progress import ProgressView
from portbench.where import Where


def measure_table(rows: Sequence[PlannedRow], options: BenchOptions, on: str, root: Path) -> tuple[list[str], Path]:
    """Why it failed, a line each, and the run file; rows are in it as they come.

    Raises PortbenchError, StorageError, UnknownName or PortbenchError, with what was measured before it in the file.
    """
    store = image_store([row.entry for row in rows])
    writer = new_run_file(options, root)
    view = ProgressView(len(rows))
    faults: list[str] = []

    def keep(planned: PlannedRow, row: Row) -> None:
        writer.append(row)
        view.done(row.status, describe(row), planned.label)
        if row.status is Status.FAILED:
            faults.append(f"{planned.label}: {row.reason}")
        elif row.status is Status.SKIPPED and {ALL, planned.entry.id} & set(options.required):
            faults.append(f"{planned.label}: is required, and was skipped: {row.reason}")

    due, images = _jobs(rows, options, store.obtain, keep)
    of = {job.id: planned for job, planned in due}
    for job, row in measure_on(on, [job for job, _ in due], images):
        keep(of[job.id], row)
    writer.finish()
    if all(row.status is Status.SKIPPED for row in writer.run.rows):
        faults.append(f"no row was measured: all {len(rows)} were skipped; get an image, or choose other rows")
    return faults, writer.path


def _jobs(
    rows: Sequence[PlannedRow],
    options: BenchOptions,
    obtain: Callable[..., Image],
    keep: Callable[[PlannedRow, Row], None],
) -> tuple[list[tuple[Job, PlannedRow]], dict[str, Path]]:
    """Rows without an image are kept as skipped."""
    due: list[tuple[Job, PlannedRow]] = []
    images: dict[str, Path] = {}
    for planned in rows:
        try:
            image = obtain(planned.entry)
        except ImageUnavailable as error:
            keep(planned, RowDraft(planned, options, Where.EMULATED).without_image(str(error)))
            continue
        assert image.path is not None and image.sha256 is not None  # of a board's
        images[image.sha256] = image.path
        due.append((job_of(planned, image, options), planned))
    return due, images
