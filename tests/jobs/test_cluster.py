"""Jobs on a Dask cluster of this machine: the same rows as here, whichever worker is lost."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.errors import PortbenchError
from portbench.results import storage
from portbench.results.model import Row, Status
from portbench.runner.bench import Bench
from portbench.runner.images import image_store
from portbench.runner.jobs import cluster
from portbench.runner.jobs.cluster import measure_on
from portbench.runner.jobs.table import measure_table
from portbench.runner.jobs.work import close, run_job
from portbench.runner.options import read_options
from portbench.runner.plan import plan
from portbench.runner.progress import ProgressView
from portbench.runner.sweep.plan import Sweep
from tests.sweep.test_plan import planned

pytest.importorskip("distributed", reason="Dask is not installed; install it: pip install 'portbench[dask]'")
pytestmark = [pytest.mark.engine, pytest.mark.slow]
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


def sweep(points: int) -> Sweep:
    return planned("runtime=portbench-native", f"turnaround_us=1..{points}+1", "messages=20")


def test_a_lost_worker_costs_its_job_alone_and_rows_are_as_here(
    begin: Processes, scheduler: str, tmp_path: Path
) -> None:
    workers = [worker(begin, scheduler) for _ in range(2)]
    asked = sweep(24)
    rows: dict[str, Row] = {}
    for job, row in measure_on(scheduler, asked.jobs, asked.images):
        assert job.id not in rows
        rows[job.id] = row
        if len(rows) == 3:
            workers[0].kill()
            workers.append(worker(begin, scheduler))
    assert {row.status for row in rows.values()} == {Status.MEASURED} and len(rows) == len(asked.jobs)
    assert workers[0].wait(_LIMIT_S) < 0
    (path,) = asked.images.values()
    try:
        for job in asked.jobs[::4]:
            here = Row.model_validate_json(run_job(job, path))
            assert rows[job.id].simulated_figures() == here.simulated_figures()
    finally:
        close()
    options = read_options(
        {"runtime": ["portbench-native"], "where": "emulated", "messages": "20", "runs": "2", "results_dir": tmp_path}
    )
    faults, run_file = measure_table(plan(options), options, scheduler, tmp_path)
    there = storage.read(run_file).rows
    assert faults == [] and len(there) == 2
    (planned, _) = plan(options)
    bench = Bench(options, image_store([planned.entry]), tmp_path)
    try:
        here = bench.measure(planned, ProgressView(1, Console(file=StringIO()))).row
    finally:
        bench.close()
    (same,) = (row for row in there if row.run_index == 0)
    assert same.simulated_figures() == here.simulated_figures() and same.build == here.build


def test_a_worker_with_another_portbench_measures_nothing(begin: Processes, scheduler: str) -> None:
    worker(begin, scheduler)
    asked = sweep(1)
    (job,) = asked.jobs
    other = replace(job, build=replace(job.build, sources="0" * 64))
    with pytest.raises(PortbenchError, match="a worker cannot measure: its portbench has other sources than the one"):
        list(measure_on(scheduler, [other], asked.images))


def test_nobody_to_measure_is_told(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = sweep(1)
    with pytest.raises(PortbenchError, match=r"has had no worker for 0\.3 s; start some: dask worker tcp://127"):
        list(measure_on(scheduler, asked.jobs, asked.images, workers_s=0.3))
    monkeypatch.setattr(cluster, "_CONNECT_S", 0.3)
    with pytest.raises(PortbenchError, match=r"--on tcp://127\.0\.0\.1:1: no Dask scheduler answers there"):
        list(measure_on("tcp://127.0.0.1:1", asked.jobs, asked.images))
    with pytest.raises(PortbenchError, match=r"--on nowhere://: no Dask scheduler answers there"):
        list(measure_on("nowhere://", asked.jobs, asked.images))
