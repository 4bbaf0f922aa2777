"""Jobs in processes of this machine."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from portbench.errors import PortbenchError
from portbench.results.model import Status
from portbench.runner.jobs import local
from portbench.runner.jobs.job import Job
from portbench.runner.jobs.local import measure_here
from tests.sweep.test_knees import point
from tests.sweep.test_plan import planned

pytest.importorskip("pebble", reason="pebble is not installed; install it: pip install 'portbench[sweep]'")
pytestmark = pytest.mark.slow


def dies_of_the_second(job: Job, image: Path) -> str:
    if job.surroundings.turnaround_us == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return point(float(job.surroundings.turnaround_us)).rows[0].model_dump_json()


def test_a_job_that_kills_its_process_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])  # where its processes find this file
    monkeypatch.setattr(local, "run_job", dies_of_the_second)
    asked = planned("runtime=portbench-native", "turnaround_us=1,2,3,4")
    rows = {job.surroundings.turnaround_us: row for job, row in measure_here(asked.jobs, asked.images, 1)}
    assert {us: row.status for us, row in rows.items()} == {
        1: Status.MEASURED,
        2: Status.FAILED,
        3: Status.MEASURED,
        4: Status.MEASURED,
    }
    assert rows[2].reason == "its process ended with status -9, 2 times"
    assert rows[2].runtime == "portbench-native" and rows[2].image_sha256 is not None


@pytest.mark.engine
def test_an_image_that_has_changed_stops_it(tmp_path: Path) -> None:
    asked = planned("runtime=portbench-native", "seed=fixed")
    (sha256,) = asked.images
    other = tmp_path / "native.uf2"
    other.write_bytes(b"something else")
    with pytest.raises(PortbenchError, match="portbench-native: the image is f41f3fa625ff by now, not"):
        list(measure_here([replace(job) for job in asked.jobs], {sha256: other}, 1))
