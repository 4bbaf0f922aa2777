"""Rows in processes of this PC that end as they should not."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from portbench.boards import BrokenSetup
from portbench.results.model import Row, Status
from portbench.runner.bench import Outcome
from portbench.runner.jobs import pool
from portbench.runner.jobs.job import Rows
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.runner.program import image_store
from tests.sweep.test_returns import point

pytestmark = pytest.mark.slow
OPTIONS = BenchOptions(where="emulated", runtimes=("portbench-native",), runs=4, seed=1, parallel=1)


def dies_of_the_second(connection: Connection, *_: Any) -> None:
    while True:
        number = connection.recv().number
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        connection.send(Outcome(point(float(number)).rows[0], Path()))


def breaks_at_the_second(connection: Connection, *_: Any) -> None:
    while True:
        number = connection.recv().number
        fault = BrokenSetup("no engine") if number == 2 else None
        connection.send(Outcome(point(float(number)).rows[0], Path(), fault))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])  # where its processes find this file

    def measure(work: Any) -> Rows:
        monkeypatch.setattr(pool, "_work", work)
        return pool.measure_in_processes(plan(OPTIONS), OPTIONS, image_store(), tmp_path, 1, lambda row, what: None)

    return measure


def test_a_row_that_kills_its_process_fails_alone(measured: Any) -> None:
    rows: dict[int, Row] = {planned.number: row for planned, row in measured(dies_of_the_second)}
    assert {number: row.status for number, row in rows.items()} == {
        1: Status.MEASURED,
        2: Status.FAILED,
        3: Status.MEASURED,
        4: Status.MEASURED,
    }
    assert rows[2].reason == "its process ended with status -9, 2 times" and rows[2].runtime == "portbench-native"


def test_no_row_follows_a_broken_setup(measured: Any) -> None:
    coming = measured(breaks_at_the_second)
    assert [next(coming)[0].number, next(coming)[0].number] == [1, 2]
    with pytest.raises(BrokenSetup, match="no engine"):
        next(coming)
