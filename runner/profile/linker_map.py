"""Functions of a map file, as GNU ld writes it with `-Map`.

With `-ffunction-sections` each function is an input section `.text.NAME`; other code has the name of its object file.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from portbench.runner.profile.symbols import Symbol

_SECTION: Final = re.compile(r"^ (\.\S+|\S*text\S*)(?:\s+(0x[0-9a-fA-F]+)\s+(0x[0-9a-fA-F]+)\s+(\S.*))?$")
_PLACE: Final = re.compile(r"^\s+(0x[0-9a-fA-F]+)\s+(0x[0-9a-fA-F]+)\s+(\S.*)$")
_CODE: Final = re.compile(r"^\.(?:time_critical|text|init|fini|boot2|after_data|ram_text|iram)\b\.?(.*)$")
_BEGIN: Final = "Linker script and memory map"


def map_symbols(text: str) -> list[Symbol]:
    """All code with an address; empty if the text is not a map file."""
    _, begin, rest = text.partition(_BEGIN)
    return list(_sections(rest.splitlines())) if begin else []


def _sections(lines: list[str]) -> Iterator[Symbol]:
    waiting: str | None = None
    for line in lines:
        match = _SECTION.match(line)
        if match is not None:
            waiting = match[1]
            if match[2] is None:
                continue  # a long name has its address in the next line
            place = match[2], match[3], match[4]
        else:
            below = _PLACE.match(line)
            if below is None or waiting is None:
                waiting = None
                continue
            place = below[1], below[2], below[3]
        section, waiting = waiting, None
        code = _CODE.match(section)
        start, size = int(place[0], 16), int(place[1], 16)
        if code is not None and size and start:
            origin = place[2].strip()
            yield Symbol(start, size, code[1] or PurePath(origin).name, f"{section} {_short(origin)}")


def _short(origin: str) -> str:
    """The name of an object file with its folder's."""
    return "/".join(PurePath(origin).parts[-2:])
