"""Two emulated boards on one switch, whose consoles are serial ports of this machine."""

import threading
from collections.abc import Iterator
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

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.port = SerialPort()
        self.is_open = False

    def ran(self, stop: str) -> Step:
        step = super().ran(stop)
        self.port.write(step.printed)
        self.is_open = self.machine.usb()["console_open"]
        if self.is_open and self.machine.console_unsent < _TYPED_BYTES:
            self.machine.console_write(self.port.read(_TYPED_BYTES))
        return step


@contextmanager
def two_boards(definition: BoardDefinition, flash: bytes) -> Iterator[list[OnPort]]:
    """Boards with these contents in flash. Raises BoardError at the end where one has stopped."""
    configs = [EmulatedConfig(phy_link_delay_us=_LINK_US, flash_id=number) for number in (1, 2)]
    boards = [OnPort(flash, config.settings(definition)) for config in configs]
    boards[1].share_switch(boards[0])
    ended = threading.Event()
    thread = threading.Thread(target=_run, args=(*boards, ended), daemon=True)
    thread.start()
    try:
        yield boards
    finally:
        ended.set()
        thread.join()
    if faults := [board.fault for board in boards if board.fault]:
        raise BoardError(faults[0])


def _run(first: OnPort, second: OnPort, ended: threading.Event) -> None:
    """Run both, never ahead of the host's clock, to the end or a fault. Then the ports close, which ends a script."""
    pacer = Pacer(Pace.WALL_CLOCK)
    while not ended.is_set() and second.fault is None:
        second.step(second.time_ps + SLICE_PS)
        first.ran("time")
        stats = second.machine.stats()
        ended.wait(pacer.delay_s(second.time_us, stats["instructions"], stats["clk_sys_hz"]))
    for board in (first, second):
        board.port.close()
