"""`{ connects = 7, sends = "hello", gets = "hel+o" }`: the simulated PC calls a port of the board."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from portbench.runner.checks.peers.program_board import ProgramBoard
from portbench.runner.checks.peers.step import Step


class Connects(Step):
    """`to`: the board's address, if not the one that it sends from. `gets`: a regular expression."""

    connects: Annotated[int, Field(ge=1, le=65535)]
    to: str | None = None
    sends: str = ""
    gets: str

    def do(self, board: ProgramBoard, within_s: float) -> None:
        connection = board.connect(self.connects, self.to, within_s)
        if self.sends:
            connection.send(self.sends.encode())
        connection.expect(self.gets, within_s)


STEP = Connects
