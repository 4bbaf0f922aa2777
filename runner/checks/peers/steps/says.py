"""`{ says = "Hello, \\\\w+", on = "usb" }`: a regular expression, on a line, after what was found there last."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from portbench.runner.checks.peers.program_board import Line, ProgramBoard
from portbench.runner.checks.peers.step import Step


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern.encode())
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression ({error})") from None
    return pattern


class Says(Step):
    says: Annotated[str, AfterValidator(_compiles)]
    on: Line = "uart0"

    def do(self, board: ProgramBoard, within_s: float) -> None:
        pattern = re.compile(self.says.encode())
        board.wait(lambda: board.lines[self.on].find(pattern), within_s, f"{self.says!r} on {self.on}", self.on)


STEP = Says
