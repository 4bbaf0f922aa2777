"""`{ event = "core 0 HardFault" }`: a fault, a reset or something of USB is noted, as a regular expression."""

from __future__ import annotations

import re

from portbench.runner.checks.peers.program_board import ProgramBoard
from portbench.runner.checks.peers.step import Step


class Event(Step):
    event: str

    def do(self, board: ProgramBoard, within_s: float) -> None:
        pattern = re.compile(self.event)
        board.wait(lambda: any(map(pattern.search, board.events)), within_s, f"{self.event!r}")


STEP = Event
