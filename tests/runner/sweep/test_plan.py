"""Which rows the combinations of several values make."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portbench.runner.options import read_options
from portbench.runner.sweep.plan import Sweep, plan_sweep, told
from portbench.workloads import workload

PING_PONG = workload("ping_pong")


def planned(*settings: str, **asked: Any) -> Sweep:
    return plan_sweep(read_options({"setting": settings, **asked}, sweeps=True))


@settings(max_examples=50)
@given(st.integers(0, 10**9))
def test_a_number_is_told_as_it_is(number: int) -> None:
    text = told(number)
    scale = {"M": 10**6, "k": 10**3}.get(text[-1], 1)
    assert round(float(text.rstrip("kM")) * scale) == number


@pytest.mark.engine
def test_each_combination_is_a_job_and_has_an_id_of_its_own() -> None:
    sweep = planned("runtime=portbench-native", "spi_hz=1M,2M", "intn=no,yes", "turnaround_us=0,200")
    assert len(sweep.jobs) == len({job.id for job in sweep.jobs}) == 8
    job = next(job for job in sweep.jobs if job.point["spi_hz"] == 2_000_000 and job.point["intn"])
    assert (job.row.profile.name, job.row.profile.spi_hz, job.row.profile.intn) == ("tuned", 2_000_000, True)
    assert job.row.how.surroundings.seed is None and job.row.of == 1
    again = planned("intn=yes", "runtime=portbench-native", "spi_hz=2M", "turnaround_us=0,200,400")
    assert len({job.id for job in sweep.jobs} & {job.id for job in again.jobs}) == 2


@pytest.mark.engine
def test_what_a_firmware_does_not_heed_makes_no_rows(tmp_path: Path) -> None:
    (tmp_path / "mine.uf2").write_bytes((PING_PONG.folder / "native.uf2").read_bytes())
    mine = f"runtime={tmp_path}/mine.uf2"
    sweep = planned(mine, "spi_hz=1M,2M", "intn=no,yes", "turnaround_us=0,200", family="foreign")
    assert [job.point["turnaround_us"] for job in sweep.jobs] == [0, 200]
    assert all(job.point["spi_hz"] is None and told(job.point["intn"]) == "-" for job in sweep.jobs)


@pytest.mark.engine
def test_images_of_one_name_are_told_apart(tmp_path: Path) -> None:
    paths = []
    for folder in ("main", "pr"):
        path = tmp_path / folder / "firmware.uf2"
        path.parent.mkdir()
        path.write_bytes((PING_PONG.folder / "native.uf2").read_bytes())
        paths.append(str(path))
    sweep = planned(f"runtime={','.join(paths)}", "seed=1", family="native", runs=2)
    assert [(job.point["runtime"], job.row.number) for job in sweep.jobs] == [
        ("main-firmware", 1),
        ("main-firmware", 2),
        ("pr-firmware", 1),
        ("pr-firmware", 2),
    ]
