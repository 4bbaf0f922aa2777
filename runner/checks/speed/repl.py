"""An emulated board with a Python prompt, in this process: what the speed measurements run on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from portbench._engine import Machine
from portbench.boards import BoardDefinition, Deadline
from portbench.boards.emulated.bootrom import bootrom
from portbench.boards.emulated.config import EmulatedConfig
from portbench.firmware import uf2

PROMPT = b">>> "
LOOP = "for i in range({}): pass\r\n\r\n"
"""What is typed: the end of the block is an empty line."""
_FLASH_BASE = 0x1000_0000
_STEP_US = 1_000_000.0
_KNOCK_US = 500_000.0
"""How long a console may be silent before a key is pressed, as CircuitPython asks for."""


def flash_content(image: Path, definition: BoardDefinition) -> bytes:
    """What the UF2 `image` leaves in a blank flash. Raises Uf2Error."""
    flash = bytearray(b"\xff" * definition.flash_bytes)
    for address, data in uf2.read(image).flash_bytes().items():
        flash[address - _FLASH_BASE : address - _FLASH_BASE + len(data)] = data
    return bytes(flash)


class ReplMachine:
    """A machine with `image` in its flash; `start` brings it to its prompt."""

    def __init__(self, image: Path, definition: BoardDefinition, *, translated: bool = True) -> None:
        settings: dict[str, Any] = {**EmulatedConfig().settings(definition), "translated": translated}
        self.machine = Machine(bootrom(), flash_content(image, definition), settings)

    def start(self, deadline: Deadline) -> float:
        """Run from power-up to the prompt; CPU seconds. Raises DeadlineExceeded."""
        started_s = time.thread_time()
        output = b""
        knock_us = _KNOCK_US
        while PROMPT not in output:
            deadline.check(f"the prompt; the board printed {output[-60:]!r}")
            self.machine.run(min(self.machine.time_us + _STEP_US, knock_us))
            self.machine.usb_events()
            new = self.machine.console_read()
            output += new
            if new:
                knock_us = self.machine.time_us + _KNOCK_US
            elif self.machine.time_us >= knock_us:
                self.machine.console_write(b"\r\n")
                knock_us = self.machine.time_us + _KNOCK_US
        return time.thread_time() - started_s

    def restart(self, deadline: Deadline) -> float:
        """Power off and on, and `start`."""
        self.machine.power_cycle()
        return self.start(deadline)

    def type(self, text: str, deadline: Deadline) -> None:
        """Type `text` and run until the prompt is back. Raises DeadlineExceeded."""
        self.machine.console_write(text.encode())
        output = b""
        while not output.endswith(PROMPT):
            deadline.check(f"the prompt after {text.strip()!r}; the board printed {output[-60:]!r}")
            output += self.step(_STEP_US)

    def step(self, time_us: float) -> bytes:
        """What the board prints in the next `time_us` of simulated time."""
        self.machine.run(self.machine.time_us + time_us)
        self.machine.usb_events()
        return self.machine.console_read()

    @property
    def instructions(self) -> int:
        """Executed by both cores since power-up."""
        count: int = self.machine.stats()["instructions"]
        return count
