"""The published program for an SD card, pico_fatfs_test: it starts at a key, and prints its figures on UART 0."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from portbench_engine import PS_PER_S, Board

from portbench.boards import BoardError, board_definition
from portbench.boards.definition import CardSocket
from portbench.boards.emulated.config import engine_settings
from portbench.boards.emulated.sd_card import SdCard, card_settings

_SOCKET: Final = CardSocket(bus="spi0", sck_pin=2, mosi_pin=3, miso_pin=4, csn_pin=5)
"""The program's pins of the card."""
_PROMPT: Final = b"Type any character to start"
_END: Final = b"Done"
_PASS: Final = re.compile(rb"^ *[\d.]+, (\d+), (\d+), (\d+)\r?$", re.MULTILINE)
_LIMIT_S: Final = 100
"""Limit of simulated time. The program takes 34 s."""


def figures(image: Path, board: str) -> Mapping[str, float]:
    """The latencies in us by the names of the workload `sd_card`. Raises PortbenchError."""
    wired = replace(board_definition(board), sd_card=_SOCKET)
    machine = Board.from_image(image.read_bytes(), **engine_settings(wired), **card_settings(SdCard(), None, wired))
    said, typed = b"", False
    while _END not in said:
        if (stop := machine.run(PS_PER_S // 10)) != "time" or machine.time_ps > _LIMIT_S * PS_PER_S:
            raise BoardError(f"{image}: ended with {stop!r}; it said {said[-60:]!r}")
        said += machine.uarts[0].read()
        if not typed and _PROMPT in said:
            machine.uarts[0].write(b"\r")
            typed = True
    return latencies_us(said, str(image))


def latencies_us(said: bytes, what: str) -> Mapping[str, float]:
    """Those of the first pass of two that write, and of the first of two that read. Raises BoardError."""
    passes = [[float(each) for each in found.groups()] for found in _PASS.finditer(said)]
    if len(passes) != 4:
        raise BoardError(f"{what}: printed {len(passes)} lines of figures, not 4; it said {said[-60:]!r}")
    return {
        f"{way}_latency_{which}_us": value
        for way, values in (("write", passes[0]), ("read", passes[2]))
        for which, value in zip(("max", "min", "avg"), values, strict=True)
    }
