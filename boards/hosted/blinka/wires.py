"""The wires between a Python program and the simulated W5500, and the clock that both live by."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from portbench.boards.definition import Ethernet

if TYPE_CHECKING:
    from portbench_engine import ChipLan


class Clock(Protocol):
    """The program's time, microseconds since the LAN was made."""

    def now_us(self) -> float: ...
    def wait_until_us(self, time_us: float) -> None: ...


class ProgramClock:
    """The program's time: what it took of a processor, and what it waited for.

    A transfer lasts as long as its bytes take at the SPI clock, and a sleep as long as asked; neither takes real time.
    Time in which the PC ran other programs, or stopped this one, does not pass.
    """

    def __init__(self) -> None:
        self._waited_us = 0.0
        self._waited_us = -self.now_us()

    def now_us(self) -> float:
        return time.process_time_ns() / 1000 + self._waited_us

    def wait_until_us(self, time_us: float) -> None:
        self._waited_us += max(0.0, time_us - self.now_us())


class Wires:
    """Chip select, reset, interrupt and SPI of one W5500, by the board's GPIO numbers."""

    def __init__(
        self, lan: ChipLan, bus: Ethernet, clock: Clock, look: Callable[[float], None] = lambda _: None
    ) -> None:
        """`look` is called with the LAN's time whenever that went on."""
        self.bus = bus
        self._look = look
        self._lan = lan
        self._clock = clock

    def now_us(self) -> float:
        """The program's time."""
        return self._clock.now_us()

    def drive(self, gpio: int, high: bool) -> None:
        """An output pin takes a level; pins without a wire to the W5500 do nothing."""
        if gpio == self.bus.csn_pin:
            self._catch_up()
            self._lan.select(not high)
        elif gpio == self.bus.rstn_pin:
            self._catch_up()
            self._lan.reset_pin(not high)

    def level(self, gpio: int) -> bool:
        """Level of an input pin: INTn's as the chip drives it, high (pulled up) on all others."""
        if gpio != self.bus.intn_pin:
            return True
        self._catch_up()
        return not self._lan.intn_low

    def transfer(self, mosi: bytes, spi_hz: int) -> bytes:
        """Exchange bytes; returns when their last bit has passed."""
        self._catch_up()
        miso = self._lan.transfer(mosi, spi_hz)
        self._clock.wait_until_us(self._lan.time_us)
        return miso

    def _catch_up(self) -> None:
        behind_us = self._clock.now_us() - self._lan.time_us
        if behind_us > 0:
            self._lan.advance(behind_us)
            self._look(self._lan.time_us)
