"""Frames on the board's Ethernet cable."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from portbench_engine import board as engine

from portbench.errors import LibraryMissing

_US_IN_S = 1_000_000


class Frame(engine.Frame):
    """One frame, without padding and FCS. Its times are those of `Board.time_ps`."""

    @property
    def lost(self) -> bool:
        """True if it did not get there, as with the cable out."""
        return self.fate != "Delivered"

    @property
    def time_us(self) -> float:
        """When all of it was at its receiver; of a lost frame, when it was sent."""
        return (self.start_ps if self.lost else self.arrival_ps) / 1e6

    @cached_property
    def ethernet(self) -> Any:
        """The frame decoded by dpkt: `frame.ethernet.data` is a `dpkt.ip.IP`, `dpkt.arp.ARP`, or bytes, and so on."""
        with LibraryMissing.unless_installed("test", "Frame.ethernet"):
            import dpkt
        return dpkt.ethernet.Ethernet(self.data)

    def layer(self, kind: type[Any]) -> Any:
        """Return the part of the frame that is a `kind`, such as `dpkt.tcp.TCP`; None where it has none."""
        part = self.ethernet
        while part is not None and not isinstance(part, kind):
            part = getattr(part, "data", None)
        return part


def write_pcap(path: Path, frames: Iterable[Frame]) -> None:
    """Write a capture of all frames, lost ones too, in nanoseconds of simulated time."""
    with LibraryMissing.unless_installed("test", "save_pcap"):
        import dpkt
    with path.open("wb") as file:
        writer = dpkt.pcap.Writer(file, nano=True)
        for frame in frames:
            writer.writepkt(frame.data, frame.time_us / _US_IN_S)
