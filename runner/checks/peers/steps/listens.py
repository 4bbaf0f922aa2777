"""`{ listens = 5000, gets = "1", sends = "2", then_gets = "3" }`: the board calls a port of the simulated PC."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from portbench.runner.checks.peers.program_board import ProgramBoard
from portbench.runner.checks.peers.step import Step


class Listens(Step):
    """Patterns are regular expressions; what is empty is not done. `times`: how often it is sent in a row."""

    listens: Annotated[int, Field(ge=1, le=65535)]
    gets: str = ""
    sends: str = ""
    times: Annotated[int, Field(ge=1)] = 1
    then_gets: str = ""

    def do(self, board: ProgramBoard, within_s: float) -> None:
        connection = board.listen(self.listens).accept(within_s)
        if self.gets:
            connection.expect(self.gets, within_s)
        if self.sends:
            connection.send(self.sends.encode() * self.times)
        if self.then_gets:
            connection.expect(self.then_gets, within_s)


STEP = Listens
