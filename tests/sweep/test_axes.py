"""How axes are written, which there are, and which rows they make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portbench.errors import OptionError
from portbench.runner.sweep.axes import Known, as_number, known_axes, read_axes
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


@pytest.mark.parametrize(
    "text, line",
    [
        ("spi_hz=", "'spi_hz=' is no axis; write one as spi_hz=2M,8M,20M"),
        ("spi_hz=fast", "spi_hz: 'fast' is no number; write 200, 8M or 0.5"),
        ("spi_hz=1.5", "spi_hz: 1.5 is no whole number"),
        ("spi_hz=3,1,2,1", "spi_hz: 1 is given twice; name each value once"),
        ("intn=no,off", "intn: False is given twice; name each value once"),
        ("turnaround_us=0,0", "turnaround_us: 0 is given twice; name each value once"),
        ("spi_hz=1..2+0", "spi_hz: 1..2+0 does not grow; write 1..32*2 or 0..100+25"),
        ("spi_hz=1..2*0.5", "spi_hz: 1..2*0.5 does not grow; write 1..32*2 or 0..100+25"),
        ("messages=1..10001+1", "messages: 1..10001+1 has more than 10000 values"),
        ("intn=1", "intn: '1' is neither yes nor no"),
        ("runtime=a,,b", "runtime: has an empty value; write its values as runtime=A,B,C"),
        ("seed=Fixed", "seed: 'Fixed' is no number; write 200, 8M or 0.5"),
        ("turnaround_us=fixed", "turnaround_us: 'fixed' is no number; write 200, 8M or 0.5"),
    ],
)
def test_a_slip_is_told_to_the_letter(text: str, line: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_axes([text], PING_PONG)
    assert str(caught.value) == line


def test_ranges_hold_their_last_value_and_as_many_as_the_limits() -> None:
    assert values("phy_link_delay_s=0.1..0.3+0.1") == (0.1, 0.2, 0.3)
    assert values("spi_hz=3..20*2") == (3, 6, 12)
    assert values("messages=5..5+1") == (5,)
    assert values("messages=6..5+1,1") == (1,)
    assert values("phy_link_delay_s=1..2*1.5") == (1.0, 1.5)
    assert len(values("messages=1..10000+1")) == 10_000
    hundred_thousand = read_axes(["turnaround_us=1..1000+1", "messages=1..100+1"], PING_PONG)
    assert [len(axis.values) for axis in hundred_thousand] == [1000, 100]
    with pytest.raises(OptionError) as caught:
        read_axes(["turnaround_us=1..1000+1", "messages=1..101+1"], PING_PONG)
    assert str(caught.value) == "the axes have 101000 points, more than 100000; leave out some values"


def test_every_word_of_a_switch_and_every_unit() -> None:
    assert values("intn=yes,no") == values("intn=true,false") == values("intn=on,off") == (True, False)
    assert values("spi_hz=1k,2M,3e3,4_0") == (1000, 2_000_000, 3000, 40)
    assert values("seed=fixed,7") == ("fixed", 7)
    assert values("runtime=a,b..c,d=e.uf2") == ("a", "b..c", "d=e.uf2")
    (trial,) = read_axes(["trial=cable"], workload("many"))
    assert (trial.known.kind, trial.values) == ("word", ("cable",))


def test_what_can_be_drawn_along_a_scale() -> None:
    assert [as_number(value) for value in (3, 0.5, "7", "fast", True, None)] == [3.0, 0.5, 7.0, None, None, None]
    axes = read_axes(["spi_hz=1M,2M", "messages=5", "seed=fixed,1", "intn=no,yes", "runtime=1,2"], PING_PONG)
    assert [axis.name for axis in axes if axis.is_numeric] == ["spi_hz", "runtime"]


def test_each_axis_is_of_a_kind_and_of_a_part() -> None:
    known = known_axes(PING_PONG)
    assert {name: known[name] for name in ("runtime", "profile", "spi_hz", "intn", "turnaround_us", "messages")} == {
        "runtime": Known("runtime", "word", "choice"),
        "profile": Known("profile", "word", "choice"),
        "spi_hz": Known("spi_hz", "whole", "profile"),
        "intn": Known("intn", "switch", "profile"),
        "turnaround_us": Known("turnaround_us", "whole", "room"),
        "messages": Known("messages", "whole", "setting"),
    }
    assert known["phy_link_delay_s"] == Known("phy_link_delay_s", "number", "room")
    assert list(known_axes(workload("interpreter")))[:2] == ["runtime", "profile"]


def test_an_axis_is_given_once_and_points_have_a_limit() -> None:
    with pytest.raises(OptionError, match=r"^spi_hz: is given twice; write all its values as spi_hz=A,B,C$"):
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
