"""The configuration block of the native firmware (layout: firmware/native/README.md, firmware/native/config.h)."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from portbench.errors import PortbenchError

CONFIG_ADDRESS: Final = 0x101F_F000
"""Address of the block: the last 4096-byte sector of the 2 MiB flash, as an XIP address."""

BLOCK_BYTES: Final = 256
SETTINGS_MAX: Final = 45
"""The most numbers for a body beside the count."""
COUNT_MAX: Final = 50_000
WAIT_MAX_MS: Final = 1_800_000
SPI_HZ_MIN: Final = 300_000
SPI_HZ_MAX: Final = 66_500_000

_MAGIC: Final = b"PBCF"
_VERSION: Final = 1
_FLAG_STATIC: Final = 1
_FLAG_POLL: Final = 2
_BODY: Final = struct.Struct("<4sHH4sHHI4s4s4s6sHIIIII")
_CRC: Final = struct.Struct("<I")
_SETTINGS_MAGIC: Final = b"PBST"
_ANY: Final = IPv4Address(0)
_ERASED: Final = b"\xff"


@dataclass(frozen=True, slots=True)
class StaticAddress:
    """The board's own address, for a network without DHCP. The native client asks no DNS server."""

    ip: IPv4Address
    mask: IPv4Address
    gateway: IPv4Address = _ANY
    dns: IPv4Address = _ANY

    def as_list(self) -> list[str]:
        return [str(self.ip), str(self.mask), str(self.gateway), str(self.dns)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeConfig:
    """Settings of the native client. The defaults are those of the firmware without a block."""

    server: IPv4Address | None = None
    """`None`: the DHCP server, or the gateway of a static address."""
    port: int = 5000
    count: int = 1000
    """Number of exchanges, or of the workload's other unit."""
    repeat: int = 1
    """Runs after one start, each with a new connection and a separate report."""
    static: StaticAddress | None = None
    """`None`: DHCP."""
    mac: bytes | None = None
    """6 bytes; `None`: a locally administered address made from the flash chip's unique id."""
    intn: bool = True
    """Watch the INTn pin; otherwise poll Sn_RX_RSR over SPI."""
    spi_hz: int = 33_300_000
    """The fastest rate allowed; the chip takes the next one below that its dividers give."""
    ready_timeout_ms: int = 30_000
    """From start-up to the first connection, and from each further run's start to its connection."""
    message_timeout_ms: int = 5_000
    success_wait_ms: int = 0
    """After the last report, before the board goes to its USB boot loader."""
    settings: Sequence[int] = ()
    """Numbers for the workload's body beside the count."""
    failure_wait_ms: int = 0
    """After a failure, while the LED shows the stage's code, before the board goes to its USB boot loader."""


def _check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise PortbenchError(f"native firmware: {name} is {value}; choose {low} to {high}")


def _host(name: str, address: IPv4Address) -> bytes:
    if address.is_multicast or address.is_reserved or address == _ANY:
        raise PortbenchError(f"native firmware: {name} is {address}; give the address of one host")
    return address.packed


def _static(address: StaticAddress) -> tuple[bytes, bytes, bytes]:
    try:
        network = IPv4Network(f"{address.ip}/{address.mask}", strict=False)
    except ValueError as error:
        raise PortbenchError(f"native firmware: static mask is {address.mask}; give one like 255.255.255.0") from error
    if network.netmask != address.mask:  # IPv4Network also takes host masks such as 0.0.0.255
        raise PortbenchError(f"native firmware: static mask is {address.mask}; give one like 255.255.255.0")
    if address.gateway != _ANY and address.gateway not in network:
        raise PortbenchError(
            f"native firmware: static gateway {address.gateway} is outside {network}; give one inside, or none"
        )
    return _host("static ip", address.ip), address.mask.packed, address.gateway.packed


def _mac(mac: bytes | None) -> bytes:
    if mac is None:
        return bytes(6)
    if len(mac) != 6 or mac[0] & 1 or mac == bytes(6):
        raise PortbenchError(f"native firmware: mac is {mac.hex(':')!r}; give 6 bytes of a unicast address")
    return mac


def pack(config: NativeConfig) -> bytes:
    """The 256-byte block to program at `CONFIG_ADDRESS`; raises `PortbenchError` for a setting out of range."""
    _check_range("port", config.port, 1, 0xFFFF)
    _check_range("count", config.count, 1, COUNT_MAX)
    _check_range("repeat", config.repeat, 1, 0xFFFF)
    _check_range("spi_hz", config.spi_hz, SPI_HZ_MIN, SPI_HZ_MAX)
    _check_range("ready_timeout_ms", config.ready_timeout_ms, 1, WAIT_MAX_MS)
    _check_range("message_timeout_ms", config.message_timeout_ms, 1, WAIT_MAX_MS)
    _check_range("success_wait_ms", config.success_wait_ms, 0, WAIT_MAX_MS)
    _check_range("failure_wait_ms", config.failure_wait_ms, 0, WAIT_MAX_MS)
    ip, mask, gateway = _static(config.static) if config.static else (bytes(4), bytes(4), bytes(4))
    if config.server is None and config.static and config.static.gateway == _ANY:
        raise PortbenchError("native firmware: no server; give one, or a gateway that is the server")
    flags = (_FLAG_STATIC if config.static else 0) | (0 if config.intn else _FLAG_POLL)
    body = _BODY.pack(
        _MAGIC,
        _VERSION,
        _BODY.size,
        _host("server", config.server) if config.server is not None else bytes(4),
        config.port,
        flags,
        config.count,
        ip,
        mask,
        gateway,
        _mac(config.mac),
        config.repeat,
        config.ready_timeout_ms,
        config.message_timeout_ms,
        config.spi_hz,
        config.success_wait_ms,
        config.failure_wait_ms,
    )
    return (body + _CRC.pack(zlib.crc32(body)) + _settings(config.settings)).ljust(BLOCK_BYTES, _ERASED)


def _settings(numbers: Sequence[int]) -> bytes:
    """The bytes behind the block; none without numbers."""
    if not numbers:
        return b""
    _check_range("how many settings there are", len(numbers), 1, SETTINGS_MAX)
    for number in numbers:
        _check_range("a setting", number, 0, 0xFFFF_FFFF)
    told = struct.pack(f"<4sI{len(numbers)}I", _SETTINGS_MAGIC, len(numbers), *numbers)
    return told + _CRC.pack(zlib.crc32(told))
