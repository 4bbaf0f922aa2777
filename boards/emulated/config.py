"""What can be set about an emulated board's surroundings."""

from __future__ import annotations

from dataclasses import field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr, TypeAdapter
from pydantic.dataclasses import dataclass

from portbench.boards.definition import BoardDefinition
from portbench.boards.emulated.faults import Fault
from portbench.boards.emulated.machine import engine_settings

_STRICT = ConfigDict(extra="forbid")
_Natural = Annotated[StrictInt, Field(ge=0)]
_PerMille = Annotated[StrictInt, Field(ge=0, le=1000)]


@dataclass(frozen=True, config=_STRICT)
class LanFaults:
    """What the simulated cable does wrong; nothing by default.

    Losses are thousandths of all frames, drawn from `seed`; `down_us` are intervals of simulated time without a link.
    """

    seed: _Natural = 0
    loss_from_board_per_mille: _PerMille = 0
    loss_to_board_per_mille: _PerMille = 0
    extra_delay_us: _Natural = 0
    jitter_us: _Natural = 0
    down_us: tuple[tuple[_Natural, _Natural], ...] = ()

    def settings(self) -> dict[str, Any]:
        return {**vars(self), "down_us": list(self.down_us)}


@dataclass(frozen=True, config=_STRICT)
class EmulatedConfig:
    """Simulated surroundings of the board.

    `turnaround_us`: from an exchange's arrival at the PC's application to its answer's handover to the PC's TCP.
    `phy_link_delay_us`: from the W5500's reset to link up. `server_port`: TCP port of the simulated PC's server.
    `bridge`: guest address:port to host address:port, relays connections to real sockets of this machine instead
    (simulated time then follows the host's clock). `capture`: a pcap file of all frames. `board_faults`: armed from the
    start, see `boards.emulated.faults`. `xip_miss_cost`: whether flash cache misses cost anything; off to see how much.
    `spi_speed`: what the SPI clocks are multiplied with, to see what a faster bus would bring.
    """

    turnaround_us: _Natural = 200
    phy_link_delay_us: _Natural = 1_500_000
    server_port: Annotated[StrictInt, Field(ge=1, le=65535)] = 5000
    pc_ip: IPv4Address = IPv4Address("192.168.50.1")
    bridge: tuple[tuple[StrictStr, StrictStr], ...] = ()
    faults: LanFaults = field(default_factory=LanFaults)
    board_faults: tuple[Fault, ...] = ()
    capture: Path | None = None
    xip_miss_cost: StrictBool = True
    spi_speed: Annotated[StrictInt, Field(ge=1, le=16)] = 1

    def settings(self, definition: BoardDefinition) -> dict[str, Any]:
        """The engine's settings for this configuration on that board. Raises BoardUnavailable."""
        return {
            "turnaround_us": self.turnaround_us,
            "phy_link_delay_us": self.phy_link_delay_us,
            "pc_ip": str(self.pc_ip),
            "bridge": list(self.bridge),
            "faults": self.faults.settings(),
            "capture": str(self.capture) if self.capture else None,
            "xip_miss_cost": self.xip_miss_cost,
            "spi_speed": self.spi_speed,
            **engine_settings(definition),
        }


CONFIG: Final = TypeAdapter(EmulatedConfig)
"""Reads a configuration from JSON and writes it as such."""


def board_address(pc: IPv4Address) -> IPv4Address:
    """A free address on the simulated PC's network: below its DHCP server's pool."""
    return IPv4Address((int(pc) & 0xFFFFFF00) | 10)
