"""Jobs on a Dask cluster of this machine: the same rows as here, whichever worker is lost."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.errors import PortbenchError
from portbench.results.model import Row, Status
from portbench.runner.bench import Bench
from portbench.runner.jobs import cluster
from portbench.runner.jobs.cluster import measure_on
from portbench.runner.jobs.job import this_build
from portbench.runner.jobs.run import Run
from portbench.runner.jobs.run import planned as planned_run
from portbench.runner.options import BenchOptions, read_options
from portbench.runner.plan import PlannedRow
from portbench.runner.program import image_store
from tests.conftest import Image, needs
from tests.runner.conftest import Invoke
from tests.runner.sweep.test_plan import planned as planned_sweep

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    needs("distributed", "Dask is not installed"),
]
_LIMIT_S = 90.0

Processes = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Processes]:
    """Starts a Dask program; all are ended with the test."""
    started: list[subprocess.Popen[bytes]] = []
    environment = os.environ | {
        RUNTIME_DIR_VARIABLE: str(tmp_path / "run"),
        "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    }

    def run(program: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--no-dashboard", *words]
        log = (tmp_path / f"{program}-{len(started)}.txt").open("wb")
        with log:
            started.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path, env=environment))
        return started[-1]

    try:
        yield run
    finally:
        for process in reversed(started):  # a worker that both a signal and its scheduler end at once never ends
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LIMIT_S)
            process.kill()
            process.wait()


@pytest.fixture
def scheduler(begin: Processes, tmp_path: Path) -> str:
    """Its address."""
    told = tmp_path / "scheduler.json"
    process = begin("dask_scheduler", "--host=127.0.0.1", "--port=0", f"--scheduler-file={told}")
    ends_s = time.monotonic() + _LIMIT_S
    while True:
        assert process.poll() is None and time.monotonic() < ends_s, "the scheduler did not start"
        with contextlib.suppress(OSError, ValueError):
            return str(json.loads(told.read_text())["address"])
        time.sleep(0.01)


def worker(begin: Processes, scheduler: str) -> subprocess.Popen[bytes]:
    return begin("dask_worker", scheduler, "--nthreads=1", "--no-nanny", "--host=127.0.0.1")


def asked(points: int) -> tuple[list[PlannedRow], BenchOptions]:
    words = ("runtime=portbench-native", f"turnaround_us=1..{points}+1", "messages=20")
    options = read_options({"setting": list(words), "where": "emulated"}, sweeps=True)
    return [job.row for job in planned_sweep(*words).jobs], options.but(axes=())


def here(row: PlannedRow, options: BenchOptions, folder: Path) -> Row:
    with closing(Bench(options, image_store([row.entry]), folder)) as bench:
        return bench.measure(row).row


def test_a_lost_worker_costs_its_row_alone_and_rows_are_as_here(
    begin: Processes, scheduler: str, tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = [worker(begin, scheduler) for _ in range(2)]
    planned, options = asked(12)
    rows: dict[int, Row] = {}
    for row, measured in measure_on(scheduler, planned, options, image_store()):
        assert id(row) not in rows
        rows[id(row)] = measured
        if len(rows) == 3:
            workers[0].kill()
            workers.append(worker(begin, scheduler))
    assert [row.reason for row in rows.values() if row.status is not Status.MEASURED] == []
    assert len(rows) == len(planned)
    assert workers[0].wait(_LIMIT_S) < 0
    for row in planned[::8]:
        assert rows[id(row)].simulated_figures() == here(row, options, tmp_path).simulated_figures()
    given = {"runtime": ["portbench-native"], "where": "emulated", "messages": "20", "runs": 2}
    planned, options = planned_run({**given, "results_dir": tmp_path / "results"})
    with Run(planned, options, scheduler) as run:
        there = [measured for _, measured in run.measured()]
    assert run.faults == [] and run.status == 0 and len(there) == 2
    (same,) = (row for row in there if row.run_index == 0)
    alone = here(planned[0], options, tmp_path)
    assert same.simulated_figures() == alone.simulated_figures() and same.build == alone.build and same.log is None
    monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", str(tmp_path))
    done = invoke(*"run --on tcp://127.0.0.1:8786 --name nightly".replace("tcp://127.0.0.1:8786", scheduler).split())
    assert done.exit_code == 0 and (tmp_path / "results" / "latest.json").exists(), done.output


def test_a_sweep_on_a_cluster(begin: Processes, scheduler: str, image: Image, invoke: Invoke) -> None:
    image("micropython-1.28.0")
    worker(begin, scheduler)
    line = "run --runtime micropython-1.28.0 -s spi_hz=1M..32M*2 --on tcp://127.0.0.1:8786"
    done = invoke(*line.replace("tcp://127.0.0.1:8786", scheduler).split())
    assert done.exit_code == 0 and "6/6" in done.output, done.output


def test_a_worker_with_another_portbench_measures_nothing(
    begin: Processes, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker(begin, scheduler)
    other = replace(this_build("ping_pong"), sources="0" * 64)
    monkeypatch.setattr(cluster, "this_build", lambda name: other)
    with pytest.raises(PortbenchError, match="a worker cannot measure: its portbench has other sources than this one"):
        list(measure_on(scheduler, *asked(1), image_store()))


def test_a_scheduler_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_CONNECT_S", 0.3)
    with pytest.raises(PortbenchError, match=r"--on tcp://127\.0\.0\.1:1: no Dask scheduler answers there"):
        list(measure_on("tcp://127.0.0.1:1", *asked(1), image_store()))
    with pytest.raises(PortbenchError, match=r"--on nowhere://: no Dask scheduler answers there"):
        list(measure_on("nowhere://", *asked(1), image_store()))
