"""`{ is_at = "GP25=high" }`: a pin's level comes."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from portbench.boards.pins import HIGH_V, parse_pin
from portbench.runner.checks.peers.program_board import ProgramBoard
from portbench.runner.checks.peers.step import Step


def _level(text: str) -> str:
    if parse_pin(text)[1] not in (0.0, HIGH_V):
        raise ValueError(f"{text!r}: a level is low or high")
    return text


_SHIFT_S = 17e-9
"""What repeats evenly is not to be looked at in one phase only."""


class IsAt(Step):
    is_at: Annotated[str, AfterValidator(_level)]

    def do(self, board: ProgramBoard, within_s: float) -> None:
        pin, volts = parse_pin(self.is_at)

        def look() -> bool:
            if board.machine.pin(pin) == (volts == HIGH_V):
                return True
            board.run(_SHIFT_S)
            return False

        board.wait(look, within_s, self.is_at)


STEP = IsAt
