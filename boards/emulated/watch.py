"""Looks after an emulated board while somebody waits for it: what will never come ends the wait, with the reason."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from portbench.boards.emulated.control import ControlClient
from portbench.boards.errors import BoardError
from portbench.boards.timing import Deadline

LOOK_S: Final = 0.5
_ANSWER_S = 30.0
_OFF_BUS_US = 10e6
"""CircuitPython's first boot, the slowest, takes 4.2 s to get to USB."""


class Watch:
    """Called as often as one likes, asks the board twice a second.

    `name`: the board's in its errors. `waits_for_usb`: whether what runs on it is to show itself on USB.
    """

    def __init__(
        self,
        control: ControlClient,
        name: str,
        waits_for_usb: Callable[[], bool],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._control = control
        self._name = name
        self._waits_for_usb = waits_for_usb
        self._clock = clock
        self._next_s = 0.0

    def __call__(self) -> None:
        """Raises BoardError where nothing will come of the wait."""
        now_s = self._clock()
        if now_s < self._next_s:
            return
        self._next_s = now_s + LOOK_S
        self.judge(self._control.call("status", Deadline(_ANSWER_S, self._name)))

    def judge(self, status: dict[str, Any]) -> None:
        """`status`: the board's answer."""
        if status["fault"]:
            raise BoardError(f"{self._name}: stopped: {status['fault']}")
        if self._waits_for_usb() and (off_bus_us := status["off_bus_us"]) > _OFF_BUS_US:
            raise BoardError(
                f"{self._name}: the image has run for {off_bus_us / 1e6:.0f} s of simulated time without attaching to"
                " USB; it is not for this board, or it stops at its start"
            )
