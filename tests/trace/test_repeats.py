"""Loops in a time line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from portbench.runner.trace.view import Repeat, repeats


def test_loops_are_found() -> None:
    assert repeats("") == []
    assert repeats("abc") == [Repeat(0, 1, 1), Repeat(1, 1, 1), Repeat(2, 1, 1)]
    assert repeats("aaaa") == [Repeat(0, 1, 4)]
    assert repeats("xababab") == [Repeat(0, 1, 1), Repeat(1, 2, 3)]
    assert repeats("aabaab") == [Repeat(0, 3, 2)]


@given(st.text("abc", max_size=60))
def test_nothing_is_lost_or_invented(keys: str) -> None:
    found = repeats(keys)
    told = "".join(keys[repeat.start : repeat.start + repeat.steps] * repeat.times for repeat in found)
    assert told == keys
    assert [repeat.end for repeat in found[:-1]] == [repeat.start for repeat in found[1:]]


@given(st.text("abcd", min_size=1, max_size=12), st.integers(2, 30))
def test_a_loop_is_told_once(block: str, times: int) -> None:
    (repeat,) = repeats(block * times)
    assert repeat.steps <= len(block) and repeat.steps * repeat.times == len(block) * times
