"""An emulated board with a Python prompt, in this process: what the speed measurements run on."""

from __future__ import annotations

import time
from pathlib import Path

from portbench.boards import BoardDefinition, Deadline
from portbench.boards.desk.config import DeskConfig
from portbench.boards.emulated.simulation import PS_PER_S, PS_PER_US, Simulation
from portbench.firmware.uf2 import flash_content

PROMPT = b">>> "
LOOP = "for i in range({}): pass\r\n\r\n"
"""The typed text: the end of the block is an empty line."""
Bridge = tuple[tuple[str, str], ...]
_STEP_US = 1_000_000
_KNOCK_PS = PS_PER_S // 2
"""How long a console may be silent before a key is pressed, as CircuitPython asks for."""


class ReplMachine(Simulation):
    """A board with `image` in its flash; `start` brings it to its prompt. `bridge` as in DeskConfig."""

    def __init__(
        self, image: Path, definition: BoardDefinition, *, translated: bool = True, bridge: Bridge = ()
    ) -> None:
        settings = {**DeskConfig(bridge=bridge).settings(definition), "translated": translated}
        super().__init__(flash_content(image, definition.flash_bytes), settings)
        self.slice_ps = _STEP_US * PS_PER_US

    def start(self, deadline: Deadline) -> float:
        """Run from power-up to the prompt; CPU seconds. Raises DeadlineExceeded."""
        started_s = time.thread_time()
        output = b""
        knock_ps = _KNOCK_PS
        while PROMPT not in output:
            deadline.check(f"the prompt; the board printed {output[-60:]!r}")
            new = self.advance(knock_ps).printed
            output += new
            if new:
                knock_ps = self.time_ps + _KNOCK_PS
            elif self.time_ps >= knock_ps:
                self.machine.console_write(b"\r\n")
                knock_ps = self.time_ps + _KNOCK_PS
        return time.thread_time() - started_s

    def restart(self, deadline: Deadline) -> float:
        """Power off and on, and `start`."""
        self.power_up()
        return self.start(deadline)

    def type(self, text: str, deadline: Deadline) -> None:
        """Type `text` and run until the prompt is back. Raises DeadlineExceeded."""
        self.machine.console_write(text.encode())
        output = b""
        while not output.endswith(PROMPT):
            deadline.check(f"the prompt after {text.strip()!r}; the board printed {output[-60:]!r}")
            output += self.read()

    def read(self, within_us: int = _STEP_US) -> bytes:
        """Return what the board prints next, after at most `within_us` of simulated time."""
        return self.advance(self.time_ps + within_us * PS_PER_US).printed

    @property
    def instructions(self) -> int:
        """Executed by both cores since power-up."""
        count: int = self.machine.stats()["instructions"]
        return count
