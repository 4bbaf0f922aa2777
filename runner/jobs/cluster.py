"""Rows on a Dask cluster: its scheduler gives each to a worker with time, and again to another where one is lost."""

import atexit
import hashlib
import logging
import multiprocessing.util
import pickle
import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from portbench.errors import LibraryMissing, PortbenchError
from portbench.files import TemporaryFolder
from portbench.firmware.catalogue import FirmwareEntry
from portbench.firmware.identify import Uf2File
from portbench.firmware.images import Image, ImageStore, ImageUnavailable, Source
from portbench.results.model import Row, Status
from portbench.runner.bench import Bench
from portbench.runner.collect import RowDraft
from portbench.runner.jobs.job import Build, Rows, this_build
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow
from portbench.where import Where

_CONNECT_S: Final = 10.0
_WORKERS_S: Final = 60.0
"""Time without any worker: one that was lost needs time to come back."""
_LOOK_S: Final = 2.0
_AHEAD: Final = 4
"""Rows a core that the scheduler has: enough that no worker waits for this machine."""
_LEAST_AHEAD: Final = 32


def measure_on(address: str, rows: Sequence[PlannedRow], options: BenchOptions, store: ImageStore) -> Rows:
    """The rows as they end. Each image goes to the scheduler once, and to workers that lack it.

    Closing the iterator withdraws the waiting rows. Raises PortbenchError after all rows measured before it.
    """
    with LibraryMissing.unless_installed("dask", "--on"):
        from distributed import Client
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # the reason for an end is reported in one line
    try:
        client: Any = cast(Any, Client)(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise PortbenchError(
            f"--on {address}: no Dask scheduler answers there; start one: dask scheduler ({type(error).__name__})"
        ) from error
    try:
        yield from _Cluster(client, address, options, store).rows(rows)
    finally:
        client.close(_CONNECT_S)


class _Cluster:
    def __init__(self, client: Any, address: str, options: BenchOptions, store: ImageStore) -> None:
        self._client = client
        self._address = address
        self._options = options
        self._store = store
        self._sent: dict[str, Any] = {}
        self._running: dict[Any, PlannedRow] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def rows(self, rows: Sequence[PlannedRow]) -> Rows:
        waiting = deque(enumerate(rows))
        over = False
        try:
            self._wait_for_workers()
            while waiting or self._running:
                ahead = max(_LEAST_AHEAD, _AHEAD * self._cores())
                while waiting and len(self._running) < ahead:
                    number, row = waiting.popleft()
                    try:
                        future = self._submit(number, row)
                    except ImageUnavailable as error:
                        yield row, RowDraft(row, Where.EMULATED).ended(Status.SKIPPED, str(error))
                        continue
                    self._running[future] = row
                    future.add_done_callback(self._done.put)
                if self._running:
                    future = self._next()
                    row = self._running.pop(future)
                    yield row, self._row(future, row)
            over = True
        finally:
            if not over and self._running:
                self._client.cancel(list(self._running), force=True)
            if self._client.status == "running":
                self._client.run(close, on_error="ignore")

    def _submit(self, number: int, row: PlannedRow) -> Any:
        """A worker that is lost leaves the image's bytes with the scheduler, which gives them to the next.

        Raises ImageUnavailable.
        """
        images = [self._store.obtain(each.entry) for each in _boards_of(row)]
        for image in images:
            if image.sha256 not in self._sent:
                assert image.file is not None  # of a board's
                key = f"portbench-image-{image.sha256}"
                self._sent[str(image.sha256)] = self._client.submit(bytes, image.file.data, key=key)
        sent = [self._sent[str(image.sha256)] for image in images]
        names = [image.path.name for image in images if image.path is not None]
        job = pickle.dumps((row, self._options, [replace(image, file=None) for image in images], names))
        build = this_build(row.workload.name)
        key = f"portbench-{number}-{self._client.id}"
        return self._client.submit(run_job, row.workload.name, build, job, *sent, key=key)

    def _next(self) -> Any:
        """The next row that is over. Raises PortbenchError where there is no worker to measure it."""
        while True:
            if self._client.status != "running":
                raise PortbenchError(f"--on {self._address}: the scheduler has gone; the measured rows are kept")
            try:
                return self._done.get(timeout=_LOOK_S)
            except queue.Empty:
                self._wait_for_workers()

    def _row(self, future: Any, row: PlannedRow) -> Row:
        if future.status == "finished":
            return Row.model_validate_json(future.result())
        try:
            error = future.exception()
        except CancelledError:
            error = CancelledError("the scheduler has lost it")
        if isinstance(error, PortbenchError):
            raise PortbenchError(f"--on {self._address}: a worker cannot measure: {error}") from error
        draft = RowDraft(row, Where.EMULATED)
        return draft.failed(f"on {self._address}: {type(error).__name__}: {error}", [])

    def _wait_for_workers(self) -> None:
        ends_s = time.monotonic() + _WORKERS_S
        while self._client.status == "running" and not self._cores():
            if time.monotonic() > ends_s:
                raise PortbenchError(
                    f"--on {self._address}: has had no worker for {_WORKERS_S:g} s;"
                    f" start some: dask worker {self._address}"
                )
            time.sleep(0.2)

    def _cores(self) -> int:
        return sum(self._client.nthreads().values())


def _boards_of(row: PlannedRow) -> list[PlannedRow]:
    return [row] if row.partner is None else [row, row.partner]


def run_job(workload: str, build: Build, job: bytes, *contents: bytes) -> str:
    """On a worker: the row of `job` as JSON, measured with images of these contents.

    Raises PortbenchError where this PC can measure no row.
    """
    here = this_build(workload)
    if not here.measures_as(build):
        what = "sources" if here.sources != build.sources else "engine"
        raise PortbenchError(f"its portbench has other {what} than this one; install the same there")
    row, options, images, names = pickle.loads(job)
    return _seat().measure(row, options, list(zip(images, names, contents, strict=True))).model_dump_json()


def close() -> None:
    """Ends the boards of this worker; the next row starts one again."""
    with _mutex:
        while _seats:
            _seats.pop().close()
    _of_thread.__dict__.clear()


class _Seat:
    """A bench of one thread of a worker, with its board, which stays for rows with the same options."""

    def __init__(self) -> None:
        self._folder = TemporaryFolder("portbench-job")
        self._images = _Images(self._folder.path)
        self._bench: Bench | None = None
        self._options: BenchOptions | None = None

    def measure(self, row: PlannedRow, options: BenchOptions, images: Sequence[tuple[Image, str, bytes]]) -> Row:
        if self._bench is None or self._options != options:
            self._drop()
            self._bench = Bench(options, self._images, self._folder.path / "logs")
            self._options = options
        for image, name, content in images:
            self._images.put(image, name, content)
        placed = self._images.placed(row)
        if row.partner is not None:
            placed = replace(placed, partner=self._images.placed(row.partner))
        outcome = self._bench.measure(placed)
        if outcome.fault is not None:
            raise outcome.fault
        return outcome.row.model_copy(update={"build": row.entry.build})  # the file is called otherwise here

    def close(self) -> None:
        self._drop()
        self._folder.remove()

    def _drop(self) -> None:
        if self._bench is not None:
            self._bench.close()
            self._bench = None


class _Images(ImageStore):
    """The images that came with rows. A boot ROM is this PC's."""

    def __init__(self, sent: Path) -> None:
        super().__init__()
        self._sent = sent
        self._known: dict[str, Image] = {}

    def put(self, image: Image, name: str, content: bytes) -> None:
        sha256 = hashlib.sha256(content).hexdigest()
        known = self._known.get(image.entry.id)
        if known is not None and known.sha256 == sha256:
            return
        path = self._sent / sha256 / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        self._known[image.entry.id] = replace(image, source=Source.FILE, file=Uf2File.of(path, content, name))

    def placed(self, row: PlannedRow) -> PlannedRow:
        return replace(row, entry=replace(row.entry, path=self._known[row.entry.id].path))

    def obtain(self, entry: FirmwareEntry) -> Image:
        return self._known[entry.id]


_of_thread: Any = threading.local()
_seats: list[_Seat] = []
_mutex = threading.RLock()  # `close` may come as a signal, in the middle of `_seat`


def _seat() -> _Seat:
    seat: _Seat | None = getattr(_of_thread, "seat", None)
    if seat is None or seat not in _seats:
        seat = _of_thread.seat = _Seat()
        with _mutex:
            if not _seats:
                atexit.register(close)
                # Pools end their processes without what `atexit` has, but not without this.
                multiprocessing.util.Finalize(None, close, exitpriority=10)
            _seats.append(seat)
    return seat
