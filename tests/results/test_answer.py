"""The words below a table, each derived from its rows: which firmware, which line, its cost, and missing images."""

from datetime import date
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from portbench.results.answer import CODE, _lacks, flash, published_lines, why
from portbench.results.model import Offers, Row, RunFile
from portbench.results.publish import page
from portbench.results.stats import group_rows
from portbench.results.table import tables, terminal
from portbench.where import Where
from portbench.workloads import workload
from tests.results.explain import synthetic
from tests.results.rows import missing, other_row, row, run_of

OLD = Offers(released=date(2023, 1, 1), maintained=False, python="Python 1", tcp_sockets=4, tls=False, sources=["a, b"])
NEW = Offers(released=date(2025, 1, 1), maintained=True, python="Python 2", tcp_sockets=8, tls=True, sources=["c"])
BEST: dict[str, Any] = {"runtime": "old", "profile": "tuned", "line": "chip(fast)", "offers": OLD}
RUN = run_of(
    row(1000, runtime="in-c", family="native", profile="tuned", line="config(fast)"),
    row(2000, **BEST),
    row(3000, **(BEST | {"profile": "as-published", "line": "chip(slow)"})),
    row(8000, runtime="new", profile="tuned", line="lan()", offers=NEW),
    row(80_000, runtime="new", profile="as-published", line="lan(slow, pins)", offers=NEW),
    row(9000, runtime="newer", profile="tuned", line="lan()", offers=NEW),
    row(45_000, runtime="newer", profile="as-published", line="lan(slow, pins)", offers=NEW),
    row(10, runtime="unix", where="hosted"),
)


def below(run: RunFile, number: int = 0) -> list[str]:
    return list(tables(run)[number].below)


def test_the_answer_is_which_python_with_which_line_at_what_price() -> None:
    assert below(RUN) == [
        "Fastest Python: old (tuned), 2000 messages/s, 4.0 times new's best, 4.5 times newer's best.",
        f"{CODE}chip(fast)",
        "Compared with new it lacks: TCP sockets (4 instead of 8); TLS; a newer Python (Python 1"
        " of 2023 instead of Python 2 of 2025); new releases. Source: a, b.",
        "Settings make old 1.50 times as fast (2000 instead of 1333 messages/s):",
        f"{CODE}chip(fast)",
        "instead of",
        f"{CODE}chip(slow)",
        "Settings make new 10.0 times as fast (500.0 instead of 50 messages/s), newer 5.0 times as fast (444.4 instead"
        " of 88.9 messages/s):",
        f"{CODE}lan()",
        "instead of",
        f"{CODE}lan(slow, pins)",
        "Reference: in-c, which is not Python, 4000 messages/s, 2.0 times the fastest Python.",
    ]


def test_what_runs_no_python_has_no_rank_and_comes_last() -> None:
    ranks = [(line[0], line[1]) for line in tables(RUN)[0].rows]
    assert (
        ranks[0] == ("1", "old") and ranks[-1] == ("-", "in-c") and [rank for rank, _ in ranks[:-1]] == list("123456")
    )


def test_ports_on_the_pc_answer_nothing() -> None:
    assert below(RUN, 1) == [] and "nothing to flash" in tables(RUN)[1].about


def test_nothing_is_said_that_the_rows_do_not_say() -> None:
    """No price where one side is not known or lacks nothing, no factor where settings change nothing."""
    assert below(run_of(row(2000, runtime="alone"))) == ["The only Python here: alone, 2000 messages/s."]
    assert below(run_of(row(1000, runtime="in-c", family="native"))) == [
        "Reference: in-c, which is not Python, 4000 messages/s."
    ]
    lines = below(run_of(row(2000, **BEST), row(4000, runtime="unknown"), row(2001, **(BEST | {"line": "chip(x)"}))))
    assert lines == ["Fastest Python: old (tuned), 2000 messages/s, 2.00 times unknown's best.", f"{CODE}chip(fast)"]
    swapped = below(run_of(row(2000, runtime="new", offers=NEW), row(4000, runtime="old", offers=OLD)))
    assert swapped[-1] == "Compared with old it lacks nothing that is known."


def test_the_newest_maintained_firmware_is_to_be_flashed_however_fast() -> None:
    def offering(year: int, maintained: bool) -> dict[str, Any]:
        return {"released": f"{year}-01-01", "maintained": maintained, "sources": [f"https://micropython.org/{year}"]}

    rows = [
        row(1000, runtime="fast", offers=offering(2024, True)),
        row(2000, runtime="new", profile="tuned", offers=offering(2025, True)),
        row(9000, runtime="new", profile="as-published", offers=offering(2025, True)),
        row(500, runtime="unkept", offers=offering(2026, False)),
        row(500, runtime="stranger's", offers=offering(2027, True) | {"sources": ["https://github.com/stranger"]}),
    ]
    groups = group_rows(rows, "ping_pong", Where.EMULATED)
    assert flash(groups) == [
        "Flash new, the newest maintained firmware, and run it tuned: 2000 messages/s. It is at https://micropython.org/2025"
    ]
    assert below(run_of(*rows))[1] == "Compared with new it lacks: new releases. Source: https://micropython.org/2026."
    (alone,) = flash(group_rows(rows[:1], "ping_pong", Where.EMULATED))
    assert alone.startswith("Flash fast, the newest maintained firmware: 4000 messages/s.")
    assert flash(groups[:1]) == [] and groups[0].first.runtime == "unkept"


def test_settings_that_would_be_printed_alike_are_not_told() -> None:
    for total_us, told in ((2009, False), (2011, True)):
        lines = below(run_of(row(2000, **BEST), row(total_us, **(BEST | {"profile": "p", "line": "chip(slow)"}))))
        assert any(line.startswith("Settings make old 1.01 times as fast") for line in lines) is told


def test_as_many_sockets_are_no_price_and_four_others_are_named() -> None:
    alike = OLD.model_copy(update={"tcp_sockets": 8, "tls": True, "released": date(2026, 1, 1), "maintained": True})
    (told,) = _lacks(OLD.model_copy(update={"tls": None, "tcp_sockets": None, "released": date(2026, 1, 1)}), NEW)
    assert told == "new releases"  # an unknown fact is not a price
    others = [row(4000 + number, runtime=f"r{number}", offers=NEW) for number in range(6)]
    lines = below(run_of(row(2000, **(BEST | {"offers": alike})), *others))
    assert lines[0].endswith(" 2.0 times r0's best, 2.0 times r1's best, 2.0 times r2's best, 2.0 times r3's best.")
    assert lines[2] == "Compared with r0 it lacks nothing that is known."


def test_less_can_be_better() -> None:
    lines = {each: {"runtime": "fast", "profile": each, "line": f"chip({each})"} for each in "abc"}
    rows = [other_row(each, **lines[name]) for each, name in ((15, "a"), (10, "b"), (20, "c"))]
    first, code, *_, told, _, _, worst = below(run_of(other_row(30, runtime="slow"), *rows))
    assert first == "Fastest Python: fast (b), 10 us, 3.0 times slow's best."
    assert (code, told) == (f"{CODE}chip(b)", "Settings make fast 2.0 times as fast (10 instead of 20 us):")
    assert worst == f"{CODE}chip(c)"


def test_images_that_are_not_at_hand_are_one_line_and_one_to_get_them() -> None:
    def without(runtime: str, index: int = 0) -> Row:
        url = f"https://example.org/{runtime}.uf2"
        return missing(runtime, "skipped", "a long story", index, image_url=url, published=None)

    run = run_of(row(2000), without("a"), without("a", 1), without("b;`x`"), missing("c", "failed", "it fell over"))
    text = page(run)
    assert "a long story" not in text and "it fell over" in text
    assert "Without an image: a, b;`x`. All of them, into the folder that PORTBENCH_FIRMWARE_DIR names:" in text
    (command,) = (line for line in text.splitlines() if "curl" in line)
    assert command.startswith(CODE) and command.endswith(
        "curl -fL -O https://example.org/a.uf2 -O 'https://example.org/b;`x`.uf2')"
    )


def test_terminal_and_page_have_the_same_words_and_code_is_never_broken() -> None:
    output = StringIO()
    line = "chip(" + "x" * 200 + ")"
    run = run_of(row(2000, **(BEST | {"line": line})), row(4000, runtime="new", offers=NEW))
    Console(file=output, width=80).print(terminal(run, 80), crop=False)
    shown, text = output.getvalue(), page(run)
    assert f"{CODE}{line}\n" in shown and f"\n{CODE}{line}\n" in text
    for paragraph in below(run):
        assert " ".join(paragraph.split()) in " ".join(shown.split()) and paragraph in text


def test_who_published_what_is_told_with_its_link(monkeypatch: pytest.MonkeyPatch) -> None:
    (*_, told) = below(run_of(row(2000, board="W5500_EVB_PICO", runtime="a")))
    assert told == (
        "Silicon: micropython-1.20.0 3.9, circuitpython-8.2.6 11, wiznet-1.0.5 37, wiznet-2.0.0 723 messages/s,"
        " by S. Hennion, 2023-09-25: https://sjhennion.github.io/jekyll/update/2023/09/25/w5500-bootloader-speed-test.html"
    )
    assert not any("Silicon" in each for each in below(run_of(row(2000, board="RPI_PICO"))))
    known = workload("ping_pong")
    (source, *_) = known.published
    lacking = [each.model_copy(update={"figures": {}}) for each in source.firmware]
    monkeypatch.setattr(type(known), "published", (source.model_copy(update={"firmware": lacking}),))
    assert published_lines(known, group_rows([row(2000, board=source.board)], "ping_pong", Where.EMULATED)) == []


def test_the_figure_and_intn_stay_where_there_is_little_room() -> None:
    wide = {"spi_hz_asked": 2_000_000, "spi_hz_actual": 1_953_125, "intn": False, "turnaround_us": 200}
    run = run_of(
        row(2000, runtime="micropython-1.26.0", profile="as-published", version="1.26.0", conditions=wide),
        row(4000, runtime="circuitpython-9.1.4", profile="tuned", conditions=wide | {"intn": True}),
    )
    for width in (80, 120):
        output = StringIO()
        Console(file=output, width=width).print(terminal(run, width), crop=False)
        head = next(line for line in output.getvalue().splitlines() if "runtime" in line)
        assert "messages/s" in head and "INTn" in head and "spread" not in head
        assert max(map(len, output.getvalue().splitlines())) <= width


def test_a_row_without_a_profile_is_named_by_its_firmware_alone() -> None:
    one = synthetic.row({"spi_bits": 150, "pc": 50})
    rows = [one.model_copy(update={"profile": profile}) for profile in (None, "tuned")]
    groups = group_rows(rows, one.workload, one.where)
    named = [line.split(":")[0] for line in why(groups)]
    assert sorted(named) == [f"Why, {one.runtime}", f"Why, {one.runtime} tuned"]
