"""Jobs on a Dask cluster: its scheduler gives each to a worker with time, and again to another where one is lost."""

from __future__ import annotations

import itertools
import logging
import queue
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, Final, cast

from portbench.errors import PortbenchError
from portbench.results.model import Row
from portbench.runner.jobs.failed import failed_row
from portbench.runner.jobs.job import Job
from portbench.runner.jobs.local import Rows
from portbench.runner.jobs.work import close, run_job

_CONNECT_S: Final = 10.0
_WORKERS_S: Final = 60.0
"""How long there may be no worker at all: one that was lost needs time to come back."""
_LOOK_S: Final = 2.0
_AHEAD: Final = 4
"""Jobs a core that the scheduler has: enough that no worker waits for this machine."""
_LEAST_AHEAD: Final = 32


def measure_on(address: str, jobs: Sequence[Job], images: Mapping[str, Path], workers_s: float = _WORKERS_S) -> Rows:
    """The jobs' rows as they come. `images` by hash: each goes to the scheduler once, and to workers that lack it.

    Closing the iterator takes back what is not measured yet. Raises PortbenchError, with all rows before it given.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise PortbenchError("--on needs Dask; install it: pip install 'portbench[dask]'") from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what ends the jobs is told in one line
    try:
        client: Any = cast(Any, Client)(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise PortbenchError(
            f"--on {address}: no Dask scheduler answers there; start one: dask scheduler ({type(error).__name__})"
        ) from error
    try:
        yield from _Cluster(client, address, images, workers_s).rows(jobs)
    finally:
        client.close(_CONNECT_S)


class _Cluster:
    def __init__(self, client: Any, address: str, images: Mapping[str, Path], workers_s: float) -> None:
        self._client = client
        self._address = address
        self._images = images
        self._workers_s = workers_s
        self._sent: dict[str, Any] = {}
        self._running: dict[Any, Job] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def rows(self, jobs: Sequence[Job]) -> Rows:
        waiting = iter(jobs)
        over = False
        try:
            self._wait_for_workers()
            while True:
                ahead = max(_LEAST_AHEAD, _AHEAD * self._cores())
                for job in itertools.islice(waiting, max(0, ahead - len(self._running))):
                    future = self._submit(job)
                    self._running[future] = job
                    future.add_done_callback(self._done.put)
                if not self._running:
                    break
                future = self._next()
                job = self._running.pop(future)
                yield job, self._row(future, job)
            over = True
        finally:
            if not over and self._running:
                self._client.cancel(list(self._running), force=True)
            if self._client.status == "running":
                self._client.run(close, on_error="ignore")

    def _submit(self, job: Job) -> Any:
        """A worker that is lost leaves the image's bytes with the scheduler, which gives them to the next."""
        sha256 = str(job.image_sha256)
        if sha256 not in self._sent:
            content = self._images[sha256].read_bytes()
            self._sent[sha256] = self._client.submit(bytes, content, key=f"portbench-image-{sha256}")
        return self._client.submit(run_job, job, self._sent[sha256], key=f"portbench-{job.id}-{self._client.id}")

    def _next(self) -> Any:
        """The next job that is over. Raises PortbenchError where there is nobody to measure it."""
        while True:
            if self._client.status != "running":
                raise PortbenchError(f"--on {self._address}: the scheduler has gone; what was measured is kept")
            try:
                return self._done.get(timeout=_LOOK_S)
            except queue.Empty:
                self._wait_for_workers()

    def _row(self, future: Any, job: Job) -> Row:
        if future.status == "finished":
            return Row.model_validate_json(future.result())
        try:
            error = future.exception()
        except CancelledError:
            error = CancelledError("the scheduler has lost it")
        if isinstance(error, PortbenchError):
            raise PortbenchError(f"--on {self._address}: a worker cannot measure: {error}") from error
        return failed_row(job, f"on {self._address}: {type(error).__name__}: {error}")

    def _wait_for_workers(self) -> None:
        ends_s = time.monotonic() + self._workers_s
        while self._client.status == "running" and not self._cores():
            if time.monotonic() > ends_s:
                raise PortbenchError(
                    f"--on {self._address}: has had no worker for {self._workers_s:g} s;"
                    f" start some: dask worker {self._address}"
                )
            time.sleep(0.2)

    def _cores(self) -> int:
        return sum(self._client.nthreads().values())
