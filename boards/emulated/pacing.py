"""How fast simulated time runs against the host's clock."""

from __future__ import annotations

import time
from collections.abc import Callable

LAG_S = 0.02
"""A board that serves a program of this machine catches up with the clock by this much, and forgets what is more."""
BUSY_SHARE = 0.2
"""A board whose cores execute more than this share of their cycles has work to do."""


class Pacer:
    """A busy board runs flat out; an idle one runs at the host's pace, so that it costs next to nothing.

    A board whose LAN is bridged to real sockets never runs ahead of the host: its timeouts would strike too early. Nor
    does one that serves a program of this machine, which would see answers before their time.
    """

    def __init__(self, *, realtime: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._realtime = realtime
        self._clock = clock
        self._base_host_s = clock()
        self._base_sim_us = 0.0
        self._last_us = 0.0
        self._last_instructions = 0
        self._serving = False
        self.flat_out = False
        """Run flat out even when idle, as during a measured run."""

    def restart(self) -> None:
        """Simulated time starts at 0 again."""
        self._base_host_s = self._clock()
        self._base_sim_us = self._last_us = 0.0
        self._last_instructions = 0

    def delay_s(
        self, time_us: float, instructions: int, clk_sys_hz: int, *, hurry: bool = False, serving: bool = False
    ) -> float:
        """How long to wait before simulating on from `time_us`.

        `hurry`: somebody waits for this idle board. `serving`: a program of this machine is connected to it.
        """
        cycles = (time_us - self._last_us) * clk_sys_hz / 1e6
        busy = cycles > 0 and (instructions - self._last_instructions) / cycles > BUSY_SHARE
        self._last_us, self._last_instructions = time_us, instructions
        ahead_s = (time_us - self._base_sim_us) / 1e6 - (self._clock() - self._base_host_s)
        if serving:
            if not self._serving or ahead_s < -LAG_S:
                self._rebase(time_us)
                ahead_s = 0.0
            self._serving = True
            return max(0.0, ahead_s)
        self._serving = False
        if self._realtime and not self.flat_out:
            return max(0.0, ahead_s)
        if busy or self.flat_out or hurry:
            if ahead_s > 0:
                self._rebase(time_us)
            return 0.0
        if ahead_s < 0:
            # The host was slower: an idle board does not have to catch up.
            self._rebase(time_us)
            return 0.0
        return ahead_s

    def _rebase(self, time_us: float) -> None:
        self._base_host_s = self._clock()
        self._base_sim_us = time_us
