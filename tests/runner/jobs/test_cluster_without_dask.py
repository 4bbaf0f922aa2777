"""Rows of a cluster without Dask: a client of the test's own, and a worker in this process."""

import logging
import multiprocessing.util
import pickle
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, call

import pytest

from portbench.errors import LibraryMissing, PortbenchError
from portbench.firmware.identify import Uf2File
from portbench.firmware.images import Image, ImageUnavailable, Source
from portbench.results.model import Row, Status
from portbench.runner.bench import Outcome
from portbench.runner.jobs import cluster
from portbench.runner.jobs.job import Build, this_build
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow, plan
from tests.boards.usb.conftest import small_image
from tests.results.rows import row

ABSENT = ImageUnavailable("an image", "it is not here", "get it")
OPTIONS = BenchOptions().but(runtimes=("portbench-native",), where="emulated", runs=40)


class Client:
    """Its workers have `cores`; a row ends at once, an image never."""

    id, status = "me", "running"

    def __init__(self, cores: int = 1) -> None:
        self.cores, self.most = cores, 0
        self.submitted: list[tuple[Any, tuple[Any, ...], str]] = []
        self.running: list[Any] = []
        self.closed: list[object] = []

    def nthreads(self) -> dict[str, int]:
        return {"one": self.cores}

    def submit(self, call: Any, *words: Any, key: str) -> Any:
        self.submitted.append((call, words, key))
        return Ended(self)

    def cancel(self, futures: Sequence[Any], force: bool) -> None:
        self.closed.append((len(futures), force))

    def run(self, call: object, on_error: str) -> None:
        self.closed.append((call, on_error))


class Ended:
    """A future whose row has ended."""

    status = "finished"

    def __init__(self, client: Client) -> None:
        self.client = client

    def result(self) -> str:
        return row(2000).model_dump_json()

    def add_done_callback(self, call: Callable[[Any], None]) -> None:
        self.client.running.append(self)
        self.client.most = max(self.client.most, len(self.client.running))
        call(self)


@pytest.fixture
def image(tmp_path: Path) -> Image:
    return Image(plan(OPTIONS)[0].entry, "1.0", Source.FILE, Uf2File.read(small_image(tmp_path, b"\0an image\0")))


def on(client: Client, image: Image) -> cluster._Cluster:
    def obtain(entry: Any) -> Image:
        if entry.id == "absent":
            raise ABSENT
        return image

    store: Any = SimpleNamespace(obtain=obtain)
    return cluster._Cluster(client, "tcp://x", OPTIONS, store)


def test_an_image_is_sent_once_and_so_many_rows_are_ahead(image: Image) -> None:
    client, rows = Client(), plan(OPTIONS)[:40]
    rows[1] = replace(rows[1], entry=replace(rows[1].entry, id="absent"))
    found = []
    for planned, measured in on(client, image).rows(rows):
        if measured.status is Status.MEASURED:
            client.running.pop()
        found.append((planned, measured))
    assert {id(planned) for planned, _ in found} == set(map(id, rows)) and client.most == 32
    assert [(planned, measured.reason) for planned, measured in found if measured.status is Status.SKIPPED] == [
        (rows[1], str(ABSENT))
    ]
    (sent, *jobs) = client.submitted
    assert (
        image.file is not None
        and sent[0] is bytes
        and sent[1:] == ((image.file.data,), f"portbench-image-{image.sha256}")
    )
    assert [key for *_, key in jobs] == [f"portbench-{number}-me" for number in range(40) if number != 1]
    call, (name, build, job, content), _ = jobs[0]
    assert (call, name, build) == (cluster.run_job, "ping_pong", this_build("ping_pong")) and content.client is client
    assert pickle.loads(job) == (rows[0], OPTIONS, [replace(image, file=None)], ["image.uf2"])
    assert client.closed == [(cluster.close, "ignore")]
    for cores, ahead in ((8, 32), (9, 36), (20, 39)):  # four times as many rows as cores, at most all
        many, left = Client(cores), 39
        for _, measured in on(many, image).rows(rows):
            if measured.status is Status.MEASURED:
                assert len(many.running) == min(ahead, left)  # no worker waits while rows do
                many.running.pop()
                left -= 1
        assert many.most == ahead


def test_workers_are_waited_for_a_minute(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now_s[0], sleep=lambda seconds: now_s.append(now_s.pop() + seconds))
    monkeypatch.setattr(cluster, "time", clock)
    monkeypatch.setattr(cluster, "_LOOK_S", 0.01)

    class Lost(Ended):
        """A future of a worker that is lost."""

        def add_done_callback(self, call: Callable[[Any], None]) -> None:
            self.client.cores = 0

    says = r"^--on tcp://x: has had no worker for 60 s; start some: dask worker tcp://x$"
    for client, closed in ((Client(cores=0), []), (Client(), [(1, True)])):
        client.submit = lambda *_, client=client, **__: Lost(client)  # type: ignore[method-assign]
        began_s = now_s[0]
        with pytest.raises(PortbenchError, match=says):
            list(on(client, image).rows(plan(OPTIONS)[:1]))
        assert client.closed == [*closed, (cluster.close, "ignore")] and 60 < now_s[0] - began_s < 60.5


def test_a_schedulers_client_is_closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    unused: Any = None
    made, rows = Mock(), plan(OPTIONS)
    logging.getLogger("distributed").setLevel(logging.INFO)
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=made))
    monkeypatch.setattr(cluster, "_Cluster", lambda *words: SimpleNamespace(rows=lambda rows: iter([*words, *rows])))
    found: list[object] = list(cluster.measure_on("tcp://x", rows, OPTIONS, unused))
    assert found == [made.return_value, "tcp://x", OPTIONS, unused, *rows]
    assert made.mock_calls == [call("tcp://x", timeout=10.0, set_as_default=False), call().close(10.0)]
    assert logging.getLogger("distributed").level == logging.CRITICAL
    for made.side_effect in (OSError("timed out"), ValueError("no address")):
        name = type(made.side_effect).__name__
        says = rf"^--on tcp://x: no Dask scheduler answers there; start one: dask scheduler \({name}\)$"
        with pytest.raises(PortbenchError, match=says):
            list(cluster.measure_on("tcp://x", rows, OPTIONS, unused))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(LibraryMissing, match=r"^--on needs distributed; install it: pip install .*\[dask\]'$"):
        list(cluster.measure_on("tcp://x", rows, OPTIONS, unused))


def test_rows_that_wait_are_withdrawn_with_their_run(image: Image) -> None:
    client = Client()
    coming = on(client, image).rows(plan(OPTIONS)[:3])
    next(coming)
    coming.close()
    assert client.closed == [(2, True), (cluster.close, "ignore")]
    for client.status in ("closing", "closed"):
        with pytest.raises(PortbenchError, match=r"^--on tcp://x: the scheduler has gone; the measured rows are kept$"):
            list(on(client, image).rows(plan(OPTIONS)[:1]))


def test_each_thread_of_a_worker_has_a_seat_until_the_worker_closes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    registered = Mock()
    monkeypatch.setattr(cluster.atexit, "register", registered.exits)
    monkeypatch.setattr(multiprocessing.util, "Finalize", registered)
    try:
        with ThreadPoolExecutor(1) as other:
            seats = [cluster._seat(), cluster._seat(), other.submit(cluster._seat).result()]
            assert cluster._seats == seats[1:] and seats[0] is seats[1]
            assert registered.mock_calls == [call.exits(cluster.close), call(None, cluster.close, exitpriority=10)]
            cluster.close()
            assert cluster._seats == []
            assert not {cluster._seat(), other.submit(cluster._seat).result()} & {*seats}
    finally:
        cluster.close()


def test_a_worker_keeps_its_bench_for_rows_with_the_same_options(
    image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    benches: list[Any] = []

    class Bench:
        def __init__(self, options: BenchOptions, images: cluster._Images, logs: Path) -> None:
            self.options, self.images, self.closed = options, images, False
            assert logs.name == "logs"  # no image has a log's name
            self.measured: list[tuple[PlannedRow, bytes]] = []
            benches.append(self)

        def measure(self, of: PlannedRow) -> Outcome:
            found = self.images.obtain(of.entry)
            assert found.file is not None and of.entry.path == found.file.path and found.source is Source.FILE
            self.measured.append((of, found.file.path.read_bytes()))
            fault = OSError("broken") if self.options != OPTIONS else None
            return Outcome(row(2000, build="another"), Path(), fault)

        def pair(self) -> tuple[Any, Any]:
            return self.measured[-1][0], self.measured[-1][0].partner

        def close(self) -> None:
            self.closed = True

    monkeypatch.setattr(cluster, "Bench", Bench)
    assert image.file is not None
    one, other = image.file.data, small_image(tmp_path, b"\0another\0").read_bytes()
    planned = plan(OPTIONS)[0]
    sent = replace(image, file=None, source=Source.CACHE)
    job = pickle.dumps((planned, OPTIONS, [sent], ["image.uf2"]))
    build = this_build("ping_pong")
    try:
        for content in (one, one, other):
            told = cluster.run_job("ping_pong", build, job, content)
        assert Row.model_validate_json(told).build == planned.entry.build
        assert [content for _, content in benches[0].measured] == [one, one, other] and len(benches) == 1
        changed = pickle.dumps((planned, OPTIONS.but(runs=7), [sent], ["image.uf2"]))
        with pytest.raises(PortbenchError, match=r"^image\.uf2: "):  # it is damaged
            cluster.run_job("ping_pong", build, job, b"UF2")
        with pytest.raises(OSError, match=r"^broken$"):  # costs its row alone
            cluster.run_job("ping_pong", build, changed, one)
        assert [each.closed for each in benches] == [True, False]
        partner = replace(planned, entry=replace(planned.entry, id="partner"))
        both = [replace(image, entry=each.entry, file=None) for each in (planned, partner)]
        pair = pickle.dumps((replace(planned, partner=partner), OPTIONS, both, ["image.uf2", "b.uf2"]))
        cluster.run_job("ping_pong", build, pair, one, other)
        placed = [(each.entry.path.name, each.entry.path.read_bytes()) for each in benches[2].pair()]
        assert placed == [("image.uf2", one), ("b.uf2", other)]
        for other in (replace(build, engine="x"), replace(build, sources="x"), Build("x", "x", build.platform)):
            part = "engine" if other.sources == build.sources else "sources"
            says = f"^its portbench has other {part} than this one; install the same there$"
            with pytest.raises(PortbenchError, match=says):
                cluster.run_job("ping_pong", other, job, one)
    finally:
        folder = benches[0].measured[0][0].entry.path.parent
        cluster.close()
    assert benches[1].closed and not folder.exists() and cluster._seats == []
