"""Two emulated boards on one switch, whose consoles are serial ports of this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from portbench.boards.definition import BoardDefinition
from portbench.boards.desk.pacer import Pace, Pacer
from portbench.boards.desk.serial_port import SerialPort
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import SLICE_PS, Simulation, Step
from portbench.errors import BoardError

_LINK_US: Final = 100_000
"""Short: the scripts restart the network for each test."""
_TYPED_BYTES: Final = 256
"""The most that waits in a board's USB pipe; more waits in the terminal."""


class OnPort(Simulation):
    """A board whose console is a pseudo-terminal."""

    def __init__(self, flash: bytes, settings: Mapping[str, Any]) -> None:
        super().__init__(flash, settings)
        self.port = SerialPort()
        self.is_open = False

    def ran(self, stop: str) -> Step:
        step = super().ran(stop)
        self.port.write(step.printed)
        self.is_open = self.machine.usb()["console_open"]
        if self.is_open and self.machine.console_unsent < _TYPED_BYTES:
            self.machine.console_write(self.port.read(_TYPED_BYTES))
        return step


class TwoBoards:
    """Boards that run in a thread, never ahead of the host's clock."""

    def __init__(self, definition: BoardDefinition, flash: bytes) -> None:
        one, other = (EmulatedConfig(phy_link_delay_us=_LINK_US, flash_id=number) for number in (1, 2))
        self._first = OnPort(flash, one.settings(definition))
        self._second = OnPort(flash, other.settings(definition))
        self._second.share_switch(self._first)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def ports(self) -> tuple[str, str]:
        return self._first.port.path, self._second.port.path

    @property
    def time_ps(self) -> int:
        return self._second.time_ps

    @property
    def consoles_open(self) -> bool:
        return self._first.is_open and self._second.is_open

    def check(self) -> None:
        """Raises BoardError where a board cannot go on."""
        if fault := self._second.fault or self._first.fault:
            raise BoardError(fault)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        for board in (self._first, self._second):
            board.port.close()

    def _run(self) -> None:
        pacer, board = Pacer(Pace.WALL_CLOCK), self._second
        while not self._ended.is_set() and board.fault is None:
            board.step(board.time_ps + SLICE_PS)
            self._first.ran("time")
            stats = board.machine.stats()
            self._ended.wait(pacer.delay_s(board.time_us, stats["instructions"], stats["clk_sys_hz"]))


@contextmanager
def two_boards(definition: BoardDefinition, flash: bytes) -> Iterator[TwoBoards]:
    """Two boards with these contents in flash."""
    boards = TwoBoards(definition, flash)
    boards.start()
    try:
        yield boards
    finally:
        boards.end()
