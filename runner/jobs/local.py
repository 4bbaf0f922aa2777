"""Jobs on this machine's cores, each core a process; one that is killed takes only its job with it."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path
from typing import Any

from portbench.errors import PortbenchError
from portbench.files import TemporaryFolder
from portbench.results.model import Row
from portbench.runner.jobs.failed import failed_row
from portbench.runner.jobs.job import Job
from portbench.runner.jobs.work import run_job, settle_in

_TRIES = 2
"""A process may have been killed for want of memory, which there may be the next time."""


Rows = Generator[tuple[Job, Row], None, None]


def measure_here(jobs: Sequence[Job], images: Mapping[str, Path], processes: int) -> Rows:
    """The jobs' rows as they come. `images` by hash. Closing the iterator ends what still runs.

    Raises PortbenchError, with all rows before it given.
    """
    try:
        from pebble import ProcessExpired, ProcessPool
    except ImportError as error:
        raise PortbenchError("many jobs at once need pebble; install it: pip install 'portbench[sweep]'") from error
    # Spawned ones have none of this process's threads, and end as programs do, with what they have to close.
    folder = TemporaryFolder("portbench-jobs")
    pool = ProcessPool(
        max_workers=min(processes, len(jobs)),
        context=multiprocessing.get_context("spawn"),
        initializer=settle_in,
        initargs=[folder.path],
    )
    waiting = iter([(job, 1) for job in jobs])
    running: dict[Any, tuple[Job, int]] = {}
    over = False

    def start(job: Job, attempt: int) -> None:
        running[pool.schedule(run_job, args=[job, images[str(job.image_sha256)]])] = (job, attempt)

    try:
        for job, attempt in itertools.islice(waiting, 2 * processes):
            start(job, attempt)
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job, attempt = running.pop(future)
                try:
                    row = Row.model_validate_json(future.result())
                except ProcessExpired as error:
                    if attempt < _TRIES:
                        start(job, attempt + 1)
                        continue
                    row = failed_row(job, f"its process ended with status {error.exitcode}, {_TRIES} times")
                for following in itertools.islice(waiting, 1):
                    start(*following)
                yield job, row
        over = True
    finally:
        end: Any = pool.close if over else pool.stop
        end()
        pool.join()
        folder.remove()
