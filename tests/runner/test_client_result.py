"""Result lines are input: figures that cannot be are refused, whatever they are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.runner.client_result import ClientResult, RunFailed, check_result

GOOD: dict[str, Any] = {
    "messages": 3,
    "total_us": 3100,
    "round_trip_us": [1000, 1000, 1001],
    "ready_us": 5,
    "intn": True,
}


def test_a_good_line_keeps_its_figures() -> None:
    result = check_result(GOOD | {"spi_hz_actual": 2_000_000, "address": "10.0.0.2"}, 3)
    assert (result.total_us, result.round_trip_us, result.ready_us) == (3100, [1000, 1000, 1001], 5)
    assert (result.spi_hz_actual, result.address, result.intn, result.link_us) == (2_000_000, "10.0.0.2", True, None)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"error": "OSError(13)", "stage": "connect"}, r"the client failed in stage connect: OSError\(13\)$"),
        ({"error": "x", "last_connect_error": 111}, "the client failed in stage unknown: x, last refused with 111$"),
        ({"messages": 2}, "measured 2 messages, not 3"),
        ({"messages": True}, "messages is True, not a whole number of 1 or more"),
        ({"messages": None}, "messages is None, not a whole number"),
        ({"total_us": 0}, "total_us is 0, not a whole number of 1 or more"),
        ({"total_us": 1.5}, "total_us is 1.5, not a whole number"),
        ({"round_trip_us": [1, 2]}, "reports 2 round trips for 3 messages"),
        ({"round_trip_us": [1, 2, -3]}, "round_trip_us is no list of whole numbers"),
        ({"round_trip_us": None}, "round_trip_us is no list of whole numbers"),
        ({"round_trip_us": [1000, 1000, 2000]}, "add up to 4000 us, more than its total 3100 us"),
        ({"ready_us": -1}, "ready_us is -1, not a whole number of 0 or more"),
    ],
)
def test_a_bad_line_says_what_is_wrong(change: dict[str, Any], says: str) -> None:
    with pytest.raises(RunFailed, match=says):
        check_result(GOOD | change, 3)


def test_no_line_at_all() -> None:
    with pytest.raises(RunFailed, match="no result line came"):
        check_result(None, 3)


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*GOOD, "error", "stage", "address", "spi_hz_actual"]), _ANY))
def test_anything_is_a_result_or_a_failed_run(change: dict[str, Any]) -> None:
    try:
        result = check_result(GOOD | change, 3)
    except RunFailed as error:
        assert "\n" not in str(error) or "\n" in repr(change) or "error" in change
    else:
        assert isinstance(result, ClientResult) and len(result.round_trip_us) == result.messages == 3
