"""`{ frame = "^ffffffffffff" }`: a frame passes over the cable, from the board or `to_board`, in hex digits."""

from __future__ import annotations

import re

from portbench.runner.checks.peers.program_board import ProgramBoard
from portbench.runner.checks.peers.step import Step


class Frame(Step):
    frame: str
    to_board: bool = False

    def do(self, board: ProgramBoard, within_s: float) -> None:
        pattern = re.compile(self.frame)
        seen = 0

        def look() -> bool:
            nonlocal seen
            frames = board.frames
            fresh, seen = frames[seen:], len(frames)
            return any(each.to_board == self.to_board and pattern.search(each.data.hex()) for each in fresh)

        board.wait(look, within_s, f"a frame {'to' if self.to_board else 'from'} the board with {self.frame!r}")


STEP = Frame
