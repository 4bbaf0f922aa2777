"""A rule that leads a port of this machine to a port of the board, as people write it: `tcp:8080:80`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from typing import Literal, cast

LOOPBACK = "127.0.0.1"
FORM = "PROTOCOL:[BIND:]PORT:[ADDRESS:]BOARD_PORT, such as tcp:8080:80"
_FIELDS = re.compile(r"\[([^\]]*)\]|([^:\[\]]+)")

Protocol = Literal["tcp", "udp"]


@dataclass(frozen=True)
class ForwardRule:
    """`host_port` 0: one that is free. `address` None: the board's, as the simulated PC knows it."""

    protocol: Protocol
    host_port: int
    port: int
    bind: str = LOOPBACK
    address: IPv4Address | None = None

    def __str__(self) -> str:
        bind = "" if self.bind == LOOPBACK else f"[{self.bind}]:" if ":" in self.bind else f"{self.bind}:"
        address = "" if self.address is None else f"{self.address}:"
        return f"{self.protocol}:{bind}{self.host_port}:{address}{self.port}"


def parse_rule(text: str) -> ForwardRule:
    """Raises ValueError."""
    try:
        return _parse(text)
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}; use {FORM}") from None


def _parse(text: str) -> ForwardRule:
    protocol, _, rest = text.partition(":")
    if protocol not in ("tcp", "udp"):
        raise ValueError(f"{protocol!r} is neither tcp nor udp")
    found = [(match[1], match[2], match.end()) for match in _FIELDS.finditer(rest)]
    fields = [quoted if quoted is not None else plain for quoted, plain, _ in found]
    written = ":".join(f"[{quoted}]" if quoted is not None else plain for quoted, plain, _ in found)
    if written != rest or not 2 <= len(fields) <= 4:
        raise ValueError("has not two ports")
    # An address stands before its port, and no port looks like one.
    bind = fields.pop(0) if not _is_number(fields[0]) else LOOPBACK
    host_port = _port(fields.pop(0), least=0)
    address = IPv4Address(fields.pop(0)) if len(fields) == 2 else None
    if len(fields) != 1:
        raise ValueError("has not two ports")
    return ForwardRule(cast(Protocol, protocol), host_port, _port(fields[0], least=1), str(ip_address(bind)), address)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _port(text: str, *, least: int) -> int:
    if not _is_number(text) or len(text) > 5 or not least <= int(text) <= 65535:
        raise ValueError(f"{text!r} is no port from {least} to 65535")
    return int(text)
