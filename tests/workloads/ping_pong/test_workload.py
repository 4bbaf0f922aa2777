"""Checks of a ping-pong's result, and the figures that follow from it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from portbench.workloads import BadResult, Measurement, workload
from portbench.workloads.ping_pong.workload import MAX_MESSAGES, Settings

PING_PONG = workload("ping_pong")
GOOD: dict[str, Any] = {"messages": 4, "total_us": 2000, "round_trip_us": [500, 499, 501, 500], "ready_us": 7}


def check(**changes: Any) -> Measurement:
    return PING_PONG.check(GOOD | changes, Settings(messages=4))


def test_figures_and_samples() -> None:
    assert check() == Measurement({"total_us": 2000, "messages_per_s": 2000.0}, {"round_trip_us": [500, 499, 501, 500]})


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"messages": 5}, "the client measured 5 messages, not 4"),
        ({"round_trip_us": [500]}, "the client reports 1 round trips for 4 messages"),
        ({"round_trip_us": [500, 500, 500, 501]}, "round trips add up to 2001 us, more than its total 2000 us"),
        ({"round_trip_us": [1, 2, 3, -4]}, "the client's round_trip_us[3] is -4, not greater than or equal to 0"),
        ({"round_trip_us": [1, 2, 3, 4.5]}, "the client's round_trip_us[3] is 4.5, not a valid integer"),
        ({"round_trip_us": None}, "the client's round_trip_us is None, not a valid list"),
        ({"total_us": 0}, "the client's total_us is 0, not greater than or equal to 1"),
        ({"total_us": "2000"}, "the client's total_us is '2000', not a valid integer"),
        ({"total_us": True}, "the client's total_us is True, not a valid integer"),
        ({"total_us": 10**400}, "less than or equal to"),
        ({"messages": 0}, "the client's messages is 0, not greater than or equal to 1"),
    ],
)
def test_figures_that_cannot_be(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(BadResult) as caught:
        check(**changes)
    assert says in str(caught.value) and "\n" not in str(caught.value)


@given(st.dictionaries(st.sampled_from(sorted(GOOD)), st.integers() | st.text() | st.lists(st.integers())))
def test_any_result_is_measured_or_refused_in_one_line(result: dict[str, Any]) -> None:
    try:
        measured = PING_PONG.check(GOOD | result, Settings(messages=4))
    except BadResult as error:
        assert "\n" not in str(error)
    else:
        assert measured.figures["messages_per_s"] > 0 and len(measured.samples["round_trip_us"]) == 4


@pytest.mark.parametrize("messages", [0, -1, 1_000_001])
def test_settings_have_a_range(messages: int) -> None:
    with pytest.raises(ValidationError):
        Settings(messages=messages)


def test_published_totals_become_the_headline() -> None:
    assert PING_PONG.derive({"total_us": 1_383_000}, Settings(messages=1000)) == {
        "total_us": 1_383_000,
        PING_PONG.headline.name: 1000e6 / 1_383_000,
    }


def test_its_columns_are_of_what_it_measures() -> None:
    measured = check()
    known = measured.figures.keys() | measured.samples.keys()
    assert {column.of for column in PING_PONG.columns} | {PING_PONG.drifting} <= known


def test_the_ideal_client_has_the_conversation() -> None:
    conversation = PING_PONG.conversation(100)
    exchanges = list(PING_PONG.ideal_client(1000))
    assert len(exchanges) == 1000 == PING_PONG.exchanges(Settings(messages=1000))
    assert [conversation.receive(sent) for sent, _ in exchanges] == [answer for _, answer in exchanges]
    conversation.eof()
    assert conversation.exchanges == 1000


@pytest.mark.parametrize(("family", "most"), MAX_MESSAGES.items())
def test_a_device_has_room_for_so_many_round_trips(family: str, most: int) -> None:
    PING_PONG.check_room(family, Settings(messages=most))
    says = rf"^messages is {most + 1}: a board with {family} has room for {most} round trips$"
    with pytest.raises(ValueError, match=says):
        PING_PONG.check_room(family, Settings(messages=most + 1))


def test_a_pc_has_room_for_all() -> None:
    for family in ("hosted", "blinka"):
        PING_PONG.check_room(family, Settings(messages=1_000_000))
    assert PING_PONG.native_settings(Settings(messages=7)) == [7]
