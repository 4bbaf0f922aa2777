"""Which row a process is given next; rows end in any order, and are stored and shown in the plan's."""

import heapq
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.results import storage
from portbench.results.model import Row
from portbench.runner.jobs.job import Rows
from portbench.runner.jobs.pool import Order, Unit
from portbench.runner.jobs.run import Run, planned
from portbench.runner.plan import PlannedRow
from tests.results.rows import missing, row


def programs(runs: int, **weights: int) -> dict[str, Unit]:
    return {f"{name}-{run}": Unit(name, weight=weight) for name, weight in weights.items() for run in range(runs)}


def given_out(units: dict[str, Unit], asking: str) -> list[str]:
    """Return the units that processes, a letter each, get when they ask in this order."""
    order, names = Order(list(units.values())), list(units)
    chosen: list[str] = []
    had: dict[str, str] = {}
    for process in asking:
        place = order.next(had.get(process))
        assert place is not None
        chosen.append(names[place])
        had[process] = units[names[place]].program
    assert order.next("any") is None or len(asking) < len(units)
    return chosen


def test_the_heaviest_program_begins_first_and_a_process_keeps_its_program() -> None:
    units = programs(2, light=1, heavy=9, middle=5)
    assert given_out(units, "ababab") == ["heavy-0", "middle-0", "heavy-1", "middle-1", "light-0", "light-1"]


def test_a_process_without_a_program_takes_a_row_of_the_most_that_is_left() -> None:
    units = programs(4, light=1, heavy=9)
    assert given_out(units, "abbbbba")[-2:] == ["heavy-1", "heavy-2"]


def test_of_programs_that_have_begun_the_one_with_the_most_work_left_comes_first() -> None:
    order = Order([Unit("heavy", 9)] * 2 + [Unit("light", 5)] * 4)
    assert [order.next(None) for _ in range(6)] == [0, 2, 3, 4, 1, 5]


def test_a_row_of_a_process_that_is_gone_is_measured_by_another() -> None:
    order = Order(list(programs(1, heavy=9, light=1).values()))
    lost = order.next(None)
    assert lost == 0 and order.next(None) == 1 and order.next("light") is None
    order.again(lost)
    assert order.next("light") == 0
    order = Order(list(programs(3, heavy=9).values()))
    assert (order.next(None), order.next(None)) == (0, 1)
    order.again(0)
    assert order.next("heavy") == 0  # before those that have not begun


def test_equals_keep_the_catalogues_order() -> None:
    assert given_out(programs(1, b=3, a=3, c=3), "xyz") == ["b-0", "a-0", "c-0"]


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.integers(1, 5), st.integers(0, 9)), min_size=1),
    st.integers(1, 4),
)
def test_every_row_is_given_once(named: dict[str, tuple[int, int]], processes: int) -> None:
    units = [Unit(name, weight=weight) for name, (runs, weight) in named.items() for _ in range(runs)]
    order, given_to = Order(units), list[int]()
    free: list[tuple[int, int, str | None]] = [(0, process, None) for process in range(processes)]
    while len(given_to) < len(units):
        now, process, program = heapq.heappop(free)
        place = order.next(program)
        assert place is not None
        given_to.append(place)
        heapq.heappush(free, (now + 1 + units[place].weight, process, units[place].program))
    assert sorted(given_to) == list(range(len(units))) and order.next(None) is None


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_a_run_is_stored_and_shown_in_the_plans_order(
    order: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, options = planned({"runtime": ["micropython-1.20.0"], "runs": 2, "results_dir": tmp_path})
    assert len(rows) == 4

    def result(of: PlannedRow) -> Row:
        told: dict[str, Any] = {"runtime": of.entry.id, "profile": of.profile.name, "run_index": of.number - 1}
        return row(2000, **told) if of.number == 1 else missing(status="failed", reason="no", **told)

    def measure(rows: list[PlannedRow], *_: object) -> Rows:
        yield from ((rows[place], result(rows[place])) for place in order)

    monkeypatch.setattr("portbench.runner.jobs.run.measure", measure)
    with Run(rows, options) as run:
        ended = [measured for _, measured in run.measured()]
    wanted = list(map(result, rows))
    assert ended == [wanted[place] for place in order]
    assert run.run.rows == wanted == storage.read(tmp_path / "latest.json").rows
    (file,) = storage.run_files(tmp_path)
    assert storage.read(file).rows == wanted
