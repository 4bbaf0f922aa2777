"""Small parts of the results, each by a whole table: attribution's sums, kept histories, what this PC has."""

import importlib.metadata
import math
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import pytest

from portbench.results import publish
from portbench.results.answer import times_text
from portbench.results.attribution import Attribution, Function, Span, Spans
from portbench.results.boards_beside import _factor
from portbench.results.cells import _spi, figure
from portbench.results.chance import least_p, mean_interval, shift_of_samples
from portbench.results.compare_why import _unit
from portbench.results.environment import git_state, tool_versions
from portbench.results.explain.rules.flash import _told
from portbench.results.histories.page_blocks import fill
from portbench.results.histories.series import FigureChange
from portbench.results.histories.store import entries_of, keep_finished, load
from portbench.results.histories.table import step_said
from portbench.results.model import Status
from portbench.results.page import sections as page_sections
from portbench.results.page.drawing import colour, log_axis
from portbench.results.page.history import history_part
from portbench.results.page.parts import Cell, Value
from portbench.results.page.sections import attribution, ranking
from portbench.results.shipped import all_shipped, shipped, without_samples
from portbench.results.silicon import load as load_silicon
from portbench.results.stats import group_rows
from portbench.results.storage import RunWriter, StorageError, to_json
from portbench.results.table import panels, tables
from portbench.where import Where
from tests.results.rows import START, missing, other_row, row, run_of
from tests.results.test_silicon import USUAL, written


def test_versions_of_packages_that_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "absent":
            raise importlib.metadata.PackageNotFoundError(name)
        return f"{name} 1"

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert tool_versions(["a", "absent", "b"]) == {"a": "a 1", "b": "b 1"}
    assert tool_versions(["absent"]) == {}


def test_the_share_of_any_cause_and_group_and_of_nothing() -> None:
    spans = Spans(
        names=["message", "message"],
        start_ps=[0, 500],
        duration_ps=[400, 0],
        reported_us=[None, None],
        causes_ps={"spi_bits": [100, 0], "gap_miss": [60, 0], "code_miss": [200, 0], "unnamed": [40, 0]},
        counts={},
        interrupts={},
    )
    first, empty = spans[0], spans[1]
    shares = {
        "spi_bits": 0.25,
        "spi": 0.4,
        "code": 0.5,
        "code_miss": 0.5,
        "unnamed": 0.1,
        "network": 0.0,
        "code_run": 0.0,
    }
    assert {name: first.share(name) for name in shares} == shares
    assert first.share("spi", "code") == 0.9 and first.named_share == 0.9
    assert (empty.share("spi"), empty.named_share) == (0.0, 1.0)
    with pytest.raises(KeyError, match="nothing"):
        first.ps("nothing")
    whole = Attribution.model_construct(spans=spans, functions=[Function.model_construct(name="f")])
    assert whole.span(1).spans.duration_ps == [0] and whole.span(1).functions == []


def test_a_history_takes_the_finished_runs_that_it_lacks(tmp_path: Path) -> None:
    results, history = tmp_path / "results", tmp_path / "history"
    for total_us, finished in ((2000, True), (3000, False)):
        writer = RunWriter(run_of(), results)
        writer.append(row(total_us))
        if finished:
            writer.finish()
        writer.close()
    (one,) = keep_finished(results, history)
    assert [entry.values for entry in load(history)] == [[2000.0]]
    assert keep_finished(results, history) == [] and one.is_file()
    (tmp_path / "below").mkdir()
    page, other = tmp_path / "below" / "page.md", tmp_path / "other.md"
    page.write_text("<!-- figures: some-1.0 -->\nold\n<!-- /figures -->\n", encoding="utf-8")
    other.write_text("none\n", encoding="utf-8")
    assert fill(tmp_path, load(history)) == [page] and fill(tmp_path, load(history)) == []
    text = page.read_text(encoding="utf-8")
    assert "old" not in text and "2000" in text and text.startswith("<!-- figures: some-1.0 -->\n")


def test_a_step_in_words() -> None:
    (entry,) = entries_of(run_of(row(2000)), "0")
    said = {
        2.0: "2.00x better",
        0.5: "2.00x worse",
        1.05: "1.05x better",
        1.01: "1.0100x better",
        1 / 1.01: "1.0100x worse",
    }
    assert {times: step_said(FigureChange(entry, entry, times)) for times in said} == said


def test_shipped_figures_are_measured_rows_without_samples() -> None:
    kept = without_samples(run_of(row(2000, log="a.log"), missing("x", "skipped", "no"), finished_utc=START))
    (one,) = kept.rows
    assert (one.status, one.samples, one.log) == (Status.MEASURED, {}, None) and one.figures
    name, first = all_shipped()[0]
    assert shipped(name.removesuffix(".json")) == first and [name for name, _ in all_shipped()] == sorted(
        name for name, _ in all_shipped()
    )
    with pytest.raises(
        StorageError, match=r"^nowhere: no figures come with portbench; measure: portbench run --board nowhere$"
    ):
        shipped("nowhere")


@pytest.mark.parametrize(
    ("more", "method", "says"),
    [
        ("", "row", "workload and profile are for the method row, which needs both"),
        ('workload = "ping_pong"', "row", "workload and profile are for the method row, which needs both"),
        (USUAL["more"], "guest", "workload and profile are for the method row, which needs both"),
        ('settings = ["messages=1"]', "guest", "settings are for the methods row, client and sends; leave them out"),
        ("", "image", "built_of is for the method image, which needs it"),
        (f'built_of = "https://x at {"0" * 40}"', "guest", "built_of is for the method image, which needs it"),
        ("", "script", "scripts are for the methods script and client, which need them"),
    ],
)
def test_what_a_set_of_each_method_has(more: str, method: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=says):
        load_silicon(written(tmp_path, {"more": more, "method": method}))


@pytest.mark.parametrize("count", [1, 3, 4, 5])
def test_three_moved_functions_are_named(count: int) -> None:
    def moved(number: int) -> Any:
        one = Function.model_construct(name=f"f{number}", address="0x2", section="")
        return one, one.model_copy(update={"address": "0x1"})

    text = _told([moved(number) for number in range(count)], "flash")
    names = ", ".join(f"`f{number}` (0x2 -> 0x1)" for number in range(min(count, 3)))
    assert (
        text
        == f"; {names}{f' and {count - 3} more' if count > 3 else ''} {'run' if count > 1 else 'runs'} from flash now"
    )


def test_a_column_goes_where_the_table_is_one_character_too_wide() -> None:
    table = tables(run_of(row(1000)))[0]
    width = table._width([])
    assert table._fitting(width, "")[0] == list(table.columns)
    assert len(table._fitting(width - 1, "")[0]) == len(table.columns) - 1


def test_numbers_at_the_edges_of_their_forms() -> None:
    assert [figure(each) for each in (0.12345, 99.94, 100, 999.94, 1000)] == ["0.123", "99.9", "100.0", "999.9", "1000"]
    groups = {each: group_rows([row(4e6 / each)], "ping_pong", Where.EMULATED)[0] for each in (1, 1.994, 2, 99.94, 100)}
    assert [times_text(each, groups[1]) for each in groups.values()] == ["1.00", "1.99", "2.0", "99.9", "100"]
    assert [_factor(each) for each in (0.0994, 0.1, 9.994, 10, 123.4)] == ["0.099", "0.10", "9.99", "10", "123"]
    assert [_unit(us)[0] for us in (9_999.9, 10_000, 9_999_999, 10_000_000)] == ["us", "ms", "ms", "s"]
    asked, real = {"spi_hz_asked": 2_000_000}, {"spi_hz_actual": 1_953_125}
    clocks = [_spi(row(1, conditions=each)) for each in ({}, asked, real, asked | real)]
    assert clocks == ["", "2 -> ?", "default -> 1.953", "2 -> 1.953"]
    assert (least_p(3, 3), mean_interval([0.5]), mean_interval([2, 2])) == (0.1, (0.5,) * 3, (2,) * 3)
    axis = {"domain": [1, 10], "type": "log", "title": "x, logarithmic", "values": [1, 2, 5, 10]}
    assert log_axis(1, 10, "x") == axis
    assert "values" not in log_axis(2, 4.9, "x") and log_axis(0.9, 2, "x")["values"] == [1, 2]
    assert (colour(0), colour(7), colour(8)) == ("var(--series-1)", "var(--series-8)", "var(--series-1)")


def test_a_short_chart_is_that_of_its_rows_and_a_reference_is_not_the_fastest_python() -> None:
    rows = [other_row(lag_us, runtime=f"r{lag_us}") for lag_us in (10, 20, 900)]
    (panel,), (two,) = panels(run_of(*rows)), panels(run_of(*rows[:2]))
    assert ranking.drawing(panel, 600, 2) == ranking.drawing(two, 600)
    (panel,) = panels(run_of(other_row(1, runtime="c", family="native"), *rows))
    assert attribution._fastest(panel) == "r10" and [group.first.runtime for group in panel.groups][:2] == ["c", "r10"]


def test_only_rows_with_settings_have_a_section_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    panel: Any = Mock(is_foreign=False)
    for lines, is_foreign, has in ((["a"], False, True), ([], False, False), (["a"], True, False)):
        monkeypatch.setattr(page_sections, "more", Mock(return_value=lines))
        panel.is_foreign = is_foreign
        assert (page_sections._settings(panel) is not None) is has


@pytest.mark.parametrize(
    ("value", "text", "sorts_as"),
    [
        *((None, "", ""), ("", "", ""), ("-2.5 %", "-2.5 %", "-2.5"), ("1.2.3", "1.2.3", ""), ("-", "-", "")),
        *(("1358", "1358", "1358"), ("3.9 (1.20.0)", "3.9 (1.20.0)", "3.9"), (0.12348, "0.1235", "0.12348")),
        *((999.94, "999.9", "999.94"), (1000, "1000", "1000"), (-12345.6, "-12346", "-12345.6"), (0.0, "0", "0.0")),
    ],
)
def test_a_cell_has_its_text_and_the_number_by_which_it_sorts(value: Value, text: str, sorts_as: str) -> None:
    assert Cell.of(value) == Cell(text, sorts_as)


def test_a_difference_of_means_has_welchs_interval_of_95_percent() -> None:
    middle, low, high, p = shift_of_samples([1.0, 2.0, 4.0], [5.0, 7.0, 10.0])
    t, error = 3.0259963, math.sqrt(7 / 9 + 19 / 9)  # Student's t with 3.2976 degrees of freedom
    assert (middle, low, high) == pytest.approx((5, 5 - t * error, 5 + t * error)) and p == pytest.approx(0.05375218)


def test_spans_that_do_not_fit_together_are_refused() -> None:
    whole: dict[str, Any] = {
        "names": ["a", "b"],
        "start_ps": [7, 5],
        "duration_ps": [2, 4],
        "reported_us": [None, 3.0],
        "causes_ps": {"pc": [2, 4]},
        "counts": {"sleeps": [0, 1]},
    }
    spans = Spans(**whole)
    assert Spans().total() == Span("total", 0, 0, None, {}, {}, {}, {})
    assert spans.total() == Span("total", 5, 6, 3.0, {"pc": 6}, {"sleeps": 1}, {}, {}) and spans[0].counts == {}
    assert spans.some([0]).total().reported_us is None and spans.named("b") == spans.some([1]) and len(spans) == 2
    for change, says in (
        ({"names": ["a"]}, "1 spans, but a list of 2 entries"),
        ({"counts": {"sleeps": [1]}}, "2 spans, but a list of 1 entries"),
        ({"causes_ps": {"moon": [2, 4]}}, "'moon' is not a cause"),
        ({"causes_ps": {"pc": [2, 3]}}, "the causes of span 2 add up to 3 ps, not 4"),
    ):
        with pytest.raises(ValueError, match=says):
            Spans(**(whole | change))
    regions = [Function.model_construct(address=f"0x{digit}0000000").region for digit in "1203"]
    assert regions == ["flash", "SRAM", "ROM", "ROM"]


def test_git_that_is_absent_or_slow_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Mock(
        side_effect=[subprocess.TimeoutExpired("git", 10), Mock(returncode=0, stdout="")] + [FileNotFoundError()] * 2
    )
    monkeypatch.setattr(subprocess, "run", run)
    assert git_state(tmp_path) is git_state(tmp_path) is None
    command = ["git", "--no-optional-locks", "-C", str(tmp_path), "rev-parse", "HEAD"]
    assert run.mock_calls[0] == call(command, capture_output=True, text=True, timeout=10.0, check=False)


def test_a_page_is_written_if_it_changes_and_its_lost_rows_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, page = run_of(*(row(2000 + each, runtime=f"r{each}") for each in range(6))), tmp_path / "new" / "page.md"
    publish.publish(run, [page])
    says = r"page\.md: has ping_pong emulated r1, ping_pong emulated r2, ping_pong emulated r3 and 2 more, which this"
    with pytest.raises(StorageError, match=says):
        publish.publish(run.model_copy(update={"rows": run.rows[:1]}), [page])
    page.write_text("<!-- results -->\n<!-- /results -->\n<!-- results -->\n<!-- /results -->\n", encoding="utf-8")
    publish.into(run, page)
    assert page.read_text(encoding="utf-8").endswith("<!-- /results -->\n<!-- results -->\n<!-- /results -->\n")
    monkeypatch.setattr(publish, "write", Mock(side_effect=AssertionError))
    publish.into(run, page)
    page.write_text("no place", encoding="utf-8")
    with pytest.raises(
        StorageError, match="has no place for a table; put <!-- results --> and <!-- /results --> where"
    ):
        publish.into(run, page)


@pytest.mark.parametrize(
    ("name", "content", "lost"),
    [
        ("a.md", None, []),
        ("a.json", None, []),
        ("a.md", b"", []),
        ("a.md", b"<!-- rows:  -->", []),
        ("a.md", b"\xff\n<!-- rows: a, ping_pong emulated here, b -->\n", ["a", "b"]),
        ("a.JSON", to_json(run_of(row(1, runtime="b"), row(1, runtime="here"))).encode(), ["ping_pong emulated b"]),
    ],
)
def test_the_rows_that_a_page_would_lose(name: str, content: bytes | None, lost: list[str], tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert publish.lacking(run_of(row(1, runtime="here")), tmp_path / name) == lost


def test_a_pages_form_is_asked_for_by_its_names_end(monkeypatch: pytest.MonkeyPatch) -> None:
    run, ends = (
        run_of(row(2000)),
        {"a.html": "html", "A.HTM": "html", "a.svg": "chart", "a.json": "to_json", "a": "page"},
    )
    for name in ("html", "chart", "to_json", "page", "preview"):
        monkeypatch.setattr(publish, name, Mock(return_value=name))
    assert {each: publish._text(run, Path(each), (), "", ()) for each in ends} == ends
    pictures = [publish._preview(run, Path(each)) for each in ("a/b.HTML", "b.htm", "b.md")]
    assert pictures == [{Path("a/b.png"): "preview"}, {Path("b.png"): "preview"}, {}]
    assert publish._preview(run_of(), Path("b.html")) == {}


def test_a_chart_of_a_history_has_ten_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portbench.results.page.parts.drawings", lambda draw: ("", ""))
    rows = [row(2000, runtime=f"r{each}") for each in range(21)]
    runs = [run_of(*rows).model_copy(update={"started_utc": START + timedelta(days=day)}) for day in range(2)]
    part = history_part([entry for day, run in enumerate(runs) for entry in entries_of(run, str(day))])
    assert part is not None
    (section,) = part.sections
    assert [len(chart.legend) for chart in section.charts] == [10, 10, 1]
