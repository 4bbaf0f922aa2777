"""Puts a board's pins and SPI clock into a client's source, in the place of their names.

MicroPython's `const()` would do it as the board compiles the script; done here, the board has no more to read than if
the numbers had been written there.
"""

from __future__ import annotations

import re
from typing import Final

from portbench.boards import BoardDefinition, Ethernet
from portbench.errors import PortbenchError

_NAME: Final = re.compile(r"\bboard\.GP_[A-Z_]+\b|\bBOARD_[A-Z_]+\b")


def fold(source: str, definition: BoardDefinition) -> str:
    """`source` for that board. Raises PortbenchError for a name that the board has no value for.

    The names are `BOARD_MACHINE`, `BOARD_SPI_ID`, `BOARD_SPI_HZ`, and `BOARD_SCK_PIN`, `BOARD_MOSI_PIN` and so on for
    the GPIO numbers; CircuitPython's pins are `board.GP_SCK` and so on, which become `board.GP18`. Those of the SD card
    are `BOARD_SD_SPI_ID`, `BOARD_SD_SCK_PIN` and `board.GP_SD_SCK`.
    """
    values = _values(definition)

    def value(match: re.Match[str]) -> str:
        if match[0] not in values:
            known = ", ".join(sorted(values))
            raise PortbenchError(f"{definition.id}: has no {match[0]}, which the client asks for; there are {known}")
        return values[match[0]]

    return _NAME.sub(value, source)


def _values(definition: BoardDefinition) -> dict[str, str]:
    values = {"BOARD_MACHINE": definition.machine}
    if (card := definition.sd_card) is not None:
        values["BOARD_SD_SPI_ID"] = f"{card.spi_id}"
        for name, pin in card.pins.items():
            values[f"BOARD_SD_{name.upper()}"] = f"{pin}"
            values[f"board.GP_SD_{name.removesuffix('_pin').upper()}"] = f"board.GP{pin}"
    ethernet = definition.network
    if not isinstance(ethernet, Ethernet):
        return values
    values |= {"BOARD_SPI_ID": f"{ethernet.spi_id}", "BOARD_SPI_HZ": f"{ethernet.default_hz:_}"}
    for name, pin in ethernet.pins.items():
        values[f"BOARD_{name.upper()}"] = f"{pin}"
        values[f"board.GP_{name.removesuffix('_pin').upper()}"] = f"board.GP{pin}"
    return values
