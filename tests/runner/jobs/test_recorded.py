"""Random rows that end in any way: their order, their reports, and the end of all, as recorded."""

import pickle
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from portbench.errors import BoardUnavailable, BrokenSetup, PortbenchError
from portbench.firmware.identify import Uf2File
from portbench.firmware.images import Image, ImageUnavailable, Source
from portbench.results.model import Row, Status
from portbench.results.storage import RunWriter
from portbench.runner import jobs
from portbench.runner.bench import Outcome
from portbench.runner.collect import RowDraft
from portbench.runner.jobs import cluster, measure, pool
from portbench.runner.jobs.job import this_build
from portbench.runner.jobs.run import Run
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow, plan
from portbench.where import Where
from portbench.workloads import Turnaround
from tests.boards.usb.conftest import small_image
from tests.declared import assert_as_read
from tests.results.rows import row, run_of
from tests.walk import Walk

FAULTS = (BoardUnavailable("not plugged in"), BrokenSetup("no engine"), PortbenchError("broken"))
RUNTIMES = ("portbench-native", "wiznet-hardwired", "micropython-unix")
PLANNED = plan(BenchOptions().but(runtimes=RUNTIMES, runs=3))


def told(of: PlannedRow) -> tuple[object, ...]:
    return of.entry.id, of.number, of.profile_name, of.device, of.board.id


def ended(walk: Walk, of: PlannedRow) -> Row:
    draft = RowDraft(of, Where.EMULATED)
    status = walk.pick((Status.SKIPPED, Status.UNSUPPORTED, Status.FAILED))
    others = (draft.ended(status, "why"), draft.failed(str(walk.pick(FAULTS)), ["a line"]))
    return walk.pick((row(walk.pick((1000, 2000)), of.number), walk.pick(others)))


def plain(word: Any) -> Any:
    """Something of it that is the same in every run."""
    kept = word.name if isinstance(word, Path) else word.reason if isinstance(word, Row) else word
    return len(kept) if isinstance(kept, list) else getattr(kept, "__name__", kept)


class Noted:
    """Anything whose calls are noted."""

    def __init__(self, walk: Walk, **parts: Any) -> None:
        self.walk = walk
        self.__dict__.update(parts)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *words, **more: self.walk.note(name, list(map(plain, words)), more)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.walk.note("left")


class Process(Noted):
    """A worker of `pool` whose process answers, speaks or dies as drawn."""

    of: Walk

    def __init__(self, options: BenchOptions, rows: Sequence[PlannedRow], *_: object) -> None:
        super().__init__(self.of, rows=rows, place=None, program=None)

    def begin(self, place: int, of: PlannedRow) -> None:
        self.place, self.program = place, pool.program_of(of)
        self.walk.note("begin", place, self.program)

    @property
    def connection(self) -> Any:
        return self

    def recv(self) -> Any:
        what = self.walk.pick(("row",) * 12 + ("says", "dies", "dies", "faults", "ends"))
        if what == "dies":
            raise self.walk.pick((EOFError, OSError))
        of = self.rows[self.place]  # type: ignore[index]
        outcome = Outcome(ended(self.walk, of), Path(), self.walk.pick(FAULTS) if what == "faults" else None)
        return {"says": "runs", "ends": FAULTS[2]}.get(what, outcome)

    def ended(self) -> int:
        self.walk.note("ended", self.place)
        return self.walk.pick((0, -9))


def test_runs_end_as_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    walk = Walk(14)
    pick = walk.pick

    def outcome(of: PlannedRow, watch: Callable[[str], None]) -> Outcome:
        watch("runs")
        return Outcome(ended(walk, of), Path(), pick((None,) * 9 + FAULTS))

    def bench(*words: Any) -> Noted:
        assert [*words[:2], words[3]] == [options, store, run._servers]
        return Noted(walk, measure=outcome)

    monkeypatch.setattr(measure, "Bench", bench)
    monkeypatch.setattr("os.cpu_count", lambda: pick((None, 2, 9)))
    monkeypatch.setattr(pool, "_Worker", Process)
    monkeypatch.setattr(Process, "of", walk, raising=False)
    monkeypatch.setattr(pool, "wait", lambda ready: [pick(ready)])
    store: Any = SimpleNamespace(bytes_at_hand=lambda entry: len(entry.id))
    for number in range(100):
        options = BenchOptions().but(
            parallel=pick((1, 2, 3)),
            required=pick(((), ("all",), RUNTIMES[:1])),
            results_dir=tmp_path,
        )
        # Boards side by side have threads, whose order is not recorded.
        alone = options.place.parallel == 1
        devices = pick((("auto", "auto", "usb:1"), ("auto",))) if alone else ("auto",)
        monkeypatch.setattr(measure, "sys", SimpleNamespace(platform=pick(("linux", "linux", "emscripten"))))
        place = replace(options.place, where=pick(("silicon" if alone else "auto", "emulated")))
        rows = [
            replace(each, place=place, device=pick(devices), lacks=pick((None,) * 9 + ("no TLS",)))
            for each in PLANNED
            if pick((True, False))
        ]
        units, rest = measure.units_of(rows, 2)
        walk.note({name: list(map(told, unit)) for name, unit in units.items()}, list(map(told, rest)))
        walk.note(measure.usual_parallel(rows))
        writer = RunWriter(run_of(), tmp_path / str(number))
        jobs = pick((None, {f"job-{id}": len(rows) - id for id in range(len(rows))}))
        view: Any = Noted(walk)
        run: Any = Run(rows, options, view=view, writer=writer, jobs=jobs, store=store)
        run._servers = Noted(walk, own_turnaround=pick(({}, {"10.0.0.1": Turnaround(1, 7.6, 8, 9)})))
        run._interruptions = Noted(walk, heard=run._interruptions.heard)
        with run:
            for each, found in run.measured():
                walk.note(told(each), found.status, found.reason, run.is_required(each))
        run.show(Console(file=(shown := StringIO()), width=100))
        walk.note(shown.getvalue().replace(str(tmp_path), ""), run.status, run.faults, run.run.finished_utc is None)
        walk.note([run.log_of(each) for each in run.run.rows], [writer.row_of(job) for job in jobs or ()])
    assert walk.checksum == "5eeae2c45b673a8a"


class Scheduler(Noted):
    """A client of a Dask cluster whose rows end, fail or are lost in any order."""

    def nthreads(self) -> dict[str, int]:
        return {"a": self.walk.pick((0, 1, 2, 12)), "b": 1}

    def submit(self, call: Any, *words: Any, key: str) -> Any:
        if call is bytes:
            self.walk.note(key, words)
            return "sent"
        name, build, job, *images = words
        planned, _, files, names = pickle.loads(job)
        self.walk.note(
            key, name, build == this_build(name), told(planned), [each.file for each in files], names, images
        )
        error = self.walk.pick((OSError("gone"), CancelledError(), FAULTS[2]))
        error = error if self.walk.pick((True, *(False,) * 9)) else OSError("it broke")
        status = self.walk.pick(("finished", "finished", "error"))
        text = row(2000, planned.number).model_dump_json()
        future = Noted(self.walk, status=status, result=lambda: text, exception=lambda: error)
        future.add_done_callback = lambda ended: self.waiting.append(lambda: ended(future))  # type: ignore[method-assign]
        return future


def test_rows_of_a_cluster_end_as_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    walk = Walk(15)
    now_s = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now_s[0], sleep=lambda seconds: now_s.append(now_s.pop() + seconds))
    monkeypatch.setattr(cluster, "time", clock)
    file = Uf2File.read(small_image(tmp_path, b"\0an image\0"))

    def obtain(entry: Any) -> Image:
        if walk.pick((True, *(False,) * 9)):
            raise ImageUnavailable("an image", "it is not here", "get it")
        return Image(entry, "1.0", Source.FILE, file)

    store: Any = SimpleNamespace(obtain=obtain)

    def get(ends: list[Callable[[], None]], done: queue.SimpleQueue[Any], timeout: float) -> Any:
        walk.note(timeout)
        for _ in range(min(walk.pick((0, 1, 2, 3)), len(ends))):
            ends.pop(walk.pick(range(len(ends))))()
        return done.get(block=False)

    for _ in range(150):
        client: Any = Scheduler(walk, id="me", status="running", waiting=[])
        of: Any = cluster._Cluster(client, "tcp://x", BenchOptions(), store)
        of._done = SimpleNamespace(put=of._done.put, get=partial(get, client.waiting, of._done))
        rows = [replace(each, partner=walk.pick((None, None, each))) for each in PLANNED if walk.pick((True, False))]
        try:
            for each, found in of.rows(rows):
                walk.note(told(each), found.status, found.reason, now_s)
                client.status = walk.pick(("running",) * 30 + ("closed",))
        except PortbenchError as error:
            walk.note(str(error))
    assert walk.checksum == "804a8eca319f8416"


def test_constants_and_defaults_are_as_they_were_read() -> None:
    assert_as_read(jobs, Path(__file__).with_name("declared.txt"))
