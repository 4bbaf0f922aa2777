"""What a guest can write of a log, and what of its text a terminal would obey."""

from __future__ import annotations

import pytest

from portbench.boards.console import BoundedLog
from portbench.console import shown


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
