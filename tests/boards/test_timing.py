"""Deadlines, on a clock of the test's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards import Deadline, DeadlineExceeded


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def make(seconds: float, clock: Clock) -> Deadline:
    return Deadline(seconds, "flash", clock=clock, sleep=clock.sleep)


def test_remaining_falls_to_zero_and_stays_there() -> None:
    clock = Clock()
    deadline = make(3, clock)
    assert deadline.remaining == 3 and not deadline.expired
    clock.now += 5
    assert deadline.remaining == 0 and deadline.expired


def test_check_says_what_was_waited_for() -> None:
    clock = Clock()
    deadline = make(2.5, clock)
    deadline.check("the volume")
    clock.now += 2.5
    with pytest.raises(DeadlineExceeded, match=r"^flash: still waiting for the volume after 2.5 s$"):
        deadline.check("the volume")


def test_poll_returns_the_first_true_value() -> None:
    clock = Clock()
    answers = iter([None, None, "port"])
    assert make(3, clock).poll(lambda: next(answers), 0.5, "a port") == "port"
    assert clock.slept == [0.5, 0.5]


def test_poll_looks_once_more_when_the_time_is_up() -> None:
    clock = Clock()
    deadline = make(1, clock)
    assert deadline.poll(lambda: clock.now >= 101, 30, "the end") is True
    assert clock.slept == [1]


@given(st.floats(0.01, 100), st.floats(0.001, 10))
def test_poll_never_sleeps_past_the_deadline(seconds: float, interval_s: float) -> None:
    clock = Clock()
    calls = 0

    def never() -> None:
        nonlocal calls
        calls += 1
        clock.now += seconds / 20

    with pytest.raises(DeadlineExceeded):
        make(seconds, clock).poll(never, interval_s, "nothing")
    assert clock.now <= 100 + seconds * 1.1 + 1e-6
    assert calls >= 2


def test_a_part_ends_no_later_than_the_whole() -> None:
    clock = Clock()
    whole = make(10, clock)
    assert whole.part(3, "erase").remaining == pytest.approx(3)
    assert whole.part(30, "erase").remaining == pytest.approx(10)
    clock.now += 11
    part = whole.part(3, "erase")
    assert part.remaining < 1e-6


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_no_deadline_without_time(seconds: float) -> None:
    with pytest.raises(ValueError, match="has to be more than 0 s"):
        Deadline(seconds, "flash")


def test_a_deadline_that_is_cut_says_why() -> None:
    clock = Clock()
    deadline = make(60, clock)
    deadline.cut(2, "the board refused")
    assert deadline.remaining == 2
    clock.now += 2
    with pytest.raises(DeadlineExceeded, match=r"^flash: the board refused$"):
        deadline.check("the result")


def test_cutting_never_lengthens() -> None:
    clock = Clock()
    deadline = make(1, clock)
    deadline.cut(5, "late")
    assert deadline.remaining == 1
