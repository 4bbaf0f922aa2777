"""The jitter around an emulated board: times that vary from run to run of a real board, drawn from a seed.

The same seed and number give the same jitter for every firmware, so that two are compared under like conditions.
"""

import random
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from portbench.boards.definition import PHY_LINK_DELAY_S, TURNAROUND_US

_DATA: Final = Path(__file__).with_name("jitter.toml")
MOST_SEED: Final = 2**53
"""Seeds are numbers in JSON, too."""


@dataclass(frozen=True)
class Surroundings:
    """The surroundings of an emulated board, around which a run's jitter is drawn. `seed` None: nothing varies."""

    turnaround_us: int = TURNAROUND_US
    phy_link_delay_s: float = PHY_LINK_DELAY_S
    seed: int | None = None


@dataclass(frozen=True)
class Jitter:
    """The jitter of one run. From `seed` the engine draws for each frame and each answer."""

    phy_link_delay_us: int
    dhcp_delay_us: int
    frame_jitter_us: int
    turnaround_us: int
    """For the PC's answers, except those over TCP where `turnarounds_us` has values."""
    turnarounds_us: tuple[int, ...]
    """For each of the PC's answers over TCP, one of these, all as likely."""
    seed: int

    def config(self) -> dict[str, Any]:
        """Return it as fields of `boards.emulated.config.EmulatedConfig`."""
        return {
            "phy_link_delay_us": self.phy_link_delay_us,
            "dhcp_delay_us": self.dhcp_delay_us,
            "turnaround_us": self.turnaround_us,
            "turnarounds_us": list(self.turnarounds_us),
            "seed": self.seed,
            "faults": {"jitter_us": self.frame_jitter_us, "seed": self.seed},
        }

    def figures(self) -> dict[str, int]:
        """Return the figures that a row shows of it."""
        return {
            "phy_link_delay_us": self.phy_link_delay_us,
            "dhcp_delay_us": self.dhcp_delay_us,
            "frame_jitter_us": self.frame_jitter_us,
            "turnaround_least_us": min(self.turnarounds_us),
            "turnaround_most_us": max(self.turnarounds_us),
        }


def draw(around: Surroundings, number: int) -> Jitter:
    """Draw the jitter of run `number` from the seed, around the values that were asked for."""
    turnaround_us, phy_link_delay_us = around.turnaround_us, 1e6 * around.phy_link_delay_s
    if around.seed is None:
        return Jitter(round(phy_link_delay_us), 0, 0, turnaround_us, (), 1)
    data = _data()
    # A text is hashed the same everywhere; `random()` is the one method that is promised to stay as it is.
    source = random.Random(f"portbench room {around.seed} {number}")

    def between(least: float, most: float) -> float:
        return least + (most - least) * source.random()

    phy, dhcp = data["phy_link_delay"], data["dhcp_delay_us"]
    return Jitter(
        phy_link_delay_us=round(phy_link_delay_us * between(phy["least"], phy["most"])),
        dhcp_delay_us=round(between(dhcp["least"], dhcp["most"])),
        frame_jitter_us=data["frame_jitter_us"]["most"],
        turnaround_us=turnaround_us,
        turnarounds_us=tuple(max(0, turnaround_us + off) for off in data["turnaround"]["about_median_us"]),
        seed=int(source.random() * MOST_SEED),
    )


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(_DATA.read_text(encoding="utf-8"))
