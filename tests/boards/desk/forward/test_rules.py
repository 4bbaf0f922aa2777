"""Rules as people write them."""

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards.desk.forwards import ForwardRule, parse_rule

BINDS = st.one_of(st.just("127.0.0.1"), st.ip_addresses().map(str))
RULES = st.builds(
    ForwardRule,
    st.sampled_from(["tcp", "udp"]),
    st.integers(0, 65535),
    st.integers(1, 65535),
    BINDS,
    st.none() | st.ip_addresses(v=4),
)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("tcp:8080:80", ForwardRule("tcp", 8080, 80)),
        ("udp:0:53", ForwardRule("udp", 0, 53)),
        ("tcp:0.0.0.0:8080:80", ForwardRule("tcp", 8080, 80, "0.0.0.0")),
        ("tcp:8080:192.168.50.10:80", ForwardRule("tcp", 8080, 80, address=IPv4Address("192.168.50.10"))),
        (
            "tcp:127.0.0.2:8080:192.168.50.10:80",
            ForwardRule("tcp", 8080, 80, "127.0.0.2", IPv4Address("192.168.50.10")),
        ),
        ("tcp:[::1]:8080:80", ForwardRule("tcp", 8080, 80, "::1")),
    ],
)
def test_the_forms_of_a_rule(text: str, rule: ForwardRule) -> None:
    assert parse_rule(text) == rule and str(rule) == text


@given(RULES)
def test_what_is_written_is_read_back(rule: ForwardRule) -> None:
    assert parse_rule(str(rule)) == rule


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("8080:80", "'8080' is neither tcp nor udp"),
        ("tcp:80", "has not two ports"),
        ("tcp:0.0.0.0:80", "has not two ports"),
        ("tcp:0.0.0.0:1:1.2.3.4:2:3", "has not two ports"),
        ("tcp:[::1:80:80", "has not two ports"),
        ("tcp:1::2", "has not two ports"),
        ("tcp:8080:80:90", "Expected 4 octets in '80'"),
        ("tcp:localhost:8080:80", "'localhost' does not appear to be an IPv4 or IPv6 address"),
        ("tcp:8080:80 ", "'80 ' is not a port from 1 to 65535"),
        ("tcp:8080:0", "'0' is not a port from 1 to 65535"),
        ("tcp:8080:65536", "'65536' is not a port from 1 to 65535"),
        ("tcp:65536:80", "'65536' is not a port from 0 to 65535"),
        ("udp:1000000:80", "'1000000' is not a port from 0 to 65535"),
        ("udp:0065536:80", "'0065536' is not a port from 0 to 65535"),
        (f"udp:80:{'9' * 5000}", f"'{'9' * 5000}' is not a port from 1 to 65535"),
    ],
)
def test_what_is_wrong_is_told_to_the_letter(text: str, why: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_rule(text)
    form = "PROTOCOL:[BIND:]PORT:[ADDRESS:]BOARD_PORT, such as tcp:8080:80"
    assert str(caught.value) == f"{text!r}: {why}; use {form}"
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_the_last_port_is_one() -> None:
    assert parse_rule("udp:65535:65535") == ForwardRule("udp", 65535, 65535)
    assert parse_rule("udp:1:1") == ForwardRule("udp", 1, 1)


@given(st.text(alphabet="tcpud:[].0123456789-²", max_size=40))
def test_any_text_is_a_rule_or_a_value_error(text: str) -> None:
    try:
        rule = parse_rule(text)
    except ValueError as error:
        assert repr(text) in str(error)
    else:
        assert parse_rule(str(rule)) == rule
