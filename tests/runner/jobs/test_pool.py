"""Rows in processes of this PC that end as they should not."""

import multiprocessing
import os
import signal
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, call

import pytest

from portbench.boards import BrokenSetup
from portbench.boards.jitter import Surroundings
from portbench.results.model import Row, Status
from portbench.runner.bench import Outcome
from portbench.runner.jobs import pool
from portbench.runner.jobs.job import Rows, Watch
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow, plan
from portbench.runner.program import image_store
from tests.runner.sweep.test_returns import point

pytestmark = pytest.mark.slow
OPTIONS = BenchOptions().but(
    where="emulated", runtimes=("portbench-native",), runs=4, surroundings=Surroundings(seed=1), parallel=1
)


def dies_of_the_second(connection: Connection, options: BenchOptions, rows: Any, logs: Path, *_: Any) -> None:
    while True:
        number = connection.recv().number
        if number == 2:
            with (logs / "tries").open("a") as tries:
                tries.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 4 and not (logs / "once").exists():
            (logs / "once").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        connection.send(Outcome(point(float(number)).rows[0], Path()))


def breaks_at_the_second(connection: Connection, *_: Any) -> None:
    while True:
        number = connection.recv().number
        fault = BrokenSetup("no engine") if number == 2 else None
        connection.send(Outcome(point(float(number)).rows[0], Path(), fault))


def measures(connection: Connection, *_: Any) -> None:
    while True:
        connection.send(Outcome(point(float(connection.recv().number)).rows[0], Path()))


def does_not_end(connection: Connection, *_: Any) -> None:
    row = connection.recv()
    connection.send("runs")
    connection.send(Outcome(point(float(row.number)).rows[0], Path()))
    signal.pause()


def cannot_begin(connection: Connection, *_: Any) -> None:
    connection.recv()
    connection.send(BrokenSetup("no engine"))


class LeavesFiles:
    """A bench whose process is killed in the second row."""

    def __init__(self, options: BenchOptions, images: Any, logs: Path) -> None:
        self._logs = logs

    def measure(self, row: PlannedRow, watch: Any) -> Outcome:
        with (self._logs / "made").open("a") as made:
            made.write(f"{tempfile.mkdtemp()}\n")
        watch(f"row {row.number}")
        # What the process starts must hear a Ctrl-C.
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        if row.number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return Outcome(point(float(row.number)).rows[0], Path())

    def close(self) -> None:
        pass


class Odd(Exception):
    """It cannot be made again from its arguments."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one + other)


def faults_oddly(*parts: Any) -> None:
    outcome = Outcome(point(1.0).rows[0], Path(), Odd("a", "b"))
    pool.Bench = lambda *_: SimpleNamespace(measure=lambda *_: outcome)  # type: ignore[assignment, misc]
    pool._work(*parts)


def leaves_files(*parts: Any) -> None:
    pool.Bench = LeavesFiles  # type: ignore[assignment, misc]
    pool._work(*parts)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(Path(__file__).parents[3])  # where its processes find this file

    def measure(work: Any, watch: Watch = lambda row, what: None, options: BenchOptions = OPTIONS) -> Rows:
        monkeypatch.setattr(pool, "_work", work)
        return pool.measure_in_processes(plan(options), options, image_store(), tmp_path, 1, watch)

    return measure


def test_a_row_that_kills_its_process_fails_alone(measured: Any, tmp_path: Path) -> None:
    rows: dict[int, Row] = {planned.number: row for planned, row in measured(dies_of_the_second)}
    assert {number: row.status for number, row in rows.items()} == {
        1: Status.MEASURED,
        2: Status.FAILED,
        3: Status.MEASURED,
        4: Status.MEASURED,
    }
    assert rows[2].reason == "its process ended with status -9, 2 times" and rows[2].runtime == "portbench-native"
    assert (tmp_path / "tries").read_text() == "xx"


def test_nothing_stays_of_a_killed_process(measured: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    watch = Mock()
    assert len(list(measured(leaves_files, watch))) == 4
    assert {each.args[1] for each in watch.mock_calls} == {f"row {number}" for number in range(1, 5)}
    made = (tmp_path / "made").read_text().splitlines()
    assert len(made) == 5 and all(Path(folder).is_relative_to(temporary) for folder in made)
    assert list(temporary.iterdir()) == []


def test_no_row_follows_a_broken_setup(measured: Any) -> None:
    coming = measured(breaks_at_the_second)
    assert [next(coming)[0].number, next(coming)[0].number] == [1, 2]
    with pytest.raises(BrokenSetup, match="no engine"):
        next(coming)
    with pytest.raises(BrokenSetup, match="no engine"):
        next(measured(cannot_begin))
    coming = measured(faults_oddly)
    next(coming)
    with pytest.raises(RuntimeError, match=r"^Odd\('ab'\)"):
        next(coming)
    assert multiprocessing.active_children() == []


def test_a_process_keeps_its_program(measured: Any) -> None:
    both = OPTIONS.but(runtimes=("portbench-native", "wiznet-hardwired"), runs=2)
    found = [pool.program_of(planned) for planned, _ in measured(measures, options=both)]
    assert found[::2] == found[1::2] and len(set(found)) == len(found) / 2 > 1


def test_a_process_that_has_died_gets_its_row_and_one_that_lives_on_is_waited_for_twice() -> None:
    worker, (row, *_) = pool._Worker.__new__(pool._Worker), plan(OPTIONS)
    worker.connection = Mock(send=Mock(side_effect=BrokenPipeError))
    worker._process = process = Mock()
    worker.begin(3, row)
    assert (worker.place, worker.program) == (3, pool.program_of(row))
    process.is_alive.return_value = True
    assert worker.ended() is process.exitcode
    assert process.mock_calls == [call.join(3.0), call.is_alive(), call.kill(), call.join()]


def test_a_process_that_does_not_end_is_killed(measured: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_END_S", 0.05)
    watch = Mock()
    coming = measured(does_not_end, watch)
    planned, _ = next(coming)
    assert watch.mock_calls == [call(planned, "runs")] and len(multiprocessing.active_children()) == 1
    coming.close()
    assert multiprocessing.active_children() == []
