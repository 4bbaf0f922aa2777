"""Where an emulated run's time went: the engine's recording, cut at what the client itself timed.

The client tells how long each span took; the engine finds the two readings of the board's timer that are so far apart.
What comes back has the form of `results.attribution.Attribution`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from portbench._engine import Machine
from portbench.boards.emulated.trace import exception_name
from portbench.workloads import Session, Timed


def attribution(
    machine: Machine, timed: Sequence[Timed], sessions: Sequence[Session], result: Mapping[str, Any]
) -> dict[str, Any] | None:
    """None where nothing was recorded, or no readings of the clock fit what the client told."""
    spans_us = [round(each.duration_us) for each in timed]
    found = machine.attribution(
        spans_us, _moments(timed, sessions), _count(result, "ready_us"), _count(result, "link_us")
    )
    if found is None or found["lost"] or found["spans"] is None:
        return None
    return _as_json(found, timed, machine.stats()["spi_hz"])


def _moments(timed: Sequence[Timed], sessions: Sequence[Session]) -> list[float]:
    """When the PC had each span's exchange, where every span has one."""
    received: list[float] = max((session.received_us for session in sessions), key=len, default=[])
    exchanges = [each.exchange for each in timed]
    if any(number is None or number >= len(received) for number in exchanges):
        return []
    return [received[number] for number in exchanges if number is not None]


def _count(result: Mapping[str, Any], name: str) -> int | None:
    value = result.get(name)
    return value if type(value) is int and value >= 0 else None


def _as_json(found: Mapping[str, Any], timed: Sequence[Timed], spi_hz: int | None) -> dict[str, Any]:
    stages = dict(found["stages"])
    names = stages.pop("names")
    return {
        "spans": {
            **_columns(found["spans"]),
            "names": [each.name for each in timed],
            "reported_us": [each.duration_us for each in timed],
        },
        "stages": {**_columns(stages), "names": names, "reported_us": [None] * len(names)},
        "spi_hz": spi_hz,
        "clk_sys_hz": found["clk_sys_hz"],
        "miss_cycles": found["miss_cycles"],
        "flash_pages": {"misses": {f"0x{address:08x}": count for address, count in found["pages"].items()}},
    }


def _columns(found: Mapping[str, Any]) -> dict[str, Any]:
    columns = dict(found)
    taken = columns.pop("exceptions")
    return {**columns, "interrupts": {exception_name(number): column for number, column in taken.items()}}
