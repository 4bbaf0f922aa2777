"""Puts together what each family's client needs on the board."""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Literal

from portbench.boards import BoardDefinition, Deployment
from portbench.clients.errors import DeploymentError
from portbench.clients.folding import fold
from portbench.clients.libraries import library_files

CONFIG_NAME = "portbench_config.json"

AddressMode = Literal["dhcp", "static"]

_HERE = Path(__file__).parent
_SCRIPTS = {
    "micropython": ("micropython.py", "main.py"),
    "wiznet": ("micropython.py", "main.py"),
    "circuitpython": ("circuitpython.py", "code.py"),
    "hosted": ("unix.py", "main.py"),
    "blinka": ("circuitpython.py", "code.py"),
}
"""Family -> (script of this folder, its name on the board). `blinka`: CircuitPython's client on the PC's CPython, which
has the libraries installed."""


@dataclass(frozen=True)
class StaticAddress:
    """The board's address where no DHCP is used."""

    ip: IPv4Address
    mask: IPv4Address
    gateway: IPv4Address
    dns: IPv4Address

    def as_list(self) -> list[str]:
        return [str(self.ip), str(self.mask), str(self.gateway), str(self.dns)]


@dataclass(frozen=True)
class ClientConfig:
    """A client's parameters, deployed beside it as portbench_config.json.

    `spi_hz` None: the board's or the driver's default. `intn`: use the INTn pin where the firmware can. `server` is an
    address, not a name: the clients look nothing up. Raises ValueError with one line for what no client could use.
    """

    server: IPv4Address
    port: int
    messages: int
    address_mode: AddressMode = "dhcp"
    static: StaticAddress | None = None
    spi_hz: int | None = None
    intn: bool = True
    ready_timeout_s: float = 30.0

    def __post_init__(self) -> None:
        if not 1 <= self.port <= 65535:
            raise ValueError(f"client config: port {self.port} is not within 1 to 65535")
        if self.messages < 1:
            raise ValueError(f"client config: messages {self.messages} has to be 1 or more")
        if not self.ready_timeout_s > 0:
            raise ValueError(f"client config: ready_timeout_s {self.ready_timeout_s} has to be more than 0")
        if self.spi_hz is not None and self.spi_hz < 1:
            raise ValueError(f"client config: spi_hz {self.spi_hz} has to be 1 or more")
        if self.address_mode == "static" and self.static is None:
            raise ValueError("client config: address mode static needs an address")

    def to_json(self) -> bytes:
        return json.dumps(
            {
                "server": str(self.server),
                "port": self.port,
                "messages": self.messages,
                "address_mode": self.address_mode,
                "static": self.static.as_list() if self.static else None,
                "spi_hz": self.spi_hz,
                "intn": self.intn,
                "ready_timeout_s": self.ready_timeout_s,
            }
        ).encode()


def build_deployment(
    family: str, version: str, board: BoardDefinition, config: ClientConfig, timeout_s: float = 60.0
) -> Deployment:
    """The client of `family` for `board`, with its config and, for CircuitPython `version`, its libraries.

    `timeout_s` bounds the download of a library that is not in the cache yet. Raises DeploymentError.
    """
    if family not in _SCRIPTS:
        raise DeploymentError(f"no client for family {family!r}: there are {', '.join(_SCRIPTS)}")
    script, name = _SCRIPTS[family]
    source = fold((_HERE / script).read_text(encoding="utf-8"), board)
    files = {name: source.encode(), CONFIG_NAME: config.to_json()}
    if family == "circuitpython":
        major = version.split(".")[0]
        if not major.isdigit():
            raise DeploymentError(f"CircuitPython version {version!r} does not begin with its major number")
        files |= library_files(int(major), timeout_s)
    return Deployment(files, family)
