"""Where a client listens: the one line that it prints before its clock runs."""

from __future__ import annotations

import json
from ipaddress import IPv4Address
from typing import Annotated, Final

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from portbench.workloads.announcement import LISTENING_PREFIX


@dataclass(frozen=True, config=ConfigDict(extra="ignore"))
class Listening:
    """A TCP port of a board."""

    address: IPv4Address
    port: Annotated[int, Field(ge=1, le=65535, strict=True)]

    def __str__(self) -> str:
        return f"{self.address}:{self.port}"


_LINE: Final = TypeAdapter(Listening)


def parse_listening(line: str) -> Listening | None:
    """What a console line says of it; None where it says nothing, or is damaged. Text may stand around it."""
    _, found, text = line.partition(LISTENING_PREFIX)
    if not found:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
        return _LINE.validate_python(value)
    except (ValueError, RecursionError, ValidationError):
        return None
