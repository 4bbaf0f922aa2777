"""Where the time of one exchange goes, as far as the wires and the cores show it: each moment has one cause.

At each moment the first of these that holds:

| cause | holds |
|---|---|
| SPI frame | while a device is selected |
| answer unread in the chip | from the arrival of the PC's answer at the board to the first look at the chip after it |
| on the cable | while a frame is on its way |
| PC | from the arrival of an exchange there to its answer's handover to TCP |
| interrupt handler | while core 0 handles an interrupt |
| core 0 runs | while it does |
| core 0 sleeps | else |
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from portbench.boards.emulated.spi_frame import SpiFrame

SPI: Final = "SPI frame"
UNREAD: Final = "answer unread in the chip"
CABLE: Final = "on the cable"
PC: Final = "PC"
HANDLER: Final = "interrupt handler"
RUNS: Final = "core 0 runs"
SLEEPS: Final = "core 0 sleeps"
ORDER: Final = (SPI, UNREAD, CABLE, PC, HANDLER, RUNS, SLEEPS)

_BYTE_US: Final = 0.08
"""On 100BASE-TX."""
_LEAST_BYTES: Final = 60
_AROUND_BYTES: Final = 12
"""Preamble and frame check sequence."""


@dataclass(frozen=True)
class Cause:
    """What a stretch of time went by for."""

    start_us: float
    end_us: float
    name: str


@dataclass(frozen=True)
class Total:
    """What one cause took altogether."""

    name: str
    duration_us: float
    of_exchange: float
    """0 to 1."""
    times: int


def cable_us(length: int) -> float:
    """How long a frame of `length` bytes, without padding and check sequence, is on the cable."""
    return (max(length, _LEAST_BYTES) + _AROUND_BYTES) * _BYTE_US


def causes(
    window_us: tuple[float, float],
    frames: Sequence[SpiFrame],
    records: Iterable[dict[str, Any]],
    pc_us: Iterable[tuple[float, float]],
) -> tuple[Cause, ...]:
    """Every moment of the window with its cause, in order and without a gap.

    `pc_us`: when the PC had each exchange, and when it handed its answer over.
    """
    start_us, end_us = window_us
    records = list(records)
    spans = [(frame.start_us, frame.end_us, SPI) for frame in frames]
    spans += _lan_spans(end_us, frames, [record for record in records if record["kind"] == "lan"], pc_us)
    spans += _core_spans(end_us, [record for record in records if record["kind"] in ("irq", "cores")])
    edges = [(start_us, 0, -1)]
    for begin_us, until_us, name in spans:
        begin_us, until_us = max(begin_us, start_us), min(until_us, end_us)
        if begin_us < until_us:
            edges += [(begin_us, 1, ORDER.index(name)), (until_us, -1, ORDER.index(name))]
    edges.sort(key=lambda edge: edge[0])
    edges.append((end_us, 0, -1))
    open_spans = [0] * len(ORDER)
    found: list[Cause] = []
    at_us = start_us
    for edge_us, change, cause in edges:
        if edge_us > at_us:
            name = next((name for name, n in zip(ORDER, open_spans, strict=True) if n), SLEEPS)
            if found and found[-1].name == name:
                at_us = found.pop().start_us
            found.append(Cause(at_us, edge_us, name))
            at_us = edge_us
        if cause >= 0:
            open_spans[cause] += change
    return tuple(found)


def totals(found: Iterable[Cause]) -> list[Total]:
    """The causes by the time that they took, the longest first."""
    found = list(found)
    all_us = sum(cause.end_us - cause.start_us for cause in found)
    groups: dict[str, list[float]] = {}
    for cause in found:
        groups.setdefault(cause.name, []).append(cause.end_us - cause.start_us)
    each = [Total(name, sum(took), sum(took) / all_us, len(took)) for name, took in groups.items()]
    return sorted(each, key=lambda total: (-total.duration_us, total.name))


def _lan_spans(
    end_us: float,
    frames: Sequence[SpiFrame],
    lan: Sequence[dict[str, Any]],
    pc_us: Iterable[tuple[float, float]],
) -> list[tuple[float, float, str]]:
    spans = []
    arrivals_us = []
    for record in lan:
        t_us, took_us = record["t_us"], cable_us(record["len"])
        # Those from the board are recorded as they leave, those to it as they arrive.
        spans.append((t_us, t_us + took_us, CABLE) if record["from_board"] else (t_us - took_us, t_us, CABLE))
        if not record["from_board"]:
            arrivals_us.append(t_us)
    looks_us = [frame.start_us for frame in frames]
    for had_us, answered_us in pc_us:
        spans.append((had_us, answered_us, PC))
        arrived = bisect_right(arrivals_us, answered_us)
        if arrived < len(arrivals_us):
            looked = bisect_left(looks_us, arrivals_us[arrived])
            spans.append((arrivals_us[arrived], looks_us[looked] if looked < len(looks_us) else end_us, UNREAD))
    return spans


def _core_spans(end_us: float, records: Sequence[dict[str, Any]]) -> list[tuple[float, float, str]]:
    spans = []
    running_us: float | None = None
    entered: list[float] = []
    for record in records:
        if record["core"] != 0:
            continue
        t_us = record["t_us"]
        if record["kind"] == "cores":
            if record["running"]:
                running_us = t_us
            elif running_us is not None:
                spans.append((running_us, t_us, RUNS))
                running_us = None
        elif record["entry"]:
            entered.append(t_us)
        elif entered:
            begun_us = entered.pop()
            if not entered:
                spans.append((begun_us, t_us, HANDLER))
    if running_us is not None:
        spans.append((running_us, end_us, RUNS))
    if entered:
        spans.append((entered[0], end_us, HANDLER))
    return spans
