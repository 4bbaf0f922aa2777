"""Ports of this machine that lead to the board, by rules such as `tcp:8080:80`.

The sockets stay open while the board is switched off and on.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from portbench.errors import BoardError

if TYPE_CHECKING:
    from portbench_engine import Machine

LOOPBACK = "127.0.0.1"
FORM = "PROTOCOL:[BIND:]PORT:[ADDRESS:]BOARD_PORT, such as tcp:8080:80"
_FIELDS = re.compile(r"\[([^\]]*)\]|([^:\[\]]+)")

Protocol = Literal["tcp", "udp"]


@dataclass(frozen=True)
class ForwardRule:
    """One rule. `host_port` 0: a free one. `address` None: the board's, as the simulated PC knows it."""

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
    """Read a rule, see FORM. Raises ValueError."""
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
    # An address stands before its port, and no port looks like an address.
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
        raise ValueError(f"{text!r} is not a port from {least} to 65535")
    return int(text)


SLICE_PS: Final = 200 * 10**6
"""The slice of simulated time while the board serves a program of this machine, whose measurements are late by less."""
_BACKLOG = 128


@dataclass
class _Forward:
    rule: ForwardRule
    socket: socket.socket
    number: int

    def facts(self, machine: Machine) -> dict[str, Any]:
        host, port = self.socket.getsockname()[:2]
        stats = machine.forward_stats(self.number) or {}
        return {"rule": str(self.rule), "protocol": self.rule.protocol, "host": host, "host_port": port,
                "address": None if self.rule.address is None else str(self.rule.address), "port": self.rule.port,
                **stats}  # fmt: skip


class Forwards:
    """The ports that `rules` open. Raises BoardError for a rule that this machine refuses, ValueError where the board
    does."""

    def __init__(self, machine: Machine, rules: Iterable[ForwardRule]) -> None:
        self._machine = machine
        self._forwards: list[_Forward] = []
        try:
            for rule in rules:
                self.add(rule)
        except BaseException:
            self.close()
            raise

    def __bool__(self) -> bool:
        return bool(self._forwards)

    @property
    def serving(self) -> bool:
        """True if the board serves a program of this machine, or did a moment ago."""
        return bool(self._forwards) and self._machine.serves_host

    def add(self, rule: ForwardRule) -> dict[str, Any]:
        """Open the port of `rule`, and return its facts with the port that was chosen."""
        bound = _bound(rule)
        try:
            forward = _Forward(rule, bound, _attach(self._machine, rule, bound))
        except BaseException:
            bound.close()
            raise
        self._forwards.append(forward)
        return forward.facts(self._machine)

    def remove(self, host_port: int, protocol: str) -> None:
        """Close the port; open connections go on. Raises ValueError for a port that does not lead to the board."""
        for forward in self._forwards:
            if forward.rule.protocol == protocol and forward.socket.getsockname()[1] == host_port:
                self._forwards.remove(forward)
                self._machine.end_forward(forward.number)
                forward.socket.close()
                return
        known = ", ".join(f"{f.rule.protocol}:{f.socket.getsockname()[1]}" for f in self._forwards) or "none"
        raise ValueError(f"{protocol}:{host_port} does not lead to the board (there are: {known})")

    def facts(self) -> list[dict[str, Any]]:
        return [forward.facts(self._machine) for forward in self._forwards]

    def powered_up(self, machine: Machine) -> None:
        """Lead all ports to `machine`; open connections were reset with the board."""
        self._machine = machine
        for forward in self._forwards:
            forward.number = _attach(machine, forward.rule, forward.socket)

    def close(self) -> None:
        for forward in self._forwards:
            forward.socket.close()
        self._forwards.clear()


def _bound(rule: ForwardRule) -> socket.socket:
    family = socket.AF_INET6 if ":" in rule.bind else socket.AF_INET
    kind = socket.SOCK_STREAM if rule.protocol == "tcp" else socket.SOCK_DGRAM
    bound = socket.socket(family, kind)
    try:
        if rule.protocol == "tcp":
            # An earlier user of the port may have left connections that wait for their end.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((rule.bind, rule.host_port))
        if rule.protocol == "tcp":
            bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        why = error.strerror or error
        raise BoardError(
            f"forward {rule}: port {rule.host_port} of {rule.bind} is not available ({why}); use another one, or 0"
        ) from None
    return bound


def _attach(machine: Machine, rule: ForwardRule, bound: socket.socket) -> int:
    address = None if rule.address is None else str(rule.address)
    return machine.forward(bound.fileno(), rule.protocol == "udp", rule.port, address)
