"""`{ types = "s", on = "usb" }`: at the keyboard of a line."""

from __future__ import annotations

from portbench.runner.checks.peers.program_board import Line, ProgramBoard
from portbench.runner.checks.peers.step import Step


class Types(Step):
    types: str
    on: Line = "uart0"

    def do(self, board: ProgramBoard, within_s: float) -> None:
        board.send(self.on, self.types.encode())


STEP = Types
