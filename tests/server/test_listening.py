"""The line that says where a client listens."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.server.listening import LISTENING_PREFIX, Listening, parse_listening

THERE = Listening(IPv4Address("192.168.50.100"), 80)
LINE = 'PORTBENCH-LISTENING {"address": "192.168.50.100", "port": 80}'


@pytest.mark.parametrize("line", [LINE, f"\x1b]0;title\x1b\\{LINE}", f"{LINE}\r", f"{LINE} and more"])
def test_it_may_have_text_around_it(line: str) -> None:
    assert parse_listening(line) == THERE and str(THERE) == "192.168.50.100:80"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "PORTBENCH {}",
        LINE[:-1],
        f"{LISTENING_PREFIX}80",
        f'{LISTENING_PREFIX}{{"port": 80}}',
        LINE.replace("80}", "0}"),
        LINE.replace("80}", "65536}"),
        LINE.replace("80}", '"80"}'),
        LINE.replace("192.168.50.100", "the board"),
        LISTENING_PREFIX + "[" * 100_000,
    ],
)
def test_other_lines_and_damaged_ones_say_nothing(line: str) -> None:
    assert parse_listening(line) is None


@given(st.text())
def test_no_line_is_too_strange(text: str) -> None:
    parse_listening(text)
    parse_listening(LISTENING_PREFIX + text)
