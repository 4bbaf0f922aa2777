"""What a process does that measures jobs: it keeps one board, and what is on it, from job to job."""

from __future__ import annotations

import atexit
import hashlib
import multiprocessing.util
import os
import tempfile
import threading
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from portbench.boards.registry import RUNTIME_DIR_VARIABLE, runtime_dir
from portbench.errors import PortbenchError
from portbench.files import TemporaryFolder
from portbench.firmware import uf2
from portbench.firmware.catalogue import FirmwareEntry
from portbench.firmware.identify import Uf2File
from portbench.firmware.images import Image, Source
from portbench.results.model import Row
from portbench.runner.bench import Bench
from portbench.runner.jobs.build import this_build
from portbench.runner.jobs.job import Job
from portbench.runner.progress import ProgressView


def settle_in(folder: Path) -> None:
    """Of a process that may be killed: what it leaves behind is in `folder`, which somebody else removes."""
    os.environ.setdefault(RUNTIME_DIR_VARIABLE, str(runtime_dir()))  # which may be in the temporary folder
    tempfile.tempdir = str(folder)


def run_job(job: Job, image: bytes | Path) -> str:
    """The job's row as JSON; `image`: its content, or where it is.

    Raises PortbenchError, PortbenchError, and BrokenSetup where this machine can measure no row.
    """
    here = this_build(job.workload)
    if not here.measures_as(job.build):
        what = "sources" if here.sources != job.build.sources else "engine"
        raise PortbenchError(f"its portbench has other {what} than the one that asks; install the same there")
    return _hand().measure(job, image).model_dump_json()


def close() -> None:
    """Ends this process's boards; the next job starts one again."""
    with _mutex:
        while _hands:
            _hands.pop().close()
    _of_thread.__dict__.clear()


class _Hand:
    """Of one thread: a bench with its board, which stays for jobs with the same options."""

    def __init__(self) -> None:
        self._folder = TemporaryFolder("portbench-job")
        self._images = _Images(self._folder.path)
        self._bench: Bench | None = None
        self._for: tuple[object, ...] = ()

    def measure(self, job: Job, image: bytes | Path) -> Row:
        options = (job.timeouts_s, job.address_mode, job.static, job.attribute, job.what_if)
        if self._bench is None or self._for != options:
            self._drop()
            folder = self._folder.path
            self._bench = Bench(job.options(folder), self._images, folder, _Kept(folder / "rows"))  # type: ignore[arg-type]
            self._for = options
        path = self._images.put(job, image)
        row = self._bench.measure(job.row(path), ProgressView(1, Console(file=StringIO()))).row
        # The log stays here, and goes with this process; its image is not called as the copy of it is.
        return row.model_copy(update={"log": None, "build": job.entry.build})

    def close(self) -> None:
        self._drop()
        self._folder.remove()

    def _drop(self) -> None:
        if self._bench is not None:
            self._bench.close()
            self._bench = None


class _Images:
    """The images that came with jobs, by hash; stands in for `ImageStore`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, Image] = {}
        self._now: Image | None = None

    def put(self, job: Job, image: bytes | Path) -> Path:
        """What is asked for next, and where it is here. Raises PortbenchError."""
        key = f"{job.image_sha256} {job.entry.id}"
        if key not in self._known:
            content = image if isinstance(image, bytes) else uf2.read_bytes(image)
            if (found := hashlib.sha256(content).hexdigest()) != job.image_sha256:
                raise PortbenchError(
                    f"{job.entry.id}: the image is {found[:12]} by now, not {str(job.image_sha256)[:12]}; begin again"
                )
            path = self._folder / found / job.image_name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            file = Uf2File.of(path, content, job.image_name)
            self._known[key] = Image(job.entry, job.image_version, Source.FILE, file)
        self._now = self._known[key]
        assert self._now.path is not None
        return self._now.path

    def obtain(self, entry: FirmwareEntry) -> Image:
        assert self._now is not None and self._now.entry.id == entry.id
        return self._now


class _Kept:
    """Stands in for the run file: the row goes back to whoever asked."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, row: Row) -> None:
        pass

    def finish(self) -> None:
        pass


_of_thread: Any = threading.local()
_hands: list[_Hand] = []
_mutex = threading.RLock()  # `close` may come as a signal, in the middle of `_hand`


def _hand() -> _Hand:
    hand: _Hand | None = getattr(_of_thread, "hand", None)
    if hand is None or hand not in _hands:
        hand = _of_thread.hand = _Hand()
        with _mutex:
            if not _hands:
                atexit.register(close)
                # Pools end their processes without what `atexit` has, but not without this.
                multiprocessing.util.Finalize(None, close, exitpriority=10)
            _hands.append(hand)
    return hand
