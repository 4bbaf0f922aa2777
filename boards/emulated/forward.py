"""The ports of this machine that lead to the board: their sockets stay while the board is switched off and on."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from portbench._engine import Machine
from portbench.boards.emulated.forward_rule import ForwardRule
from portbench.boards.errors import BoardError

SLICE_US: Final = 200.0
"""Simulated time between two looks at the clock while a program of this machine is being served: what it measures is
late by less than this."""
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
    """`rules`: from the start on. Raises BoardError for one that this machine refuses, ValueError if the board does."""

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
        """A program of this machine is being served, or was a moment ago."""
        return bool(self._forwards) and self._machine.serves_host

    def add(self, rule: ForwardRule) -> dict[str, Any]:
        """What has come of it so far, with the port that was chosen."""
        bound = _bound(rule)
        try:
            forward = _Forward(rule, bound, _attach(self._machine, rule, bound))
        except BaseException:
            bound.close()
            raise
        self._forwards.append(forward)
        return forward.facts(self._machine)

    def remove(self, host_port: int, protocol: str) -> None:
        """Frees the port; connections that are open go on. Raises ValueError where it does not lead to the board."""
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
        """Whoever was connected has been reset, with the board."""
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
            # Whoever was here before may have left connections that wait for their end.
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((rule.bind, rule.host_port))
        if rule.protocol == "tcp":
            bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        why = error.strerror or error
        raise BoardError(
            f"forward {rule}: port {rule.host_port} of {rule.bind} cannot be had ({why}); use another one, or 0"
        ) from None
    return bound


def _attach(machine: Machine, rule: ForwardRule, bound: socket.socket) -> int:
    address = None if rule.address is None else str(rule.address)
    return machine.forward(bound.fileno(), rule.protocol == "udp", rule.port, address)
