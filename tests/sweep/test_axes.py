"""How axes are written, which there are, and which rows they make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portbench.runner.options import OptionError
from portbench.runner.sweep.axes import known_axes, read_axes
from portbench.runner.sweep.plan import plan_sweep
from portbench.runner.sweep.points import told
from portbench.workloads import workload, workloads

PING_PONG = workload("ping_pong")


def values(text: str) -> tuple[Any, ...]:
    (axis,) = read_axes([text], PING_PONG)
    return axis.values


def test_values_are_lists_and_ranges_with_units() -> None:
    assert values("spi_hz=1M..32M*2") == (1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000, 32_000_000)
    assert values("spi-hz=500k,2_000_000,33.25M") == (500_000, 2_000_000, 33_250_000)
    assert values("turnaround_us=0..1000+250") == (0, 250, 500, 750, 1000)
    assert values("messages=1,10..30+10") == (1, 10, 20, 30)
    assert values("phy_link_delay_s=0.5,1e0,3") == (0.5, 1.0, 3.0)
    assert values("intn=no,YES") == (False, True)
    assert values("seed=fixed") == ("fixed",)


@pytest.mark.parametrize(
    "text, said",
    [
        ("spi_hz", "is no axis; write one as spi_hz=2M,8M,20M"),
        ("baud=9600", "baud: is no axis of ping_pong; it has runtime, profile, spi_hz, intn, turnaround_us"),
        ("spi_hz=fast", "spi_hz: 'fast' is no number"),
        ("spi_hz=1.5", "spi_hz: 1.5 is no whole number"),
        ("spi_hz=2M,2_000_000", "spi_hz: 2000000 is given twice"),
        ("spi_hz=4M..1M*1", "spi_hz: 4M..1M*1 does not grow"),
        ("turnaround_us=0..5*2", "turnaround_us: 0..5*2 does not grow"),
        ("messages=1..99999+1", "messages: 1..99999+1 has more than 10000 values"),
        ("intn=maybe", "intn: 'maybe' is neither yes nor no"),
        ("runtime=a,,b", "runtime: has an empty value"),
    ],
)
def test_a_slip_is_told_in_a_line(text: str, said: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_axes([text], PING_PONG)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_an_axis_is_given_once_and_points_have_a_limit() -> None:
    with pytest.raises(OptionError, match="spi_hz: is given twice"):
        read_axes(["spi_hz=1M", "spi-hz=2M"], PING_PONG)
    with pytest.raises(OptionError, match="the axes have 1002001 points"):
        read_axes(["turnaround_us=0..1000+1", "messages=0..1000+1"], PING_PONG)


@settings(max_examples=50)
@given(st.text(max_size=30))
def test_whatever_is_written_is_values_or_a_line(text: str) -> None:
    for name in ("spi_hz", "intn", "phy_link_delay_s", "runtime"):
        try:
            (axis,) = read_axes([f"{name}={text}"], PING_PONG)
        except OptionError as error:
            assert str(error)
        else:
            assert axis.values


@settings(max_examples=50)
@given(st.integers(0, 10**9))
def test_a_number_is_told_as_it_is(number: int) -> None:
    text = told(number)
    scale = {"M": 10**6, "k": 10**3}.get(text[-1], 1)
    assert round(float(text.rstrip("kM")) * scale) == number


def test_the_axes_are_what_there_is_to_set() -> None:
    for each in workloads().values():
        assert set(each.settings_type.model_fields) <= set(known_axes(each))
    assert {"spi_hz", "turnaround_us"} <= set(known_axes(PING_PONG))
    assert not {"spi_hz", "turnaround_us"} & set(known_axes(workload("interpreter")))


def test_each_combination_is_a_job_and_has_an_id_of_its_own() -> None:
    sweep = plan_sweep(["runtime=portbench-native", "spi_hz=1M,2M", "intn=no,yes", "turnaround_us=0,200"], {})
    assert len(sweep.jobs) == len({job.id for job in sweep.jobs}) == 8
    job = next(job for job in sweep.jobs if job.point["spi_hz"] == 2_000_000 and job.point["intn"])
    assert (job.profile.name, job.profile.spi_hz, job.profile.intn) == ("tuned", 2_000_000, True)
    assert job.surroundings.seed is None and job.of == 1
    again = plan_sweep(["intn=yes", "runtime=portbench-native", "spi_hz=2M", "turnaround_us=0,200,400"], {})
    assert len({job.id for job in sweep.jobs} & {job.id for job in again.jobs}) == 2


def test_what_a_firmware_does_not_heed_makes_no_rows(tmp_path: Path) -> None:
    (tmp_path / "mine.uf2").write_bytes((PING_PONG.folder / "native.uf2").read_bytes())
    asked = {"family": "foreign"}
    sweep = plan_sweep([f"runtime={tmp_path}/mine.uf2", "spi_hz=1M,2M", "intn=no,yes", "turnaround_us=0,200"], asked)
    assert [job.point["turnaround_us"] for job in sweep.jobs] == [0, 200]
    assert all(job.point["spi_hz"] is None and told(job.point["intn"]) == "-" for job in sweep.jobs)


def test_images_of_one_name_are_told_apart(tmp_path: Path) -> None:
    paths = []
    for folder in ("main", "pr"):
        path = tmp_path / folder / "firmware.uf2"
        path.parent.mkdir()
        path.write_bytes((PING_PONG.folder / "native.uf2").read_bytes())
        paths.append(str(path))
    sweep = plan_sweep([f"runtime={','.join(paths)}"], {"family": "native", "runs": "2", "seed": "1"})
    assert [(job.point["runtime"], job.number) for job in sweep.jobs] == [
        ("main-firmware", 1),
        ("main-firmware", 2),
        ("pr-firmware", 1),
        ("pr-firmware", 2),
    ]
