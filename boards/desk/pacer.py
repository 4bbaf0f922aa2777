"""The pace of a desk's board: how far its simulated time may run beside the host's clock."""

import time
from collections.abc import Callable
from enum import StrEnum
from typing import Final

LAG_S = 0.02
"""The most by which a board that serves a program of this machine catches up with the clock."""
BUSY_SHARE = 0.2
"""A board whose cores execute more than this share of their cycles has work to do."""
_JUMPED_S: Final = 0.5
"""A larger lead over the clock comes from the drive, whose reading and writing is simulated in one go."""
_MAY_CATCH_UP_S: Final = 0.25
"""A PC that was held up for less than this catches up."""
_SLOW_S: Final = 1.0
"""The loss of time that is reported to the user."""


class Pace(StrEnum):
    """The clock that simulated time keeps to."""

    FREE = "free"
    """A busy board runs flat out; an idle one runs at the host's pace, so that it costs next to nothing."""
    REALTIME = "realtime"
    """Never ahead of the host's clock, and level with it as soon as possible: the LAN is bridged to real sockets, whose
    timeouts would strike too early."""
    WALL_CLOCK = "wall-clock"
    """Never ahead of the host's clock either. Time that a slow host has lost stays lost; else the board would hurry."""


class Pacer:
    """Slows simulated time down. A board that serves a program of this machine is never ahead of the host: the program
    would see answers too early."""

    def __init__(self, pace: Pace = Pace.FREE, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._pace = pace
        self._clock = clock
        self._started_s = self._base_host_s = clock()
        self._base_sim_us = 0.0
        self._last_us = 0.0
        self._last_instructions = 0
        self._lost_s = 0.0
        self._told = False
        self._serving = False
        self.flat_out = False
        """Run flat out even when idle, as during a measured run."""

    def restart(self) -> None:
        """Begin again at simulated time 0."""
        self._base_host_s = self._clock()
        self._base_sim_us = self._last_us = 0.0
        self._last_instructions = 0

    def delay_s(
        self, time_us: float, instructions: int, clk_sys_hz: int, *, hurry: bool = False, serving: bool = False
    ) -> float:
        """Return how long to wait before simulating on from `time_us`.

        `hurry`: a user waits for this idle board. `serving`: a program of this machine is connected to it.
        """
        cycles = (time_us - self._last_us) * clk_sys_hz / 1e6
        busy = cycles > 0 and (instructions - self._last_instructions) / cycles > BUSY_SHARE
        self._last_us, self._last_instructions = time_us, instructions
        ahead_s = (time_us - self._base_sim_us) / 1e6 - (self._clock() - self._base_host_s)
        if serving:
            if not self._serving or ahead_s < -LAG_S:
                self._lost_s += max(0.0, -ahead_s)
                self._rebase(time_us)
                ahead_s = 0.0
            self._serving = True
            return max(0.0, ahead_s)
        self._serving = False
        if self._pace is Pace.REALTIME and not self.flat_out:
            return max(0.0, ahead_s)
        if self._pace is Pace.WALL_CLOCK and not self.flat_out:
            return self._keep_to_clock(time_us, ahead_s)
        if busy or self.flat_out or hurry:
            if ahead_s > 0:
                self._rebase(time_us)
            return 0.0
        if ahead_s < 0:
            # The host was slower: an idle board does not have to catch up.
            self._rebase(time_us)
            return 0.0
        return ahead_s

    def too_slow(self) -> str | None:
        """Return one line, once, for users of the board's clock."""
        if self._told or self._pace is not Pace.WALL_CLOCK or self._lost_s < _SLOW_S:
            return None
        self._told = True
        after_s = self._clock() - self._started_s
        return (
            f"this PC is too slow for what the board does: {self._lost_s:.1f} s behind the clock after {after_s:.1f} s"
        )

    def _keep_to_clock(self, time_us: float, ahead_s: float) -> float:
        if ahead_s > _JUMPED_S:
            self._rebase(time_us)
            return 0.0
        if ahead_s < -_MAY_CATCH_UP_S:
            self._lost_s -= ahead_s
            self._rebase(time_us)
        return max(0.0, ahead_s)

    def _rebase(self, time_us: float) -> None:
        self._base_host_s = self._clock()
        self._base_sim_us = time_us
