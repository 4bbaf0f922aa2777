"""Two runs row by row: exact where nothing varies, run by run where the jitter is the same, else by chance."""

import itertools
import json
import math
import random
import statistics
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.results.chance import LEVEL, least_p
from portbench.results.compare import Basis, Comparison, compare, pairs
from portbench.results.compare_table import COLUMNS, as_data, lines, share
from portbench.results.model import Row, RunFile
from tests.results.rows import missing, other_row, row, run_of

pytest.importorskip("scipy")
SELF_COMPARISONS: Final = Path(__file__).with_name("self_comparisons.json")


def exact(total_us: float, **changes: Any) -> Row:
    return row(total_us, sim={"counters": {}}, **changes)


def roomy(total_us: float, index: int, seed: int = 1, **changes: Any) -> Row:
    return row(total_us, index, sim={"seed": seed, "room": {"phy_link_delay_us": seed * 100 + index}}, **changes)


def one(before: RunFile, after: RunFile) -> Comparison:
    (found,) = compare(before, after)
    return found


def test_exact_rows_differ_by_what_they_differ() -> None:
    found = one(run_of(exact(10_000)), run_of(exact(10_300)))
    assert found.basis is Basis.EXACT and found.p is None
    assert (found.slower, found.low, found.high) == (pytest.approx(0.03), found.slower, found.slower)
    assert found.is_slower_than(0.02) and not found.is_slower_than(0.04)
    faster = one(run_of(exact(10_300)), run_of(exact(10_000)))
    assert faster.slower == pytest.approx(1 / 1.03 - 1) and faster.differs and not faster.is_slower_than(0)
    same = one(run_of(exact(10_000)), run_of(exact(10_000)))
    assert same.slower == 0 and not same.differs and not same.is_slower_than(0)
    assert [as_data([found], limit)[0]["too_slow"] for limit in (None, 0.0, 0.02, 0.04)] == [False, True, True, False]


def test_one_exact_side_makes_no_exact_comparison() -> None:
    """The other side's jitter is in the difference."""
    for before, after in itertools.permutations(
        (run_of(exact(10_000)), run_of(*(roomy(10_000 + n, n) for n in (1, 2))))
    ):
        found = one(before, after)
        assert found.basis is Basis.SAMPLES and found.too_few and not found.is_slower_than(0)


def test_the_limits_themselves_are_allowed() -> None:
    same = one(run_of(exact(10_000)), run_of(exact(10_000)))

    def told(slower: float, p: float | None = None) -> Comparison:
        basis = Basis.EXACT if p is None else Basis.SAMPLES
        return Comparison(same.before, same.after, basis, slower, slower, slower, p)

    assert not told(0.02).is_slower_than(0.02) and told(math.nextafter(0.02, 1)).is_slower_than(0.02)
    assert not told(0.03, LEVEL).differs and told(0.03, math.nextafter(LEVEL, 0)).differs
    assert not told(0.03, LEVEL).is_slower_than(0.02) and told(0.03, math.nextafter(LEVEL, 0)).is_slower_than(0.02)
    alone = [row(100 + number / 100, number, where="silicon") for number in range(39)]
    few = one(run_of(row(200, where="silicon")), run_of(*alone))
    assert least_p(1, 39) == LEVEL and few.too_few and few.p == 1
    enough = one(run_of(row(200, where="silicon")), run_of(*alone, row(100.5, 39, where="silicon")))
    assert least_p(1, 40) < LEVEL and enough.differs and enough.slower < 0


@pytest.mark.parametrize(
    ("total_us", "limit", "said"),
    [
        (10_000.2, None, "within 2 %"),
        (10_199, None, "within 2 %"),
        (9_810, 0.05, "within 5 %"),
        (10_310, None, "slower by 3.1 %"),
        (9_000, 0.02, "faster by 10.0 %"),
        (10_010, 0.0, "SLOWER than 0% allows: by 0.1 %"),
        (10_000, 0.0, "the same"),
    ],
)
def test_a_small_difference_is_within_the_limit(total_us: float, limit: float | None, said: str) -> None:
    assert lines([one(run_of(exact(10_000)), run_of(exact(total_us)))], limit)[0][-1] == said


def test_less_can_be_better() -> None:
    found = one(run_of(other_row(10, sim={})), run_of(other_row(11, sim={})))
    assert found.slower == pytest.approx(0.1) and found.is_slower_than(0.05)


def test_runs_with_the_same_jitter_are_compared_one_by_one() -> None:
    """The jitter is far larger than the difference of the firmware, and hides nothing."""
    rooms = [9000.0, 10_000.0, 12_000.0]
    before = run_of(*(roomy(total, n) for n, total in enumerate(rooms)))
    slower = run_of(
        *(roomy(total * factor, n) for n, (total, factor) in enumerate(zip(rooms, (1.029, 1.03, 1.031), strict=True)))
    )
    found = one(before, slower)
    assert found.basis is Basis.SAME_JITTER and found.slower == pytest.approx(0.03, abs=0.0001)
    logs = [math.log(factor) for factor in (1.029, 1.03, 1.031)]
    reach = 4.302653 * statistics.stdev(logs) / math.sqrt(3)  # Student's t for 95 % and two degrees of freedom
    assert found.low == pytest.approx(math.expm1(statistics.fmean(logs) - reach), abs=1e-8)
    assert found.high == pytest.approx(math.expm1(statistics.fmean(logs) + reach), abs=1e-8)
    assert found.is_slower_than(0.02)
    same = one(before, before)
    assert (same.slower, same.low, same.high, same.differs) == (0, 0, 0, False)
    (line,) = lines([same], 0.0)
    assert dict(zip(COLUMNS, line, strict=True))["verdict"] == "the same"


@pytest.mark.parametrize(
    ("factors", "differs"),
    [((0.97, 1.0, 1.04), False), ((1.02, 1.01, 0.98), False), ((0.97, 0.971, 0.972), True), ((1.03, 1.03, 1.03), True)],
)
def test_runs_with_the_same_jitter_differ_where_their_interval_has_no_zero(
    factors: tuple[float, ...], differs: bool
) -> None:
    before, after = ([roomy(9000 * each, n) for n, each in enumerate(all_of)] for all_of in ((1, 1, 1), factors))
    found = one(run_of(*before), run_of(*after))
    assert found.basis is Basis.SAME_JITTER and found.differs is differs is (found.low > 0 or found.high < 0)
    assert found.low <= found.slower <= found.high and not found.is_slower_than(0.05)


@pytest.mark.parametrize(
    "changes",
    [{"seed": 2}, {"conditions": {"turnaround_us": 300}}, {"sim": {"seed": 1, "room": {"phy_link_delay_us": 0}}}],
)
def test_rooms_that_are_not_the_same_are_samples(changes: dict[str, Any]) -> None:
    fields = {"total_us": 10_000.0, "index": 0} | changes
    room = fields.pop("sim", None)
    other = roomy(**fields) if room is None else row(10_000, 0, sim=room)
    assert one(run_of(roomy(10_000, 0)), run_of(other)).basis is Basis.SAMPLES


def test_samples_need_runs_enough_to_tell() -> None:
    def silicon(*totals: float) -> RunFile:
        return run_of(*(row(total, n, where="silicon") for n, total in enumerate(totals)))

    few = one(silicon(100, 101, 102), silicon(102, 104, 106))
    assert few.basis is Basis.SAMPLES and few.too_few and not few.is_slower_than(0.02)
    assert "too few runs" in lines([few], 0.02)[0][-1]
    rare = one(silicon(100, 101, 102), silicon(104, 104.5, 105, 104.2))
    assert rare.differs and not rare.too_few  # the shift is large beside the spread, whatever their ranks could tell
    for ours, theirs in (((5,), (25, 26, 27, 28)), ((5, 5), (25, 25)), ((5, 5), (25, 25, 25)), ((5, 5), (5, 5))):
        alone = one(silicon(*ours), silicon(*theirs))  # two equal values may be chance
        assert alone.too_few and not alone.differs and lines([alone], 0.02)[0][5] == "-"
    enough = one(silicon(100, 101, 102, 103), silicon(104, 105, 106, 107))
    assert not enough.too_few and enough.is_slower_than(0.02) and not enough.is_slower_than(0.1)
    assert enough.low <= enough.slower <= enough.high and enough.slower == pytest.approx(0.0394, abs=0.001)
    alike = one(silicon(5, 5, 5, 5), silicon(5, 5, 5, 5))
    assert (alike.p, alike.slower, alike.differs) == (1.0, 0, False)


def test_three_runs_are_enough_where_they_are_far_apart() -> None:
    """Ranks of three and three have p = 0.1 at least, however far apart they are."""
    for factor in (4.48, 1.03):
        before = run_of(*(roomy(total, n) for n, total in enumerate((9990, 10_000, 10_020))))
        slow = {"turnaround_us": 1000}
        after = (roomy(factor * total, n, conditions=slow) for n, total in enumerate((9995, 10_000, 10_030)))
        found = one(before, run_of(*after))
        assert found.basis is Basis.SAMPLES and found.is_slower_than(0.02) and not found.too_few
        assert 0.8 * (factor - 1) < found.low < found.slower < found.high < 1.2 * (factor - 1)
        assert lines([found], 0.02)[0][-1] == f"SLOWER than 2% allows: by {100 * found.slower:.1f} %"
        assert found.slower == pytest.approx(factor * (9995 * 10_030 / 9990 / 10_020) ** (1 / 3) - 1)
    without_spread = one(run_of(roomy(1, 0), roomy(1, 1), roomy(1, 2)), run_of(*(roomy(2, n, 2) for n in range(3))))
    assert (without_spread.slower, without_spread.p) == pytest.approx((1, 0)) and without_spread.differs


def test_a_row_beside_itself_is_rarely_another() -> None:
    """Two hundred comparisons of one row under different seeds, five runs of each: chance alone moves them."""
    source = random.Random(7)

    def measured(seed: int) -> RunFile:
        return run_of(*(roomy(10_000 * math.exp(source.gauss(0, 0.01)), n, seed) for n in range(5)))

    alarms = [one(measured(2 * n), measured(2 * n + 1)).is_slower_than(0) for n in range(200)]
    differ = [one(measured(2 * n), measured(2 * n + 1)).differs for n in range(200)]
    assert sum(alarms) <= LEVEL * 200 and 0 < sum(differ) <= LEVEL * 200


def test_an_emulated_row_beside_itself_is_rarely_another() -> None:
    """These rows were measured; 8 of 200 differed then."""
    total_us = json.loads(SELF_COMPARISONS.read_text(encoding="utf-8"))["total_us"]
    seeds = list(itertools.combinations(sorted(total_us, key=int), 2))
    random.Random(1).shuffle(seeds)

    def measured(seed: str) -> RunFile:
        return run_of(*(roomy(total, index, int(seed)) for index, total in enumerate(total_us[seed])))

    found = [one(measured(a), measured(b)) for a, b in seeds[:200]]
    assert {each.basis for each in found} == {Basis.SAMPLES}
    assert sum(each.differs for each in found) == 8 <= LEVEL * len(found)
    three = [one(*(run_of(*each.rows[:3]) for each in (found.before, found.after))) for found in found]
    assert sum(each.differs for each in three) == 9 <= LEVEL * len(three)


def test_rows_are_matched_by_what_they_are() -> None:
    a = run_of(
        exact(1, runtime="x"),
        exact(2, runtime="y"),
        exact(3, runtime="x", profile="tuned"),
        missing("z", "failed", "no"),
    )
    b = run_of(exact(4, runtime="y"), exact(5, runtime="x", profile="tuned"), exact(6, runtime="x", where="hosted"))
    told = [(one.first.runtime, one.first.profile) for one, _ in pairs(a, b)]
    assert told == [("y", None), ("x", "tuned")]
    messages = run_of(exact(4, trips=[1.0] * 8, runtime="y"))
    assert pairs(a, messages) == []


def test_of_several_rows_the_one_under_the_most_similar_conditions_is_meant() -> None:
    def under(total_us: float, **conditions: Any) -> Row:
        return exact(total_us, conditions=conditions)

    before = run_of(under(1, turnaround_us=200, intn=True))
    others = [under(2, turnaround_us=300, intn=False), under(3, turnaround_us=300, intn=True), under(4, intn=False)]
    for order in itertools.permutations(others):
        ((_, after),) = pairs(before, run_of(*order))
        assert after.figure("total_us") == 3


def test_runs_of_one_jitter_twice_cannot_be_laid_beside_each_other() -> None:
    """Two boards that measured the same run: which belongs to which is not known."""
    twice = run_of(roomy(10_000, 0), roomy(10_200, 0), roomy(10_100, 1))
    assert one(twice, run_of(roomy(10_000, 0), roomy(10_100, 1))).basis is Basis.SAMPLES
    assert one(run_of(roomy(10_000, 0), roomy(10_100, 1)), twice).basis is Basis.SAMPLES
    alike = run_of(*(row(10_000, number, sim={"seed": 1, "room": {}}) for number in range(2)))
    assert one(alike, alike).basis is Basis.SAME_JITTER  # by the numbers of the runs


def test_two_builds_of_other_names_are_beside_each_other_where_there_is_no_choice() -> None:
    found = pairs(run_of(exact(1, runtime="main-firmware")), run_of(exact(2, runtime="pr-firmware")))
    assert [(a.first.runtime, b.first.runtime) for a, b in found] == [("main-firmware", "pr-firmware")]
    (line,) = lines(compare(run_of(exact(100, runtime="main")), run_of(exact(103, runtime="pr"))), 0.02)
    assert line[0].startswith("main -> pr") and line[4] == "+3.0 %" and line[-1] == "SLOWER than 2% allows: by 3.0 %"


@given(st.floats(-0.9, 10))
def test_a_difference_never_looks_like_none(value: float) -> None:
    said = share(value)
    assert (said == "0") is (value == 0)
    if abs(value) > 1e-9:
        assert (said[0] == "-") is (value < 0) and float(said.removesuffix(" %")) != 0
    told = [share(4 / 10**digits) for digits in (1, 3, 4, 5, 6, 7, 8)]
    assert told == [f"+{each} %" for each in ("40.0", "0.4", "0.04", "0.004", "0.0004", "0.00004", "0.000004000")]
