"""The row of a job that no process brought to an end."""

from __future__ import annotations

from pathlib import Path

from portbench.results.model import Row
from portbench.runner.collect import RowDraft
from portbench.runner.jobs.job import Job
from portbench.where import Where


def failed_row(job: Job, reason: str) -> Row:
    draft = RowDraft(job.row(), job.options(Path()), Where.EMULATED)
    return draft.failed(reason, []).model_copy(update={"image_sha256": job.image_sha256})
