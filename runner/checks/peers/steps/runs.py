"""`{ runs = 0.5 }`: simulated seconds pass, and the board goes on."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from portbench.runner.checks.peers.program_board import ProgramBoard
from portbench.runner.checks.peers.step import Step

_HALF_PS_US = 5e-7
"""The engine counts picoseconds."""


class Runs(Step):
    runs: Annotated[float, Field(gt=0)]

    def do(self, board: ProgramBoard, within_s: float) -> None:
        until_us = board.time_us + self.runs * 1e6
        board.wait(lambda: board.time_us + _HALF_PS_US >= until_us, self.runs, f"{self.runs:g} s of running")


STEP = Runs
