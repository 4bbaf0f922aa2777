"""Tables at any width: no cell is cut, no word broken, and a wider terminal takes no more lines."""

from io import StringIO

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from portbench.console import plain_table
from portbench.narrow import FittingTable

WORDS = st.text("abcxyz0123456789.-", min_size=1, max_size=12)
CELLS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
ROWS = st.lists(st.tuples(CELLS, WORDS, WORDS, CELLS), min_size=1, max_size=4)
WIDTHS = st.integers(40, 160)


def table(rows: list[tuple[str, ...]]) -> FittingTable:
    return plain_table("Title", ("name", "A", "B", "note"), rows, folding=("name", "note"))


def drawn(rows: list[tuple[str, ...]], width: int, left_out: int | None = None) -> list[str]:
    out, made = StringIO(), table(rows)
    made.columns = [column for number, column in enumerate(made.columns) if number != left_out]
    Console(file=out, width=width).print(made)
    return out.getvalue().splitlines()


@settings(max_examples=30)
@given(ROWS, WIDTHS, st.none() | st.integers(1, 3))
def test_each_word_is_whole_at_any_width(rows: list[tuple[str, ...]], width: int, left_out: int | None) -> None:
    lines = drawn(rows, width, left_out)
    assert max(map(len, lines)) <= width
    said = [word.rstrip(",") for line in lines for word in line.split()]
    for word in (word for row in rows for n, cell in enumerate(row) if n != left_out for word in cell.split()):
        assert word in said


def test_a_number_and_its_percent_sign_stay_together() -> None:
    rows = [("tuned", "1", "2", "slower by 7.3 %, of which code -3.6 %, layout +11.2 %")]
    for width in range(24, 70):
        assert not [line for line in drawn(rows, width) if line.strip().startswith("%")]


@settings(max_examples=30)
@given(ROWS, WIDTHS, st.integers(1, 60))
def test_a_wider_table_takes_no_more_lines(rows: list[tuple[str, ...]], width: int, more: int) -> None:
    if table(rows).fits(Console(file=StringIO(), width=width)):
        assert len(drawn(rows, width + more)) <= len(drawn(rows, width))


def test_a_narrow_terminal_gets_a_list() -> None:
    assert drawn([("before -> after tuned", "606.7", "", "no difference")], 20) == [
        "Title",
        "before -> after",
        "tuned",
        "  A 606.7, note no",
        "  difference",
    ]
