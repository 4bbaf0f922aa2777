"""Tables: workloads and kinds of rows apart, ranked each by itself, unmeasured rows below; the published page."""

import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from portbench.results.histories.store import entries_of
from portbench.results.model import Git, Published, Row, RunFile, Sim
from portbench.results.publish import page
from portbench.results.stats import group_rows
from portbench.results.table import _crossed, markdown, tables, terminal
from portbench.where import Where
from tests.results.rows import START, missing, other_row, row, run_of

PUBLISHED = Published(values=[1000], source="someone")
SLOW_SPI = {"spi_hz_asked": 2_000_000, "spi_hz_actual": 1_953_125, "intn": False}


def fast(total_us: int, index: int) -> Row:
    figures = {"ready_us": 1_500_000}
    return row(total_us, index, runtime="fast", profile="tuned", published=PUBLISHED, figures=figures)


FULL = run_of(
    row(8000, runtime="slow", conditions=SLOW_SPI),
    fast(2000, 0),
    fast(2020, 1),
    row(40, runtime="unix", where="hosted", image_file=None, build="a-package", conditions={"turnaround_us": 35.2}),
    row(9000, runtime="board", where="silicon", note="board desk"),
    other_row(30, runtime="slow"),
    other_row(12.5, runtime="fast", build="mine/some.uf2"),
    other_row(99, runtime="unix", where="hosted"),
    missing("other", "skipped", "no image; provide it: curl -o 'a|b'"),
    missing("broken", "failed", "waited 5 s for <the> console", 0),
    missing("broken", "failed", "waited 5 s for <the> console", 1),
    missing("broken", "failed", "waited 5 s for <the> console", 0, workload="far_away"),
    finished_utc=START + timedelta(seconds=9),
    tools={"rich": "15", "mpremote": "1.29"},
    git=Git(revision="a" * 40, dirty=True),
)
TITLES = [
    "Ping-pong: silicon",
    "Ping-pong: emulated",
    "Ping-pong: hosted",
    "far_away: emulated",
    "far_away: hosted",
    "Not measured",
]


def cells(title: str, run: RunFile = FULL) -> list[dict[str, str]]:
    table = next(table for table in tables(run) if table.title == title)
    return [dict(zip(table.columns, line, strict=True)) for line in table.rows]


def test_workloads_and_kinds_are_apart_and_ranked_by_themselves() -> None:
    assert [table.title for table in tables(FULL)] == TITLES
    ranks = {title: [(line["rank"], line["runtime"]) for line in cells(title)] for title in TITLES[:-1]}
    assert ranks == {
        "Ping-pong: silicon": [("1", "board")],
        "Ping-pong: emulated": [("1", "fast"), ("2", "slow")],
        "Ping-pong: hosted": [("1", "unix")],
        "far_away: emulated": [("1", "fast"), ("2", "slow")],
        "far_away: hosted": [("1", "unix")],
    }


def test_emulated_boards_with_a_real_pc_are_apart_and_ranked_by_themselves() -> None:
    def bridged(total_us: float, turnaround_us: float, index: int = 0) -> Row:
        return row(total_us, index, conditions={"bridged": True, "turnaround_us": turnaround_us}, sim=None)

    run = run_of(row(8000, runtime="slow"), bridged(2000, 30.5), bridged(2100, 31.5, 1))
    simulated, real = tables(run)
    assert (simulated.title, real.title) == ("Ping-pong: emulated", "Ping-pong: emulated, real PC")
    assert "in simulated time" in simulated.about and "in simulated time" not in real.about
    assert "a program of this PC through real sockets" in real.about
    assert [line["rank"] for line in cells(simulated.title, run)] == ["1"]
    assert len(cells(real.title, run)) == 1, "a measured turnaround does not part the runs of a row"
    assert not any(entry.is_exact for entry in entries_of(run, "run.json") if (entry.conditions or {}).get("bridged"))


def test_figures_of_a_row() -> None:
    fast, slow = cells("Ping-pong: emulated")
    assert fast == {
        "rank": "1",
        "runtime": "fast",
        "version": "1.0",
        "profile": "tuned",
        "SPI MHz asked -> real": "",
        "INTn": "",
        "runs": "2",
        "messages/s": "1990",
        "spread": "1.0%",
        "round trip us": "502.5",
        "p99 us": "505.0",
        "ready ms": "1500",
        "silicon": "1000",
        "ratio": "1.99",
    }
    assert slow["SPI MHz asked -> real"] == "2 -> 1.953" and slow["INTn"] == "no" and slow["messages/s"] == "500.0"
    assert cells("Ping-pong: silicon")[0]["notes"] == "board desk"
    assert "SPI MHz asked -> real" not in cells("Ping-pong: hosted")[0]


def test_what_the_pc_has_timed_is_never_ranked_with_what_boards_have() -> None:
    own, foreign = row(2000, runtime="own"), row(1000, runtime="foreign", timed_by="pc", family="foreign")
    run = run_of(own, foreign)
    titles = ["Ping-pong: emulated", "Ping-pong: emulated, timed by the PC"]
    assert [table.title for table in tables(run)] == titles
    assert [[(line["rank"], line["runtime"]) for line in cells(title, run)] for title in titles] == [
        [("1", "own")],
        [("1", "foreign")],
    ]
    foreign_table = tables(run)[1]
    assert foreign_table.below == ()  # it answers nothing
    assert foreign_table.about.startswith(
        "Emulated boards with images that tell nothing, timed by the simulated PC: from one message's arrival to the"
        " next's."
    )


def test_a_workload_that_is_not_here_shows_every_figure() -> None:
    """A run file whose workload is not installed."""
    best, worst = cells("far_away: emulated")
    assert best == {
        "rank": "1",
        "runtime": "fast",
        "build": "mine/some.uf2",
        "version": "1.0",
        "us": "12.5",
        "hops": "7",
        "ready ms": "2000",
    }
    assert worst["us"] == "30" and worst["build"] == ""


def test_build_is_shown_where_it_says_more_than_the_file() -> None:
    assert cells("Ping-pong: hosted")[0]["build"] == "a-package"
    assert "build" not in cells("Ping-pong: emulated")[0]


def test_unstable_row_says_so_and_why() -> None:
    (line,) = cells("Ping-pong: emulated", run_of(row(4000, 0), row(4400, 1)))
    assert line["spread"] == "9.5% unstable" and line["notes"] == "unstable: runs spread by 10%"


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
        ([("a", "x")], []),
    ],
)
def test_a_matrix_has_two_values_across_or_two_runtimes(rows: list[tuple[str, str]], lines: list[Any]) -> None:
    measured = [
        row(4000 / number, runtime=name, settings={"partner": partner})
        for number, (name, partner) in enumerate(rows, 1)
    ]
    made = _crossed(group_rows(measured, "ping_pong", Where.EMULATED), "partner")
    assert [list(found) for _, _, found in made] == ([lines] if lines else [])


def test_what_was_not_measured_is_listed_with_its_reason() -> None:
    broken = {"runtime": "broken", "where": "emulated", "status": "failed", "reason": "waited 5 s for <the> console"}
    assert cells("Not measured") == [
        {
            "workload": "ping_pong",
            "runtime": "other",
            "where": "emulated",
            "status": "skipped",
            "reason": "no image; provide it: curl -o 'a|b'",
            "runs": "1",
        },
        {"workload": "ping_pong", **broken, "runs": "2"},
        {"workload": "far_away", **broken, "runs": "1"},
    ]


def test_markdown_is_well_formed() -> None:
    text = markdown(FULL)
    assert r"curl -o 'a\|b'" in text and "&lt;the> console" in text
    places = [text.index(f"## {title}") for title in TITLES]
    assert places == sorted(places)
    assert "PC turnaround 35 us." in text
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        lines = block.splitlines()
        assert len(lines) >= 3 and set(lines[1]) <= set("|:-")
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1


@given(st.text(min_size=1, max_size=40).filter(lambda text: "\n" not in text))
def test_any_text_stays_in_its_cell(reason: str) -> None:
    (block,) = re.findall(r"(?:^\|.*\n)+", markdown(run_of(missing("x", "failed", reason))), flags=re.MULTILINE)
    lines = block.split("\n")[:-1]
    assert len(lines) == 3
    assert len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines}) == 1


def test_narrow_terminal_leaves_columns_out_and_says_so() -> None:
    output = StringIO()
    Console(file=output, width=80).print(terminal(FULL, 80))
    shown = output.getvalue()
    assert max(map(len, shown.splitlines())) <= 80
    assert re.search(r"(?m)^ *1  fast +tuned ", shown) and "1990" in shown and "1.99" in shown
    assert "INTn" in shown  # it explains more of a figure than the spread does
    assert "A wider terminal also shows: version, runs, ready ms, p99 us, round trip" in " ".join(shown.split())
    for word in ("waited 5 s for <the>", "console"):
        assert word in shown


def test_run_without_rows() -> None:
    assert markdown(run_of()) == "Nothing was run.\n"
    output = StringIO()
    Console(file=output).print(terminal(run_of(), 80))
    assert output.getvalue() == "Nothing was run.\n"


def test_page_says_what_measured() -> None:
    text = page(FULL)
    assert text.startswith("# Results\n\nMeasured 2026-01-02 03:04 UTC. Made by")
    assert "CPU, 2 cores" in text and f"{'a' * 40} with local changes" in text and "mpremote 1.29, rich 15" in text
    assert "*unstable*" in text and "5%" in text
    assert "was interrupted" in page(FULL.model_copy(update={"finished_utc": None}))
