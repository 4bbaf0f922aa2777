"""`{ holds = "GP15=low" }`: a hand holds a pin low, high or at a voltage, or lets go of it (`open`)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from portbench.boards.pins import parse_pin
from portbench.runner.checks.peers.program_board import ProgramBoard
from portbench.runner.checks.peers.step import Step


def _parses(text: str) -> str:
    parse_pin(text)
    return text


class Holds(Step):
    holds: Annotated[str, AfterValidator(_parses)]

    def do(self, board: ProgramBoard, within_s: float) -> None:
        board.machine.set_voltage(*parse_pin(self.holds))


STEP = Holds
