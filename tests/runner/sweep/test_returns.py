"""Curves that bend, and curves that do not."""

from collections.abc import Callable, Sequence

import pytest

from portbench.runner.settings import Axis, read_settings
from portbench.runner.sweep.chart import diminishing_returns
from portbench.runner.sweep.plan import Curve, Point, curves
from portbench.workloads import workload
from tests.conftest import needs
from tests.results.rows import row

pytestmark = needs("kneed", "kneed is not installed")


def point(value: float, **at: object) -> Point:
    return Point(dict(at), (row(1, figures={"messages_per_s": value}),))


def curve(x: Sequence[float], law: Callable[[float], float]) -> Curve:
    return Curve("spi_hz", {}, tuple(point(law(value), spi_hz=value) for value in x))


def test_a_bus_beside_a_fixed_time_brings_less_where_it_stops_to_count() -> None:
    (bend,) = diminishing_returns([curve([1, 2, 4, 8, 16, 32], lambda mhz: 1e3 / (100 + 800 / mhz))])
    assert bend.at.at["spi_hz"] == 8
    assert bend.brought == pytest.approx(3.5) and bend.left == pytest.approx(0.6)
    assert bend.sentence == (
        "spi_hz: diminishing returns from 8: 1.11 to 5 messages/s (+350 %) from 1 to there, then +60 % to 32"
    )


def test_what_falls_steeply_at_first_has_one_too() -> None:
    (bend,) = diminishing_returns([curve(range(0, 1100, 100), lambda us: 1e6 / (20 + us))])
    assert bend.at.at["spi_hz"] == 100 and bend.brought < 0 and bend.left < 0


@pytest.mark.parametrize(
    "law", [lambda x: 5.0, lambda x: 5 + x * 1e-4, lambda x: 3 * x], ids=["flat", "all but flat", "straight"]
)
def test_what_does_not_bend_has_none(law: Callable[[float], float]) -> None:
    assert diminishing_returns([curve(range(1, 12), law)]) == []


def test_few_points_say_nothing() -> None:
    assert diminishing_returns([curve([1, 2, 4, 8], lambda mhz: 1e3 / (100 + 800 / mhz))]) == []


def axes(*texts: str) -> list[Axis]:
    return list(read_settings(texts, [workload("ping_pong")]).values())


def test_there_is_a_curve_along_each_axis_of_numbers() -> None:
    asked = axes("spi_hz=1M,2M", "intn=no,yes", "turnaround_us=0,100,200")
    points = [
        point(hz / 1e6 + us, spi_hz=hz, intn=intn, turnaround_us=us)
        for us in (200, 0, 100)
        for intn in (False, True)
        for hz in (2_000_000, 1_000_000)
    ]
    found = curves(points, asked)
    assert [(each.axis, len(each.points)) for each in found] == [("spi_hz", 2)] * 6 + [("turnaround_us", 3)] * 4
    assert all(each.x == sorted(each.x) and each.y == sorted(each.y) for each in found)


def test_a_bend_names_what_tells_its_curve_from_others() -> None:
    found = [
        Curve("spi_hz", {"intn": intn, "messages": 9}, each.points)
        for intn in (False, True)
        for each in [curve([1, 2, 4, 8, 16, 32], lambda mhz: 1e3 / (100 + 800 / mhz))]
    ]
    assert [bend.named for bend in diminishing_returns(found)] == [("intn",), ("intn",)]
