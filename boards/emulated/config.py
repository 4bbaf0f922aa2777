"""What can be set about an emulated board."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from portbench.boards.definition import BoardDefinition
from portbench.boards.emulated.faults import Fault


@dataclass(frozen=True)
class LanFaults:
    """What the simulated cable does wrong; nothing by default.

    Losses are thousandths of all frames, drawn from `seed`; `down_us` are intervals of simulated time without a link.
    """

    seed: int = 0
    loss_from_board_per_mille: int = 0
    loss_to_board_per_mille: int = 0
    extra_delay_us: int = 0
    jitter_us: int = 0
    down_us: tuple[tuple[int, int], ...] = ()

    def settings(self) -> dict[str, Any]:
        return {**vars(self), "down_us": list(self.down_us)}


@dataclass(frozen=True)
class EmulatedConfig:
    """Simulated surroundings of the board.

    `turnaround_us`: from a message's arrival at the PC's application to its answer's handover to the PC's TCP.
    `phy_link_delay_us`: from the W5500's reset to link up. `server_port`: TCP port of the simulated PC's ping-pong
    server. `bridge`: guest address:port to host address:port, relays connections to real sockets of this machine
    instead (simulated time then follows the host's clock). `capture`: a pcap file of all frames.
    `board_faults`: armed from the start, see `boards.emulated.faults`.
    """

    turnaround_us: int = 200
    phy_link_delay_us: int = 1_500_000
    server_port: int = 5000
    pc_ip: str = "192.168.50.1"
    bridge: tuple[tuple[str, str], ...] = ()
    faults: LanFaults = field(default_factory=LanFaults)
    board_faults: tuple[Fault, ...] = ()
    capture: Path | None = None

    def settings(self, definition: BoardDefinition) -> dict[str, Any]:
        """The engine's settings for this configuration on that board."""
        spi = definition.spi
        return {
            "turnaround_us": self.turnaround_us,
            "phy_link_delay_us": self.phy_link_delay_us,
            "pc_ip": self.pc_ip,
            "bridge": list(self.bridge),
            "faults": self.faults.settings(),
            "capture": str(self.capture) if self.capture else None,
            "mcu": definition.mcu,
            "flash_bytes": definition.flash_bytes,
            "devices": [
                {
                    "chip": definition.ethernet,
                    "bus": f"spi{spi.id}",
                    "sck_pin": spi.sck_pin,
                    "mosi_pin": spi.mosi_pin,
                    "miso_pin": spi.miso_pin,
                    "csn_pin": spi.csn_pin,
                    "rstn_pin": spi.rstn_pin,
                    "intn_pin": spi.intn_pin,
                }
            ],
        }


def board_address(pc: IPv4Address) -> IPv4Address:
    """A free address on the simulated PC's network: below its DHCP server's pool."""
    return IPv4Address((int(pc) & 0xFFFFFF00) | 10)
