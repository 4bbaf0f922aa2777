"""Which connection a PC opens next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.workloads import Conversation, LoadGenerator


class Silent(Conversation):
    def receive(self, data: bytes) -> bytes:
        return b""

    def eof(self) -> None:
        """Whenever the board likes."""


def test_one_after_the_other() -> None:
    load = LoadGenerator(Silent, 2)
    first = load.begin()
    assert first is not None and load.begin() is None and not load.over
    load.ended(good=True)
    second = load.begin()
    assert second is not None and second is not first and load.begin() is None
    load.ended(good=True)
    assert load.over and load.begin() is None


def test_no_other_follows_one_that_failed() -> None:
    load = LoadGenerator(Silent, 5, at_once=2)
    assert load.begin() is not None and load.begin() is not None
    load.ended(good=False)
    assert load.begin() is None and not load.over
    load.ended(good=True)
    assert load.begin() is None and load.over


def test_a_farewell_waits_until_all_others_are_over() -> None:
    class Farewell(Silent):
        """The last one's."""

    load = LoadGenerator(Silent, 2, at_once=2, farewell=Farewell)
    assert load.connections == 3 and type(load.begin()) is Silent and type(load.begin()) is Silent
    load.ended(good=True)
    assert load.begin() is None and not load.over
    load.ended(good=True)
    assert not load.over and type(load.begin()) is Farewell
    load.ended(good=True)
    assert load.over and load.begin() is None


def test_no_farewell_after_a_failure() -> None:
    load = LoadGenerator(Silent, 1, farewell=Silent)
    load.begin()
    load.ended(good=False)
    assert load.over and load.begin() is None


def test_no_more_at_once_than_there_are() -> None:
    assert LoadGenerator(Silent, 2, at_once=5).at_once == 2


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"connections": 0}, "a load generator's connections is 0; use 1 or more"),
        ({"connections": 1, "at_once": 0}, "a load generator's at_once is 0; use 1 or more"),
        ({"connections": 1, "pause_us": -1}, "a load generator's pause_us is -1; use 0 or more"),
    ],
)
def test_a_caller_that_could_not_be(values: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=f"^{says}$"):
        LoadGenerator(Silent, **values)


def test_an_end_without_a_beginning() -> None:
    with pytest.raises(ValueError, match="no connection is open"):
        LoadGenerator(Silent, 1).ended(good=True)


@given(st.integers(1, 20), st.integers(1, 5), st.lists(st.sampled_from(["begin", "good", "bad"])))
def test_whatever_happens_in_whatever_order(connections: int, at_once: int, events: list[str]) -> None:
    load = LoadGenerator(Silent, connections, at_once=at_once)
    begun = open_now = 0
    failed = False
    for event in events:
        if event == "begin":
            may = not failed and begun < connections and open_now < at_once
            assert (load.begin() is not None) == may
            begun, open_now = begun + may, open_now + may
        elif open_now:
            load.ended(good=event == "good")
            failed, open_now = failed or event == "bad", open_now - 1
        assert load.over == (open_now == 0 and (failed or begun == connections))
