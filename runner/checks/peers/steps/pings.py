"""`{ pings = "192.168.50.2" }`: the board answers the simulated PC's ping, at that address."""

from __future__ import annotations

from ipaddress import IPv4Address

from portbench.runner.checks.peers.program_board import ProgramBoard
from portbench.runner.checks.peers.step import Step

_DATA = b"portbench"
_AGAIN_US = 500_000.0


class Pings(Step):
    pings: IPv4Address

    def do(self, board: ProgramBoard, within_s: float) -> None:
        machine, to = board.machine, str(self.pings)
        asked_us = -_AGAIN_US
        sequence = 0

        def look() -> bool:
            nonlocal asked_us, sequence
            if machine.time_us - asked_us >= _AGAIN_US:
                asked_us, sequence = machine.time_us, sequence + 1
                machine.ping(to, sequence, _DATA)
            return any(peer == to and data == _DATA for peer, _, data, _, _ in machine.ping_replies())

        board.wait(look, within_s, f"an answer of {to} to a ping")


STEP = Pings
