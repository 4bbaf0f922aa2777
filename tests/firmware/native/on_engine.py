"""Runs the built native firmware on the engine, from the bootrom's reset, with a `W5500Double` on its SPI bus."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import nullcontext
from heapq import heappop, heappush
from itertools import count
from typing import Final

from portbench_engine import PS_PER_S, Board, EngineError
from portbench_engine.devices import SpiDevice

from portbench.firmware.native_config import NativeConfig
from tests.firmware.native.emulated import LED, Outcome, PingPongServer, flash
from tests.firmware.native.w5500_double import CSN, INTN, RSTN, DhcpServer, W5500Double

PS_PER_US: Final = 10**6
PS_PER_NS: Final = 10**3
WITHIN_PS: Final = 60 * PS_PER_S
BOOT_LOADER_PS: Final = 2 * PS_PER_S
"""For its drive to be found by the PC."""


class _OnSpi(SpiDevice):
    """The chip, whose reset ends when it begins: the engine does not tell when RSTn rises."""

    def __init__(self, chip: W5500Double) -> None:
        self._chip = chip
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        chip.host = self

    @property
    def now_ns(self) -> float:
        return self.now_ps / PS_PER_NS

    def after(self, nanoseconds: float, action: Callable[[], None]) -> None:
        heappush(self._due, (self.now_ps + nanoseconds * PS_PER_NS, next(self._order), action))
        self.wake_ps = int(self._due[0][0])

    def drive_intn(self, low: bool) -> None:
        self.interrupt = low

    def reset(self) -> None:
        self._chip.reset()
        self._chip.release()

    def wake(self) -> None:
        while self._due and self._due[0][0] <= self.now_ps:
            heappop(self._due)[2]()
        self.wake_ps = int(self._due[0][0]) if self._due else None

    def frame(self) -> Generator[int, int, None]:
        try:
            while True:
                self._chip.mosi((yield self._chip.miso))
        finally:
            self._chip.end_frame()


def run(
    server: PingPongServer,
    config: NativeConfig | bytes | None,
    *,
    dhcp: DhcpServer | None = None,
    link_after_us: float = 2000,
    present: bool = True,
    blinks: bool = False,
) -> Outcome:
    """Boot the image and run it until it asks for a restart, as its last act is.

    `config`: `None` leaves flash erased, bytes go there as they are. `blinks`: record the LED, which takes time.
    """
    chip = W5500Double(server, dhcp, link_after_us=link_after_us)
    chip.present = present
    board = Board(flash(config))
    pins = {"sck_pin": 18, "mosi_pin": 19, "miso_pin": 16, "csn_pin": CSN, "rstn_pin": RSTN, "intn_pin": INTN}
    board.attach("spi0", _OnSpi(chip), **pins)
    with board.edges() if blinks else nullcontext([]) as edges:
        stop = board.run(WITHIN_PS)
    assert stop.startswith("reset"), f"the firmware did not finish: {stop}"
    assert chip.problems == []
    led_on_us = [edge.time_ps / PS_PER_US for edge in edges if edge.pin == LED and edge.high]
    ended_ps = board.time_ps
    return Outcome(server, chip, led_on_us, _has_boot_loader(board), ended_ps / PS_PER_US)


def _has_boot_loader(board: Board) -> bool:
    """True if the restarted board shows its boot loader's drive."""
    board.run(BOOT_LOADER_PS)
    try:
        return board.drive().label == "RPI-RP2"
    except (OSError, EngineError):
        return False
