"""Which connection a PC opens next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.workloads import Caller, Conversation


class Silent(Conversation):
    def receive(self, data: bytes) -> bytes:
        return b""

    def eof(self) -> None:
        """Whenever the board likes."""


def test_one_after_the_other() -> None:
    caller = Caller(Silent, 2)
    first = caller.begin()
    assert first is not None and caller.begin() is None and not caller.over
    caller.ended(good=True)
    second = caller.begin()
    assert second is not None and second is not first and caller.begin() is None
    caller.ended(good=True)
    assert caller.over and caller.begin() is None


def test_no_other_follows_one_that_failed() -> None:
    caller = Caller(Silent, 5, at_once=2)
    assert caller.begin() is not None and caller.begin() is not None
    caller.ended(good=False)
    assert caller.begin() is None and not caller.over
    caller.ended(good=True)
    assert caller.begin() is None and caller.over


def test_a_farewell_waits_until_all_others_are_over() -> None:
    class Farewell(Silent):
        """The last one's."""

    caller = Caller(Silent, 2, at_once=2, farewell=Farewell)
    assert caller.connections == 3 and type(caller.begin()) is Silent and type(caller.begin()) is Silent
    caller.ended(good=True)
    assert caller.begin() is None and not caller.over
    caller.ended(good=True)
    assert not caller.over and type(caller.begin()) is Farewell
    caller.ended(good=True)
    assert caller.over and caller.begin() is None


def test_no_farewell_after_a_failure() -> None:
    caller = Caller(Silent, 1, farewell=Silent)
    caller.begin()
    caller.ended(good=False)
    assert caller.over and caller.begin() is None


def test_no_more_at_once_than_there_are() -> None:
    assert Caller(Silent, 2, at_once=5).at_once == 2


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"connections": 0}, "a caller's connections is 0; use 1 or more"),
        ({"connections": 1, "at_once": 0}, "a caller's at_once is 0; use 1 or more"),
        ({"connections": 1, "pause_us": -1}, "a caller's pause_us is -1; use 0 or more"),
    ],
)
def test_a_caller_that_could_not_be(values: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=f"^{says}$"):
        Caller(Silent, **values)


def test_an_end_without_a_beginning() -> None:
    with pytest.raises(ValueError, match="no connection is open"):
        Caller(Silent, 1).ended(good=True)


@given(st.integers(1, 20), st.integers(1, 5), st.lists(st.sampled_from(["begin", "good", "bad"])))
def test_whatever_happens_in_whatever_order(connections: int, at_once: int, events: list[str]) -> None:
    caller = Caller(Silent, connections, at_once=at_once)
    begun = open_now = 0
    failed = False
    for event in events:
        if event == "begin":
            may = not failed and begun < connections and open_now < at_once
            assert (caller.begin() is not None) == may
            begun, open_now = begun + may, open_now + may
        elif open_now:
            caller.ended(good=event == "good")
            failed, open_now = failed or event == "bad", open_now - 1
        assert caller.over == (open_now == 0 and (failed or begun == connections))
