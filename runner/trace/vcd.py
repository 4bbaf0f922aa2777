"""The wires of a board's network chip as a VCD file, for PulseView, sigrok-cli or GTKWave.

Levels come from the pins. The engine tells the first and the last clock edge of each SPI frame; its bits are spread
evenly between them, in the controller's SPI mode.
"""

from collections.abc import Iterable, Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

from portbench.boards.definition import Ethernet
from portbench.files import replacing

WIRES: Final = ("sck", "mosi", "miso", "csn", "intn", "rstn")
_NAMES: Final = {"sck": "SCK", "mosi": "MOSI", "miso": "MISO", "csn": "CSn", "intn": "INTn", "rstn": "RSTn"}
_SHIFTED: Final = ("sck", "mosi", "miso")
_NS_PER_US: Final = 1000

Change = tuple[float, str, int]
"""Time in microseconds, wire, level."""


def write_vcd(
    path: Path, records: Iterable[dict[str, Any]], window_us: tuple[float, float], network: Ethernet, title: str
) -> None:
    """Write the engine's records of the time in `window_us`. Times are nanoseconds of simulated time since power-up."""
    from vcd import VCDWriter

    start_ns, end_ns = (round(time_us * _NS_PER_US) for time_us in window_us)
    levels, changes = wire_changes(records, network)
    with replacing(path) as stream:
        file = TextIOWrapper(stream, encoding="ascii")
        with VCDWriter(
            file, timescale="1 ns", date="", comment=title, version="portbench", init_timestamp=start_ns
        ) as writer:
            wires = {
                wire: writer.register_var("board", _NAMES[wire], "wire", size=1, init=levels.get(wire, "x"))
                for wire in WIRES
                if f"{wire}_pin" in network.pins
            }
            for time_us, wire, level in changes:
                writer.change(wires[wire], max(start_ns, round(time_us * _NS_PER_US)), level)
            writer.close(max(start_ns, end_ns))
        file.detach()  # `replacing` closes it


def wire_changes(records: Iterable[dict[str, Any]], network: Ethernet) -> tuple[dict[str, int], list[Change]]:
    """The first level of each wire, and all changes after it in order."""
    pins = {wire: network.pins[f"{wire}_pin"] for wire in WIRES if f"{wire}_pin" in network.pins}
    records = list(records)
    shifts = [record for record in records if record["kind"] == "wire" and record["spi"] == network.spi_id]
    found = [change for record in shifts for change in shifted(record)]
    spans = [(record["begin_us"], record["t_us"]) for record in shifts]
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    span = 0
    for record in (record for record in records if record["kind"] == "pins"):
        t_us = record["t_us"]
        while span < len(spans) and spans[span][1] < t_us:
            span += 1
        shifting = span < len(spans) and spans[span][0] <= t_us
        for wire, pin in pins.items():
            level = record["level"] >> pin & 1
            if wire not in first:
                first[wire] = last[wire] = level
            # During a frame, the recorded pins keep their levels from before it.
            elif level != last[wire] and not (wire in _SHIFTED and shifting):
                found.append((t_us, wire, level))
            last[wire] = level
    return first, _changing(first, sorted(found, key=lambda change: change[0]))


def shifted(record: Mapping[str, Any]) -> list[Change]:
    """Changes of SCK, MOSI and MISO in one SPI frame, most significant bit first."""
    bits, idle, phase = record["bits"], int(record["polarity"]), record["phase"]
    edges = 2 * bits
    step_us = (record["t_us"] - record["first_us"]) / (edges - 1)
    at_us = [record["first_us"] + step_us * edge for edge in range(edges)]
    changes: list[Change] = []
    for bit in range(bits):
        # The first bit is on the wire before the first edge, except with phase 1.
        before_us = record["begin_us"] if bit == 0 else at_us[2 * bit - 1]
        data_us = at_us[2 * bit] if phase else before_us
        for wire in ("mosi", "miso"):
            changes.append((data_us, wire, record[wire] >> (bits - 1 - bit) & 1))
        changes += [(at_us[2 * bit], "sck", 1 - idle), (at_us[2 * bit + 1], "sck", idle)]
    return changes


def _changing(first: Mapping[str, int], changes: Iterable[Change]) -> list[Change]:
    now = dict(first)
    found = []
    for time_us, wire, level in changes:
        if now.get(wire) != level:
            now[wire] = level
            found.append((time_us, wire, level))
    return found
