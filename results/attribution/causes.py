"""Causes of time. Each picosecond of a span has exactly one cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Group:
    """Causes with a common title."""

    name: str
    title: str


@dataclass(frozen=True)
class Cause:
    """`name`: the key in a run file."""

    name: str
    group: str
    title: str


_SPI: Final = Group("spi", "SPI")
_DRIVER: Final = Group("driver", "driver between SPI frames")
_CODE: Final = Group("code", "interpreter and C code")
_WAIT: Final = Group("wait", "waiting")
_USB: Final = Group("usb", "USB")
_WIFI: Final = Group("wifi", "Wi-Fi")
_NETWORK: Final = Group("network", "network and PC")
_UNNAMED: Final = Group("unnamed", "unnamed")

GROUPS: Final = {group.name: group for group in (_SPI, _DRIVER, _CODE, _WAIT, _USB, _WIFI, _NETWORK, _UNNAMED)}

_ALL: Final = (
    Cause("spi_bits", "spi", "bits on the bus"),
    Cause("gap_pause", "spi", "the controller's own pauses"),
    Cause("gap_miss", "spi", "between bytes: flash cache misses"),
    Cause("gap_wait", "spi", "between bytes: bus wait states"),
    Cause("gap_run", "spi", "between bytes: execution"),
    Cause("driver_miss", "driver", "flash cache misses"),
    Cause("driver_wait", "driver", "bus wait states"),
    Cause("driver_run", "driver", "execution"),
    Cause("code_miss", "code", "flash cache misses"),
    Cause("code_wait", "code", "bus wait states"),
    Cause("code_run", "code", "execution"),
    Cause("wait_poll", "wait", "a frame lies unread until a timer polls the chip"),
    Cause("wait_intn", "wait", "a frame lies unread until the chip's interrupt is served"),
    Cause("wait_timer", "wait", "asleep until a timer"),
    Cause("wait_dma", "wait", "asleep until a DMA transfer ends"),
    Cause("wait_chip", "wait", "asleep until the network chip's interrupt, no frame unread"),
    Cause("wait_usb", "wait", "asleep until USB"),
    Cause("wait_other", "wait", "asleep until another interrupt or event"),
    Cause("usb", "usb", "in the USB interrupt"),
    Cause("link", "network", "the link comes up"),
    Cause("radio", "wifi", "the radio chip works on a frame"),
    Cause("air", "wifi", "a frame waits for its turn on the air, and is sent"),
    Cause("access_point", "wifi", "the access point has a frame"),
    Cause("power_save", "wifi", "the access point keeps a frame until the radio wakes"),
    Cause("wire_to_pc", "network", "a frame on the wire to the PC"),
    Cause("pc", "network", "the PC prepares its answer"),
    Cause("delayed_ack", "network", "the PC delays its acknowledgement"),
    Cause("wire_to_board", "network", "a frame on the wire to the board"),
    Cause("unnamed", "unnamed", "unnamed"),
)

CAUSES: Final = {cause.name: cause for cause in _ALL}
"""By name, in the order of a table."""


def moment_title(name: str) -> str:
    """The name of a moment on a time line that does not show misses and wait states."""
    cause = CAUSES[name]
    if name.endswith("_run"):
        return "SPI: between bytes" if cause.group == _SPI.name else GROUPS[cause.group].title
    return f"SPI: {cause.title}" if cause.group == _SPI.name else cause.title
