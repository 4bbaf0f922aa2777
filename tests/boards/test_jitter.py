"""Jitter is drawn from a seed: the same on every machine, around the settings, and different in each run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards.jitter import MOST_SEED, Surroundings, draw


def test_a_room_is_the_same_on_every_machine() -> None:
    assert draw(Surroundings(200, 1.5, 1), 1).figures() == {
        "phy_link_delay_us": 1_326_800,
        "dhcp_delay_us": 13_228,
        "frame_jitter_us": 10,
        "turnaround_least_us": 163,
        "turnaround_most_us": 281,
    }


@given(st.integers(0, MOST_SEED), st.integers(1, 1000), st.integers(0, 1_000_000), st.floats(0, 60))
def test_it_is_about_what_was_asked_for(seed: int, number: int, turnaround_us: int, phy_link_delay_s: float) -> None:
    jitter = draw(Surroundings(turnaround_us, phy_link_delay_s, seed), number)
    assert jitter == draw(Surroundings(turnaround_us, phy_link_delay_s, seed), number)
    assert 0.8e6 * phy_link_delay_s - 1 <= jitter.phy_link_delay_us <= 1.3e6 * phy_link_delay_s + 1
    assert 0 <= jitter.dhcp_delay_us <= 50_000 and 0 <= jitter.seed < MOST_SEED
    middle = sorted(jitter.turnarounds_us)[len(jitter.turnarounds_us) // 2]
    assert abs(middle - turnaround_us) <= 1 and min(jitter.turnarounds_us) >= 0


def test_no_two_runs_and_no_two_seeds_are_alike() -> None:
    draws = [draw(Surroundings(200, 1.5, seed), number) for seed in range(20) for number in range(1, 21)]
    assert len({jitter.phy_link_delay_us for jitter in draws}) > 390 and len({jitter.seed for jitter in draws}) == 400
    assert sum(jitter.phy_link_delay_us for jitter in draws) / 400 == pytest.approx(1.05 * 1.5e6, rel=0.02)
