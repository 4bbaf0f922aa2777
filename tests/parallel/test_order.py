"""Which row a process is given next."""

from __future__ import annotations

import heapq

from hypothesis import given
from hypothesis import strategies as st

from portbench.runner.parallel.order import Order, Unit


def programs(runs: int, **weights: int) -> dict[str, Unit]:
    return {f"{name}-{run}": Unit(name, weight=weight) for name, weight in weights.items() for run in range(runs)}


def given_out(units: dict[str, Unit], asking: str) -> list[str | None]:
    """What processes, a letter each, get when they ask in this order; what it had has ended then."""
    order, waiting = Order(units), dict(units)
    chosen: list[str | None] = []
    had: dict[str, str] = {}
    for process in asking:
        if process in had:
            order.ended(had[process])
        unit = order.next(process, waiting)
        chosen.append(unit)
        if unit is not None:
            had[process] = unit
            del waiting[unit]
    return chosen


def test_what_must_be_alone_comes_first_then_the_heaviest_and_whoever_has_a_program_keeps_it() -> None:
    units = programs(2, light=1, heavy=9, middle=5) | {"hosted": Unit("hosted", alone=True)}
    assert given_out(units, "abbabaabb") == [
        "hosted",
        None,
        None,
        *("heavy-0", "middle-0", "heavy-1"),
        "light-0",
        "middle-1",
        "light-1",
    ]


def test_whoever_has_nothing_else_takes_a_part_of_the_most_that_is_left() -> None:
    units = programs(4, light=1, heavy=9)
    assert given_out(units, "abbbbba")[-2:] == ["heavy-1", "heavy-2"]


def test_a_unit_of_a_process_that_is_gone_is_measured_by_another() -> None:
    units = programs(1, heavy=9, light=1)
    order = Order(units)
    assert order.next("gone", units) == "heavy-0"
    assert order.next("other", ["light-0"]) == "light-0"
    assert order.next("other", ["heavy-0"]) == "heavy-0"


def test_what_must_be_alone_waits_again_where_its_process_is_gone() -> None:
    units = {"hosted": Unit("hosted", alone=True), **programs(1, heavy=9)}
    order = Order(units)
    assert order.next("gone", units) == "hosted"
    assert order.next("other", ["heavy-0"]) is None
    assert order.next("other", units) == "hosted"
    assert order.next("other", ["heavy-0"]) == "heavy-0", "it may have the next one at hand"
    assert order.ended("hosted") and not order.ended("hosted")


def test_equals_keep_the_catalogues_order() -> None:
    assert given_out(programs(1, b=3, a=3, c=3), "xyz") == ["b-0", "a-0", "c-0"]


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.integers(1, 5), st.integers(0, 9)), min_size=1),
    st.integers(1, 4),
)
def test_every_unit_is_given_once(named: dict[str, tuple[int, int]], processes: int) -> None:
    units = {
        f"{name}-{run}": Unit(name, weight=weight) for name, (runs, weight) in named.items() for run in range(runs)
    }
    order, waiting, given_to = Order(units), dict(units), list[str]()
    free = [(0, process) for process in range(processes)]
    while waiting:
        now, process = heapq.heappop(free)
        unit = order.next(process, waiting)
        assert unit is not None
        given_to.append(unit)
        heapq.heappush(free, (now + 1 + waiting.pop(unit).weight, process))
    assert sorted(given_to) == sorted(units)
