"""Whether a guest still gets anywhere, in simulated time: a board that nothing will ever come of is not waited for."""

from __future__ import annotations

from collections import deque
from typing import Final

MOST_RESETS: Final = 20
_RESETS_US: Final = 10e6
_LOCKED_UP_US: Final = 9e6
"""The watchdog's longest time is 8.4 s (RP2040 datasheet 4.7): until then it may get a core out."""
FIRST_FRAME_US: Final = 8e6
"""The slowest runtime, CircuitPython on a file system that it has just made, is there after 4.2 s, or about 5 where
it has adafruit_httpserver to compile before."""
_NO_FRAME_US: Final = 10e6
"""Drivers ask their chip many times a second, or when it interrupts them; no client sleeps for so long."""


class Liveness:
    """Times are since power-up."""

    def __init__(self) -> None:
        self.powered_up()

    def powered_up(self) -> None:
        self._resets_us: deque[float] = deque(maxlen=MOST_RESETS + 1)
        self._last_reset = ""
        self._off_bus_since_us: float | None = 0.0
        self._locked_up: tuple[float, str] | None = None

    def was_reset(self, now_us: float, how: str) -> None:
        """The chip has: by its watchdog, its debugger, or itself."""
        self._resets_us.append(now_us)
        self._last_reset = how
        self._locked_up = None

    def printed(self) -> None:
        """The PC got something from the console, so the guest had come that far."""
        self._resets_us.clear()

    def locked_up(self, now_us: float, text: str) -> None:
        """Core 0 has, as `text` says."""
        self._locked_up = self._locked_up or (now_us, text)

    def because(self, given_up: str | None) -> str | None:
        """Why what `given_up` says is so, where core 0 is known to have locked up before."""
        return given_up if given_up is None or self._locked_up is None else self._locked_up[1]

    def enumerated(self, now_us: float, configured: bool) -> None:
        """What the PC's USB sees now."""
        if configured:
            self._off_bus_since_us = None
        elif self._off_bus_since_us is None:
            self._off_bus_since_us = now_us

    def off_bus_us(self, now_us: float) -> float:
        """How long the PC has not seen the board."""
        return 0.0 if self._off_bus_since_us is None else now_us - self._off_bus_since_us

    def stuck(self, now_us: float) -> str | None:
        """What keeps the guest for ever, as one line; None where nothing is known to."""
        if len(self._resets_us) > MOST_RESETS and (took_us := self._resets_us[-1] - self._resets_us[0]) <= _RESETS_US:
            return (
                f"{len(self._resets_us)} resets in {took_us / 1e6:.1f} s of simulated time and nothing on the console;"
                f" the last: {self._last_reset}"
            )
        if self._locked_up is not None and now_us - self._locked_up[0] > _LOCKED_UP_US:
            return self._locked_up[1]
        return None


def no_frame(now_us: float, chip: str, chip_selects: int, limit_us: float = FIRST_FRAME_US) -> str | None:
    """What keeps a networked client's run from ever getting an address, as far as its chip can tell."""
    if chip_selects or now_us < limit_us:
        return None
    return (
        f"no SPI frame for the {chip} in {limit_us / 1e6:g} s of simulated time: the image drives other pins or"
        " another chip, or its client does not run"
    )


class ChipUse:
    """Whether a client that has begun to speak to its Ethernet chip still does. `chip_selects` so far, at each look."""

    def __init__(self, now_us: float, chip_selects: int) -> None:
        self._since_us = now_us
        self._chip_selects = chip_selects

    def ended(self, now_us: float, chip: str, chip_selects: int, pause_us: float) -> str | None:
        """That it does not any more, as one line. `pause_us`: what the PC may leave it alone for."""
        if chip_selects != self._chip_selects:
            self._since_us, self._chip_selects = now_us, chip_selects
        limit_us = _NO_FRAME_US + pause_us
        if now_us - self._since_us < limit_us:
            return None
        return f"no SPI frame for the {chip} for {limit_us / 1e6:g} s of simulated time: what runs on the board hangs"
