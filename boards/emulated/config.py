"""Settings of an emulated board's hardware and surroundings."""

from dataclasses import field, fields
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Final

from portbench_engine import CHIPS, MCUS, RADIOS
from pydantic import ConfigDict, Field, StrictBool, StrictInt, TypeAdapter
from pydantic.dataclasses import dataclass

from portbench.boards.definition import (
    PC_IP,
    PHY_LINK_DELAY_S,
    SERVER_PORT,
    TURNAROUND_US,
    BoardDefinition,
    Ethernet,
    Wifi,
)
from portbench.boards.emulated.sd_card import SdCard, card_settings
from portbench.boards.pins import HeldPins, Wire
from portbench.boards.wifi import AccessPoint
from portbench.errors import BoardUnavailable

_NOT_ENGINE: Final = ("server_port", "resolves_names", "sd_card")
"""Fields of EmulatedConfig that are not settings of the engine by their names."""
PC_DRIVER_GAP_US: Final = 100
"""From one request of a PC's USB driver to the next. Arduino's mbed core stops where it is less than 10 us."""


def engine_settings(definition: BoardDefinition) -> dict[str, Any]:
    """Return the engine's settings for the board's hardware. Raises BoardUnavailable for parts without a model."""
    if definition.mcu not in MCUS:
        raise _not_emulated(definition, definition.mcu, MCUS)
    devices: list[dict[str, Any]] = []
    if isinstance(definition.network, Wifi):
        devices.append(wifi_settings(definition, definition.network))
    elif definition.network is not None:
        devices.append(ethernet_settings(definition, definition.network))
    attached = [device.settings() for device in definition.devices]
    settings = {"mcu": definition.mcu, "flash_bytes": definition.flash_bytes, "devices": devices, "attached": attached}
    if definition.psram is not None:
        settings["psram_csn_pin"] = definition.psram.csn_pin
    if definition.avr is not None:
        settings |= {"crystal_hz": definition.avr.crystal_hz, "fuses": list(definition.avr.fuses)}
    return settings


def ethernet_settings(definition: BoardDefinition, ethernet: Ethernet) -> dict[str, Any]:
    """Return the engine's settings for an Ethernet chip. Raises BoardUnavailable for one that is not modelled."""
    if ethernet.chip not in CHIPS:
        raise _not_emulated(definition, ethernet.chip, CHIPS)
    return {"chip": ethernet.chip, "bus": ethernet.bus, **ethernet.pins}


def wifi_settings(definition: BoardDefinition, wifi: Wifi) -> dict[str, Any]:
    """Return the engine's settings for a radio chip. Raises BoardUnavailable for one that is not modelled."""
    if wifi.chip not in RADIOS:
        raise _not_emulated(definition, wifi.chip, RADIOS)
    return {"chip": wifi.chip, "bus": wifi.bus, **wifi.pins}


def _not_emulated(definition: BoardDefinition, has: str, there_are: tuple[str, ...]) -> BoardUnavailable:
    return BoardUnavailable(
        f"{definition.id}: has a {has}, which is not emulated (there are: {', '.join(there_are)}); use a real board"
    )


_STRICT = ConfigDict(extra="forbid", defer_build=True)
_Natural = Annotated[StrictInt, Field(ge=0)]
_Port = Annotated[StrictInt, Field(ge=1, le=65535)]
_PerMille = Annotated[StrictInt, Field(ge=0, le=1000)]


@dataclass(frozen=True, config=_STRICT)
class LanFaults:
    """Faults of the simulated cable; none by default.

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
    `turnarounds_us`: in its place for TCP, one of these for each answer, drawn from `seed`. `dhcp_delay_us`: the DHCP
    server's delay beyond it. `phy_link_delay_us`: from the W5500's reset to link up. `tcp_answer_us`: from a segment's
    arrival to the answer of the chip's TCP; `retry_unit_ns`: the unit of its register RTR (docs/evidence/silicon.md
    says how far both are known). `server_port`: TCP port of the simulated PC's server. `dhcp` to `quick_ack`: the
    services of the simulated PC and their speed, see docs/network.md; None: no such service or name. `resolves_names`:
    every name has the PC's address, unless `dns_answer` gives another. `capture`: a pcap file of all frames.
    `xip_miss_cost`: whether flash cache misses cost time; off to see how much. `flash_layout`: the seed of another
    layout of the flash in its cache; 0: as linked (docs/compare.md). `pins`: voltages at which pins are held, besides
    those that the board holds, as `{"GP15": "low", "GP26": 1.65}`. `wires`: jumper wires between them, as
    `["GP0:GP1"]`. `usb_request_gap_us`: the pause of the PC's USB driver between two requests while it enumerates the
    board; USB asks for none, and some devices need one (docs/emulator-limits.md). `spi_speed`: a factor on the SPI
    clocks, to see what a faster bus would bring. `peer_mss`: the PC sends TCP segments of that size, whatever the board
    announces; None: as it announces. `access_point`: the one that a radio chip finds. `sd_card`: the card in the socket
    that the board's file names; None: no card. `flash_id`: the flash chip's number, of which firmware makes the board's
    id and its MAC address; None: the one that all emulated boards have.
    """

    turnaround_us: _Natural = TURNAROUND_US
    turnarounds_us: tuple[_Natural, ...] = ()
    dhcp_delay_us: _Natural = 0
    seed: _Natural = 1
    phy_link_delay_us: _Natural = round(PHY_LINK_DELAY_S * 1e6)
    tcp_answer_us: _Natural = 130
    retry_unit_ns: Annotated[StrictInt, Field(ge=1)] = 102_600
    server_port: _Port = SERVER_PORT
    pc_ip: IPv4Address = PC_IP
    dhcp: StrictBool = True
    dns_answer: IPv4Address | None = None
    resolves_names: StrictBool = False
    ntp_start_s: Annotated[StrictInt, Field(ge=0, le=0xFFFF_FFFF)] | None = None
    tcp_echo_port: _Port | None = None
    udp_echo_port: _Port | None = None
    stack_delay_us: Annotated[StrictInt, Field(ge=0, le=1_000_000)] = 0
    delayed_ack_us: Annotated[StrictInt, Field(ge=0, le=1_000_000)] = 40_000
    quick_ack: StrictBool = True
    peer_mss: Annotated[StrictInt, Field(ge=536, le=1460)] | None = None
    faults: LanFaults = field(default_factory=LanFaults)
    capture: Path | None = None
    xip_miss_cost: StrictBool = True
    flash_layout: Annotated[StrictInt, Field(ge=0, le=0xFFFF_FFFF)] = 0
    pins: HeldPins = field(default_factory=dict, hash=False)
    wires: tuple[Wire, ...] = ()
    usb_request_gap_us: Annotated[StrictInt, Field(ge=0, le=1_000_000)] = 0
    spi_speed: Annotated[StrictInt, Field(ge=1, le=16)] = 1
    access_point: AccessPoint = field(default_factory=AccessPoint)
    sd_card: SdCard | None = None
    flash_id: Annotated[StrictInt, Field(ge=0, le=0xFFFF_FFFF_FFFF_FFFF)] | None = None

    @property
    def _every_name(self) -> str | None:
        answer = self.pc_ip if self.dns_answer is None and self.resolves_names else self.dns_answer
        return None if answer is None else str(answer)

    def settings(self, definition: BoardDefinition) -> dict[str, Any]:
        """Return the engine's settings for this configuration on a board, with a new card. Raises BoardUnavailable."""
        same = {each.name: getattr(self, each.name) for each in fields(EmulatedConfig) if each.name not in _NOT_ENGINE}
        return {
            **same,
            "turnarounds_us": list(self.turnarounds_us),
            "pc_ip": str(self.pc_ip),
            "dns_answer": self._every_name,
            "bridge": [],
            "faults": self.faults.settings(),
            "capture": str(self.capture) if self.capture else None,
            "pins": {**definition.pins, **self.pins},
            "wires": list(self.wires),
            "access_point": self.access_point.settings(),
            **({} if self.sd_card is None else card_settings(self.sd_card, None, definition)),
            **engine_settings(definition),
        }


CONFIG: Final = TypeAdapter(EmulatedConfig)
"""Reads a configuration from the settings of a test."""
