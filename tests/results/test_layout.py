"""Division of a difference into code and layout, in figures and in words."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.results.compare import Comparison, compare
from portbench.results.compare_table import as_data, layouts, lines
from portbench.results.layout import Split
from portbench.results.model import Layouts
from tests.results.rows import other_row, run_of

pytest.importorskip("scipy")


def lag(linked: float, drawn: list[float], free: float = 10.0) -> Layouts:
    return Layouts(linked={"lag_us": linked}, free={"lag_us": free}, drawn=[{"lag_us": each} for each in drawn])


def compared(before: Layouts | None, after: Layouts | None) -> Comparison:
    runs = [
        run_of(other_row(20 if found is None else found.linked["lag_us"], sim={}, layouts=found))
        for found in (before, after)
    ]
    (comparison,) = compare(*runs)
    return comparison


def split(before: Layouts, after: Layouts) -> Split:
    (found,) = compared(before, after).splits
    return found


def test_code_is_what_all_layouts_have_and_layout_is_the_rest() -> None:
    found = split(lag(20, [20, 22, 24]), lag(25, [21, 23.1, 25.2], free=11))
    assert (found.linked, found.free) == (pytest.approx(0.25), pytest.approx(0.1))
    assert found.code == pytest.approx(0.05) and found.is_code
    assert (1 + found.code) * (1 + found.layout) == pytest.approx(1.25)
    assert found.varies[0] == pytest.approx(found.varies[1]) and 0.05 < found.varies[0] < 0.15


def test_what_differs_from_layout_to_layout_is_no_code() -> None:
    found = split(lag(20, [20, 22, 24, 21]), lag(30, [22, 20, 21, 24]))
    assert found.low < 0 < found.high and not found.is_code
    assert found.linked == pytest.approx(0.5)


@given(seed=st.integers(0, 2**32), factor=st.floats(0.5, 2))
def test_the_parts_make_the_whole(seed: int, factor: float) -> None:
    drawn = random.Random(seed)
    sides = [lag(drawn.uniform(5, 50), [factor * drawn.uniform(5, 50) for _ in range(4)]) for _ in range(2)]
    found = split(*sides)
    assert (1 + found.code) * (1 + found.layout) == pytest.approx(1 + found.linked)
    assert found.low <= found.code <= found.high
    back = split(*sides[::-1])
    assert math.log1p(back.code) == pytest.approx(-math.log1p(found.code), abs=1e-9)


def test_a_build_with_itself_has_no_difference() -> None:
    found = split(*[lag(20, [20, 22, 24])] * 2)
    assert (found.linked, found.code, found.low, found.high, found.layout) == (0, 0, 0, 0, 0)


def test_the_gate_judges_the_code() -> None:
    unlucky = compared(lag(20, [20, 22, 24]), lag(30, [20, 22, 24]))
    assert unlucky.slower == pytest.approx(0.5) and not unlucky.is_slower_than(0.02)
    assert lines([unlucky], 0.02)[0][-1] == "the code is as fast: the difference is layout, or chance"
    slower = compared(lag(20, [20, 22, 24]), lag(20, [21, 23.1, 25.2]))
    assert slower.slower == 0 and slower.is_slower_than(0.02) and not slower.is_slower_than(0.06)
    assert lines([slower], 0.02)[0][-1] == "SLOWER than 2% allows: by 0, of which code +5.0 %, layout -4.8 %"
    unlucky = compared(lag(20, [20, 22, 24]), lag(21.4, [19.3, 21.2, 23.2]))
    assert lines([unlucky], 0.02)[0][-1] == "slower by 7.0 %, of which code -3.5 %, layout +10.9 %"


@pytest.mark.parametrize("lacking", [(None, lag(20, [20, 22])), (lag(20, [20, 22]), None)])
def test_both_must_have_been_run_so(lacking: tuple[Layouts | None, Layouts | None]) -> None:
    comparison = compared(*lacking)
    assert comparison.splits == [] and layouts([comparison]) == []
    assert as_data([comparison], None)[0]["layouts"] == []


def test_a_part_is_divided_where_all_layouts_have_it() -> None:
    sides = [{"lag_us": 20.0, "up_ms": 5.0, "down_ms": 0.0}, {"lag_us": 20.0, "up_ms": 6.0}]
    told = [Layouts(linked=each, free=each, drawn=[each, each]) for each in sides]
    (comparison,) = compare(*(run_of(other_row(20, workload="tls", sim={}, layouts=each)) for each in told))
    assert [(each.figure, round(each.linked, 9)) for each in comparison.splits] == [("lag_us", 0), ("up_ms", 0.2)]


def test_each_build_varies_by_its_own_layouts() -> None:
    (found,) = compared(lag(20, [20, 20, 20]), lag(20, [20, 22, 24])).splits
    assert found.varies[0] == 0 and found.varies[1] == pytest.approx(0.0912, abs=1e-4)
