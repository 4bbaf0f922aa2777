"""The line through the times, the figures that follow from it, and rows of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.errors import OptionError
from portbench.runner.options import read_options
from portbench.runner.plan import plan
from portbench.workloads import BadResult, workload
from portbench.workloads.fill.workload import Settings, straight_part

FILL = workload("fill")


@given(st.integers(1, 10**6), st.integers(0, 10**7), st.integers(0, 5), st.integers(11, 21))
def test_the_line_is_found_behind_the_bend(slope: int, intercept: int, bend: int, points: int) -> None:
    """While the chip still sends, up to `bend` fills take no time at all."""
    times = [intercept + slope * max(fills, bend) for fills in range(points)]
    line = straight_part(times)
    assert line is not None and (line.first, line.last) == (bend, points - 1) and line.worst < 1e-6
    assert line.slope_us == pytest.approx(slope) and line.intercept_us == pytest.approx(intercept, abs=slope / 1000)


def test_a_point_aside_does_not_count() -> None:
    """The last of a CircuitPython board's transfers met the PC's acknowledgements otherwise."""
    times = [1227692, 1503174, 1791474, 2081634, 2371827, 2656769, 2942993, 3237579, 3522918, 3811646, 3414398]
    line = straight_part(times)
    assert line is not None and (line.first, line.last) == (1, 5) and line.slope_us == pytest.approx(288_754, abs=1)


@pytest.mark.parametrize("times", [[5.0] * 11, [11.0 - n for n in range(11)], [1.0, 2.0, 3.0], [0.0, 9.0] * 5])
def test_what_has_no_straight_part(times: list[float]) -> None:
    assert straight_part(times) is None


def result(**changes: Any) -> dict[str, Any]:
    """Two buffers, 1000 us for the network, 512 us (int16) and 2048 us (bytes) a fill of both."""
    times = {"int16": [1000 + 512 * n for n in range(5)], "bytes": [1000 + 2048 * n for n in range(5)]}
    return {"times_us": times, "cpu_hz": 125_000_000} | changes


def test_figures() -> None:
    found = FILL.check(result(), Settings(buffers=2, fills=4))
    assert found.figures["network_mbit_s"] == pytest.approx(32.768)
    assert found.figures["fill_int16_mbit_s"] == pytest.approx(64) and found.figures[
        "fill_bytes_mbit_s"
    ] == pytest.approx(16)
    assert found.figures["fill_bytes_ns_per_pass"] == pytest.approx(500)
    assert found.figures["fill_bytes_cycles_per_pass"] == pytest.approx(62.5)
    assert found.figures["fill_bytes_straight_from"] == 0 and found.samples["int16_us"][0] == 1000


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"times_us": {}}, "the client filled by nothing, not by int16 and bytes"),
        ({"times_us": {"int16": [1] * 5, "bytes": [1] * 5, "words": [1]}}, "the client filled by int16, bytes, words"),
        ({"times_us": {"int16": [1], "bytes": [1]}}, "the client timed 1 transfers by int16, not 5"),
        ({"times_us": {"int16": [5, 4, 3, 2, 1], "bytes": [1] * 5}}, "times by int16 have no straight part: [5, 4"),
        ({"times_us": {"int16": [0], "bytes": [1]}}, "the client's times_us.int16[0] is 0"),
    ],
)
def test_a_result_that_is_none(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(BadResult) as error:
        FILL.check(result(**changes), Settings(buffers=2, fills=4))
    assert says in str(error.value)


def test_a_port_on_a_pc_is_not_asked() -> None:
    with pytest.raises(OptionError, match="fill is a question to boards, not to a port on a PC"):
        plan(read_options({"workload": ["fill"], "runtime": ["micropython-unix"]}))
