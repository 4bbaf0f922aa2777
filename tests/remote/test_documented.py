"""The pages that a board's owner follows: they are true."""

from __future__ import annotations

import re
from pathlib import Path

from portbench.boards import load_board
from portbench.boards.definition import DEFINITIONS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_rules_are_for_the_boards_that_there_are() -> None:
    rules = (DOCS / "60-portbench.rules").read_text(encoding="utf-8").splitlines()
    for board in map(load_board, DEFINITIONS.glob("*.toml")):
        for usb_id in (board.usb.micropython, board.usb.circuitpython):
            if not usb_id.vid:  # an ATmega, which has no USB
                continue
            vendor = f'ATTRS{{idVendor}}=="{usb_id.vid:04x}"'
            assert f'SUBSYSTEM=="tty", {vendor}, MODE="0660", TAG+="uaccess"' in rules
            assert f'{vendor}, ENV{{ID_MM_DEVICE_IGNORE}}="1"' in rules
    assert all(line.startswith("#") or re.fullmatch(r'([A-Z]+({\w+})?(==|=|\+=)"[^"]*"(, )?)+', line) for line in rules)
