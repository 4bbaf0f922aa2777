"""Tables: matrices, unmeasured rows, Markdown of any text, and what a narrow terminal leaves out."""

import re
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from portbench.results.histories.store import entries_of
from portbench.results.model import Published, Row, RunFile, Sim
from portbench.results.stats import group_rows
from portbench.results.table import _crossed, markdown, tables, terminal
from portbench.where import Where
from tests.results.rows import missing, other_row, row, run_of

PUBLISHED, READY = Published(values=[1000], source="someone"), {"ready_us": 1_500_000}
FULL = run_of(
    row(8000, runtime="slow", conditions={"spi_hz_asked": 2_000_000, "spi_hz_actual": 1_953_125, "intn": False}),
    *(row(2000 + 20 * n, n, runtime="fast", profile="tuned", published=PUBLISHED, figures=READY) for n in range(2)),
    row(40, runtime="unix", where="hosted", image_file=None, build="a-package", conditions={"turnaround_us": 35.2}),
    row(9000, runtime="board", where="silicon", note="board desk"),
    other_row(30, runtime="slow"),
    other_row(12.5, runtime="fast", build="mine/some.uf2"),
    other_row(99, runtime="unix", where="hosted"),
    missing("other", "skipped", "no image; provide it: curl -o 'a|b'"),
    missing("broken", "failed", "waited 5 s for <the> console", 0),
    missing("broken", "failed", "waited 5 s for <the> console", 1),
    missing("broken", "failed", "waited 5 s for <the> console", 0, workload="far_away"),
)


def cells(title: str, run: RunFile = FULL) -> list[dict[str, str]]:
    table = next(table for table in tables(run) if table.title == title)
    return [dict(zip(table.columns, line, strict=True)) for line in table.rows]


def test_an_emulated_row_that_an_earlier_file_calls_bridged_is_a_hosted_one() -> None:
    def bridged(total_us: float, turnaround_us: float, index: int = 0, **more: Any) -> Row:
        return row(total_us, index, conditions={"bridged": True, "turnaround_us": turnaround_us}, **more)

    run = run_of(bridged(8000, 200, runtime="slow", sim=Sim()), bridged(2000, 30.5), bridged(2100, 31.5, 1))
    assert [table.title for table in tables(run)] == ["Ping-pong: emulated", "Ping-pong: hosted"]
    assert len(cells("Ping-pong: hosted", run)) == 1, "a measured turnaround does not part the runs of a row"
    assert [entry.is_exact for entry in entries_of(run, "run.json")] == [True, False]


def test_rows_that_differ_are_never_called_exact() -> None:
    """A hosted port brings its simulated counters along, and is timed by the PC's clock all the same."""
    hosted = [row(4e6 / each, index, where="hosted", sim=Sim()) for index, each in enumerate((412, 417, 352))]
    (line,) = cells("Ping-pong: hosted", run_of(*hosted))
    assert line["spread"] == "15.8% unstable"


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([("a", "x"), ("b", "x")], [("a", "1000"), ("b", "2000")]),
        ([("a", "x"), ("a", "y")], [("a", "1000", "2000")]),
        ([("a", "x"), ("b", "y")], [("a", "1000", "-"), ("b", "-", "2000")]),
        ([("a", "x"), ("b", "")], [("a", "-", "1000"), ("b", "2000", "-")]),
        ([("a", "x")], []),
    ],
)
def test_a_matrix_has_two_values_across_or_two_runtimes(rows: list[tuple[str, str]], lines: list[Any]) -> None:
    measured = [
        row(4000 / number, runtime=name, settings={"partner": partner} if partner else {})
        for number, (name, partner) in enumerate(rows, 1)
    ]
    made = _crossed(group_rows(measured, "ping_pong", Where.EMULATED), "partner")
    assert [list(found) for _, _, found in made] == ([lines] if lines else [])


@given(st.text(min_size=1, max_size=40).filter(lambda text: "\n" not in text))
def test_any_text_stays_in_its_cell(reason: str) -> None:
    (block,) = re.findall(r"(?:^\|.*\n)+", markdown(run_of(missing("x", "failed", reason))), flags=re.MULTILINE)
    lines = block.split("\n")[:-1]
    assert len(lines) == 3
    assert len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines}) == 1


def test_run_without_rows() -> None:
    assert markdown(run_of()) == "Nothing was run.\n"
    output = StringIO()
    Console(file=output).print(terminal(run_of(), 80))
    assert output.getvalue() == "Nothing was run.\n"
