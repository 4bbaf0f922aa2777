"""A complete program for a firmware and a board, for users to paste: it joins the network and serves a page, or blinks
where there is no network."""

import re
from typing import Final

from portbench.boards import BoardDefinition
from portbench.clients.assembly import fold
from portbench.clients.families import FAMILIES

_LINE: Final = "NIC_LINE"
_SETS_NOTHING: Final = "network.WLAN(network.STA_IF)"
_PINS: Final = re.compile(r"^from machine import SPI, Pin\n", re.MULTILINE)


def example(family: str, board: BoardDefinition, line: str | None) -> str:
    """The program, with `line` to make the network interface as `nic_line` has it.

    The file is `example/KIND OF NETWORK.py` in the folder of the family's client.
    """
    kind = "none" if board.network is None else board.network.kind
    source = fold(FAMILIES[family].example(kind).read_text(encoding="utf-8"), board)
    source = source.replace(f"{_LINE}\n", "" if line in (None, _SETS_NOTHING) else f"{line}\n")
    return source if "Pin(" in source else _PINS.sub("", source)
