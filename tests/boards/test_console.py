"""Console lines and the result line, however the bytes arrive."""

import json
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards import ASK_FOR_RESULT, Console, parse_result
from portbench.boards import console as console_module
from portbench.boards.console import BoundedLog
from portbench.console import shown


def test_lines_and_result() -> None:
    seen: list[str] = []
    console = Console(seen.append)
    console.feed(b'hello\r\nPORTBENCH {"messages": 3}\r\n>>> ')
    assert console.lines == seen == ["hello", 'PORTBENCH {"messages": 3}']
    assert console.result == {"messages": 3}
    assert console.tail(2) == ['PORTBENCH {"messages": 3}', ">>> "]
    assert console.tail(0) == []
    console.end()
    assert console.lines[-1] == ">>> "


def test_an_escape_sequence_before_the_result_does_not_hide_it() -> None:
    assert parse_result('\x1b]0;code.py\x1b\\PORTBENCH {"a": 1}\x1b]0;Done\x1b\\') == {"a": 1}


def test_a_damaged_or_foreign_line_is_no_result() -> None:
    for line in ('PORTBENCH {"a": ', "PORTBENCH [1]", "PORTBENCH", "portbench {}", "PORTBENCH " + "[" * 100_000):
        assert parse_result(line) is None


def test_asking_again_is_one_line_of_python() -> None:
    compile(ASK_FOR_RESULT, "ask", "exec")


@given(st.binary(), st.lists(st.integers(0, 200)))
def test_splitting_the_bytes_elsewhere_changes_nothing(data: bytes, cuts: list[int]) -> None:
    whole, pieces = Console(), Console()
    whole.feed(data)
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    for start, end in pairwise(places):
        pieces.feed(data[start:end])
    assert pieces.lines == whole.lines and pieces.tail(5) == whole.tail(5)


@given(st.text())
def test_any_text_parses_or_is_no_result(text: str) -> None:
    result = parse_result("PORTBENCH " + text)
    assert result is None or isinstance(result, dict)


_JSON = st.dictionaries(
    st.text(max_size=8), st.integers() | st.text() | st.lists(st.integers(0, 2**32 - 1)), max_size=5
)


@given(_JSON)
def test_every_result_survives_the_line(result: dict[str, Any]) -> None:
    console = Console()
    console.feed(b"PORTBENCH " + json.dumps(result).encode() + b"\r\n")
    assert console.result == result


def test_of_a_flood_the_last_lines_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_module, "MOST_CHARACTERS", 730)  # ten lines of nine characters
    heard: list[str] = []
    console = Console(heard.append)
    for number in range(1000):
        console.feed(b"%09d\n" % number)
        assert len(console.lines) <= 20
    assert console.lines[-10:] == [f"{number:09d}" for number in range(990, 1000)] and len(heard) == 1000
    console.feed(b"x" * 2000 + b"\n")
    assert console.lines == ["x" * 2000]


@pytest.mark.parametrize("line", [b"", b"ab", b"0123456789"])
def test_short_lines_take_little_memory_however_many_they_are(line: bytes) -> None:
    """A line of Python takes some 60 bytes beside its characters."""
    console = Console()
    flood = (line + b"\n") * (1 << 16)
    for _ in range(8 if line else 32):
        console.feed(flood)
    assert len(console.lines) < (10 << 20) / 60
    assert sum(map(sys.getsizeof, console.lines)) + sys.getsizeof(console.lines) < 16 << 20


def test_a_line_without_an_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_module, "MOST_LINE_BYTES", 100)
    console = Console()
    for _ in range(25):
        console.feed(b"ten bytes ")
    console.end()
    assert [len(line) for line in console.lines] == [110, 110, 30]


def test_what_has_no_room_is_counted() -> None:
    lines: list[str] = []
    log = BoundedLog(lines.append, room=20)
    for _ in range(1000):
        log.line("123456789")
    log.note("# ours")
    log.end()
    log.end()
    assert lines == [
        "123456789",
        "123456789",
        "# ours",
        "# left out: 998 lines, 8982 characters; this log takes 20 characters",
    ]


def test_nothing_left_out_is_nothing_said() -> None:
    lines: list[str] = []
    log = BoundedLog(lines.append, room=20)
    log.line("all of it")
    log.end()
    assert lines == ["all of it"]


def test_a_new_beginning_has_room_again() -> None:
    lines: list[str] = []
    log = BoundedLog(lines.append, room=4)
    for _ in range(2):
        log.line("flood")
        log.restart()
        log.line("ok")
    assert lines[0].startswith("# left out: 1 lines, 5 characters") and lines.count("ok") == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain, tab\t, é, 漢", "plain, tab\t, é, 漢"),
        ("\x1b]0;title\x07\x1b[2J", "\\x1b]0;title\\x07\\x1b[2J"),
        ("two\r\nlines\x0b\x0c\x00\x7f", "two\\x0d\\x0alines\\x0b\\x0c\\x00\\x7f"),
        ("\x9b2J and \x85", "\\x9b2J and \\x85"),
        ("a\u202eb\u2028c", "a\\u202eb\\u2028c"),
        (b"\xfc.uf2".decode("utf-8", "surrogateescape"), "\\xfc.uf2"),
        ("\ud800", "\\ud800"),
    ],
)
def test_control_characters_are_shown_and_not_sent(text: str, expected: str) -> None:
    assert shown(text) == expected
    shown(text).encode("utf-8")
