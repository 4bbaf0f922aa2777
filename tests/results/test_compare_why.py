"""Why two rows differ, where their time was attributed."""

from datetime import UTC, datetime

import pytest

from portbench.results.attribution import Function
from portbench.results.compare import Comparison, compare
from portbench.results.compare_table import as_data, markdown
from portbench.results.compare_why import lacks_reasons, reasons, why
from portbench.results.model import Row, RunFile, Sim
from tests.results.explain import synthetic
from tests.results.rows import MACHINE


def run(row: Row, rate: float, **changes: object) -> RunFile:
    exact = {"figures": {"rate": rate}, "sim": Sim(), **changes}
    return RunFile(started_utc=datetime(2026, 1, 2, tzinfo=UTC), machine=MACHINE, rows=[row.model_copy(update=exact)])


@pytest.fixture
def slower() -> Comparison:
    before = synthetic.row({"spi_bits": 100, "code_run": 40, "pc": 60}, counts={"instructions": 5000, "spi_frames": 9})
    after = synthetic.row({"spi_bits": 103, "code_run": 49, "pc": 60}, counts={"instructions": 6125, "spi_frames": 9})
    (found,) = compare(run(before, 5000.0), run(after, 1e6 / 212))
    return found


@pytest.mark.parametrize(
    ("before_us", "after_us", "said"),
    [
        (20_000, 21_200, "21.20 ms in place of 20.00: +1.20 ms"),
        (20_000_000, 21_200_000, "21.20 s in place of 20.00: +1.20 s"),
        (9_000, 21_000, "21.00 ms in place of 9.00: +12.00 ms"),
    ],
)
def test_long_times_are_told_in_the_unit_that_reads_best(before_us: int, after_us: int, said: str) -> None:
    before, after = (synthetic.row({"pc": us}) for us in (before_us, after_us))
    (found,) = compare(run(before, 1e6 / before_us), run(after, 1e6 / after_us))
    told = why(found)
    assert told is not None and told.sentences[0].startswith(f"a message takes {said} network and PC")


def test_network_time_that_one_row_hides_is_no_cause() -> None:
    """The wire takes as long in both rows. The board waits for it in one of ten messages more, or less."""
    rows = [
        synthetic.row({"code_run": 200, "pc": 20, "wire_to_pc": 10}, counts={"hidden_ps": 60e6}),
        synthetic.row({"code_run": 196, "pc": 26, "wire_to_pc": 14}, counts={"hidden_ps": 51e6}),
    ]
    for (before, after), told, signs, told_us in (
        (rows, "hid before", "+-+", ("60.00", "51.00", "-9.00")),
        (rows[::-1], "hides now", "-+-", ("51.00", "60.00", "+9.00")),
    ):
        found = why(compare(run(before, 2.0), run(after, 1.0))[0])
        assert found is not None and found.sentences[0].partition(": ")[2].split(", ") == [
            f"{signs[0]}9.00 us of network and PC that the board's work {told}",
            f"{signs[1]}4.00 us interpreter and C code: execution",
            f"{signs[2]}0.60 us network and PC: the PC prepares its answer",
        ]
        hidden = ("beside it, network and PC that the board's work hides", *told_us)
        assert found.lines[-2][0] == "all" and found.lines[-1] == hidden


def test_causes_of_less_than_a_two_thousandth_are_left_out() -> None:
    """The share is that of the interval, in both rows."""
    before = synthetic.row({"pc": 9990, "spi_bits": 4, "code_run": 6})
    after = synthetic.row({"pc": 9991, "spi_bits": 4, "code_run": 1})
    (found,) = reasons(compare(run(before, 100.0), run(after, 99.0)))
    assert [line[0] for line in found.lines] == [
        "interpreter and C code: execution",
        "network and PC: the PC prepares its answer",
        "all",
    ]


def test_a_cause_counts_by_its_share_of_the_first_row() -> None:
    rows = [synthetic.row({"pc": pc_us, "spi_bits": 2}) for pc_us in (2000, 200_000)]
    for (before, after), told in ((rows, True), (rows[::-1], False)):
        found = why(compare(run(before, 2.0), run(after, 1.0))[0])
        assert found is not None and (found.causes[0].title == "SPI: bits on the bus") is told


def test_rows_without_an_attribution_say_how_to_get_one(slower: Comparison) -> None:
    plain = synthetic.row({"pc": 60})
    (found,) = compare(run(plain, 10.0, attribution=None), run(plain, 9.0, attribution=None))
    assert why(found) is None and reasons([found]) == [] and lacks_reasons([found]) and not lacks_reasons([slower])
    assert as_data([found], None)[0]["why"] is None and "Why" not in markdown([found], None)


def test_rows_that_are_the_same_need_no_reason() -> None:
    plain = synthetic.row({"pc": 60})
    (found,) = compare(run(plain, 10.0, attribution=None), run(plain, 10.0, attribution=None))
    assert reasons([found]) == [] and not lacks_reasons([found])


def _function(name: str, misses: int) -> Function:
    return Function(name=name, address="0x10001000", bytes=64, misses=misses, known_by="elf")


def test_misses_are_told_by_function_where_both_have_names_else_by_page(slower: Comparison) -> None:
    def with_misses(named: bool, **misses: int) -> Row:
        row = synthetic.row({"code_miss": sum(misses.values())})
        assert row.attribution is not None
        functions = [_function(name, count) for name, count in misses.items()] if named else []
        pages = row.attribution.flash_pages.model_copy(update={"misses": {"0x10001000": 3 + sum(misses.values())}})
        spans = {"flash_pages": pages, "functions": functions}
        return row.model_copy(update={"attribution": row.attribution.model_copy(update=spans)})

    def told(before: Row, after: Row) -> list[tuple[str, ...]]:
        (found,) = compare(run(before, 5000.0), run(after, 4000.0))
        reason = why(found)
        assert reason is not None
        return reason.miss_lines

    one, other = with_misses(True, f=4, g=30, h=7), with_misses(True, f=40, g=20, h=7)
    assert told(one, other) == [("f", "0.4", "4.0", "+3.6"), ("g", "3.0", "2.0", "-1.0")]
    assert told(with_misses(True, f=4, g=30), with_misses(True, f=10, g=0)) == [
        ("g", "3.0", "0.0", "-3.0"),
        ("f", "0.4", "1.0", "+0.6"),
    ]
    assert told(with_misses(False, f=4), other) == [("page 0x10001000", "0.7", "7.0", "+6.3")]
    (found,) = compare(run(one, 5000.0), run(other, 4000.0))
    assert "| f " in markdown([found], None)
    assert as_data([found], None)[0]["why"]["misses"][0] == {"place": "f", "misses": [0.4, 4.0]}
