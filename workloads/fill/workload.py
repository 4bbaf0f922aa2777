"""The rate at which a board fills the buffer that it sends, and the rate of the network without filling."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Column,
    Measurement,
    Metric,
    Native,
    Served,
    Session,
    WorkloadResult,
    WorkloadSettings,
)
from portbench.workloads.transfer import Transfers

LEAST_POINTS: Final = 4
STRAIGHT: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Tolerances, as shares of the slope: a point lies on the line if it is at most so far away. The first share counts for
which half of the points lie on a line. A simulated board's times are straight; a busy network bends them."""


@dataclass(frozen=True)
class StraightLine:
    """`first`, `last`: the numbers of fills between which the times lie on it; times in microseconds."""

    first: int
    last: int
    slope_us: float
    intercept_us: float
    worst: float
    """The largest distance of a point from the line, as a share of the slope."""


def straight_part(times_us: Sequence[float]) -> StraightLine | None:
    """The longest straight stretch of the times for 0, 1, 2, ... fills; None if fewer than half lie on a line.

    The beginning may be bent: the first fills cost nothing while the chip still sends. Single points may be off the
    line, too: the PC's delayed acknowledgements make a transfer shorter or longer.
    """
    least = max(LEAST_POINTS, len(times_us) // 2)
    ends = [(first, last) for first in range(len(times_us)) for last in range(first + least - 1, len(times_us))]
    lines = [_line(times_us, first, last) for first, last in ends]
    for share in STRAIGHT:
        straight = [line for line in lines if line is not None and line.worst <= share]
        if straight:
            return max(straight, key=lambda line: (line.last - line.first, -line.worst))
    return None


def _line(times_us: Sequence[float], first: int, last: int) -> StraightLine | None:
    fills = range(first, last + 1)
    slope, intercept = statistics.linear_regression(fills, times_us[first : last + 1])
    if slope <= 0:
        return None
    worst = max(abs(times_us[each] - intercept - slope * each) for each in fills) / slope
    return StraightLine(first, last, slope, intercept, worst)


BUFFER_BYTES: Final = 2048
PASSES: Final = {"int16": 1024, "bytes": 2048, "port": 2048}
"""Passes of the loop that fills a buffer once."""


class Settings(WorkloadSettings):
    buffers: int = Field(default=20, ge=1, le=50, description=f"buffers of {BUFFER_BYTES} bytes of one transfer")
    fills: int = Field(default=10, ge=LEAST_POINTS, le=20, description="most fills of a buffer between two writes")


class Result(WorkloadResult):
    times_us: dict[str, list[Annotated[int, Field(ge=1)]]]
    """Times of a transfer, by kind of fill: one entry for each number of fills, from 0 on."""
    cpu_hz: Annotated[int, Field(ge=1)] | None = None


class FillWorkload(Served, Native):
    name = "fill"
    title = "Buffer fill"
    headline = Metric("fill_bytes_mbit_s", "Mbit/s filled")
    reading = (
        "a buffer of 2048 bytes is filled 0, 1, 2, ... times before each write; the time of a fill is the slope of the"
        " straight part of the transfer's time, *straight from* that many fills on. *bytes* fills by single bytes,"
        " *int16* by 16-bit integers, *port* by readings of the GPIO port; *network* is the rate without any fill."
    )
    columns = (
        Column("int16 Mbit/s", "fill_int16_mbit_s"),
        Column("port Mbit/s", "fill_port_mbit_s"),
        Column("network Mbit/s", "network_mbit_s"),
        Column("cycles/byte", "fill_bytes_cycles_per_pass"),
        Column("straight from", "fill_bytes_straight_from"),
        Column("off line %", "fill_bytes_off_line_pct"),
    )
    comparable = ("network_mbit_s", "fill_bytes_mbit_s", "fill_int16_mbit_s", "fill_port_mbit_s")
    settings_type = Settings
    quick_settings: ClassVar = {"buffers": 2, "fills": LEAST_POINTS}
    boards_only = True
    exchange = "transfer"

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result)
        if not {"int16", "bytes"} <= said.times_us.keys() <= PASSES.keys():
            raise BadResult(f"the client filled by {', '.join(said.times_us) or 'nothing'}, not by int16 and bytes")
        bits = settings.buffers * BUFFER_BYTES * 8
        figures: dict[str, float] = {
            "network_mbit_s": bits / min(times[0] for times in said.times_us.values() if times)
        }
        samples: dict[str, list[float]] = {}
        for kind, times_us in said.times_us.items():
            if len(times_us) != settings.fills + 1:
                raise BadResult(f"the client timed {len(times_us)} transfers by {kind}, not {settings.fills + 1}")
            samples[f"{kind}_us"] = [*times_us]
            line = straight_part(times_us)
            if line is None:
                raise BadResult(f"the client's times by {kind} have no straight part: {times_us}")
            pass_us = line.slope_us / settings.buffers / PASSES[kind]
            figures |= {
                f"fill_{kind}_mbit_s": bits / line.slope_us,
                f"fill_{kind}_ns_per_pass": pass_us * 1000,
                f"fill_{kind}_straight_from": float(line.first),
                f"fill_{kind}_straight_to": float(line.last),
                f"fill_{kind}_off_line_pct": line.worst * 100,
            }
            if said.cpu_hz is not None:
                figures[f"fill_{kind}_cycles_per_pass"] = pass_us * said.cpu_hz / 1e6
        return Measurement(figures, samples)

    def exchanges(self, settings: Settings) -> int:
        return len(PASSES) * (settings.fills + 1)

    def native_settings(self, settings: Settings) -> list[int]:
        return [settings.buffers, settings.fills]

    def conversation(self, max_bytes: int) -> Transfers:
        return Transfers()


WORKLOAD = FillWorkload()
