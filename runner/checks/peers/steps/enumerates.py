"""`{ enumerates = "MIDI" }`: what the PC's USB knows of a configured device has it, as a regular expression."""

from __future__ import annotations

import re

from portbench.runner.checks.peers.program_board import ProgramBoard
from portbench.runner.checks.peers.step import Step


class Enumerates(Step):
    """Looked through are `vid:pid manufacturer product`, and the classes without a driver of ours."""

    enumerates: str

    def do(self, board: ProgramBoard, within_s: float) -> None:
        pattern = re.compile(self.enumerates)
        board.wait(lambda: pattern.search(_shown(board)) is not None, within_s, f"{self.enumerates!r} on USB", "usb")


def _shown(board: ProgramBoard) -> str:
    usb = board.machine.usb()
    if not usb["configured"]:
        return ""
    return " ".join(
        [
            f"{usb['vid']:04x}:{usb['pid']:04x} {usb['manufacturer']} {usb['product']}",
            *(f"serial{place}" for place in range(usb["serial_ports"])),
            *(["storage"] if usb["storage"] else []),
            *map(str, usb["unused"]),
        ]
    )


STEP = Enumerates
