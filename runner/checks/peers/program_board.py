"""An emulated board for one program, from power-up on, in simulated time, with its UARTs connected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from portbench_engine import Machine

from portbench.boards import Deadline
from portbench.firmware import uf2
from portbench.testing import Board
from portbench.testing.transcript import Transcript

T = TypeVar("T")
Line = Literal["uart0", "uart1", "usb"]
"""The lines that a program prints and reads on."""

_DRIVE_S: Final = 5.0
_UARTS: Final[dict[Line, int]] = {"uart0": 0, "uart1": 1}


class ProgramBoard(Board):
    """`image` on a board of `kind`. `settings`: fields of `EmulatedConfig`. `deadline`: in the PC's time.

    Raises BoardError and Uf2Error.
    """

    def __init__(self, image: Path, kind: str, settings: Mapping[str, Any], deadline: Deadline) -> None:
        super().__init__(kind, **settings)
        self._deadline = deadline
        self.lines: dict[Line, Transcript] = {
            "uart0": Transcript(),
            "uart1": Transcript(),
            "usb": self._simulation.transcript,
        }
        content = uf2.read_bytes(image)
        if uf2.parse(content, image.name).in_ram:
            self._load(image.name, content)
        else:
            self.flash(content)

    @property
    def machine(self) -> Machine:
        return self._simulation.machine

    def wait(self, look: Callable[[], T | None], within_s: float, what: str, line: Line = "uart0") -> T:
        """Run until `look` gives something. Raises NothingCame with the last text of `line`, and DeadlineExceeded."""

        def gathered() -> T | None:
            self._deadline.check(what)
            for name, uart in _UARTS.items():
                if data := self.machine.uart_read(uart):
                    self.lines[name].feed(data)
            return look()

        return self._simulation.wait(
            gathered, within_s, what, lambda: f"{line}'s last lines:\n{self.lines[line].tail()}"
        )

    def send(self, line: Line, data: bytes) -> None:
        if line == "usb":
            self.machine.console_write(data)
        else:
            self.machine.uart_write(_UARTS[line], data)

    def _load(self, name: str, content: bytes) -> None:
        """An image for RAM: the boot loader, which a board with blank flash starts, runs it from its drive."""
        self.wait(lambda: self.machine.usb()["storage_ready"], _DRIVE_S, "the boot loader's drive", "usb")
        self.machine.volume_apply([("write", name, content)])
