"""The time of an ICMP echo while the board's program waits, by the size of the request."""

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Column,
    ConversationError,
    Measurement,
    Metric,
    Native,
    PingPlan,
    Served,
    Session,
    WorkloadResult,
    WorkloadSettings,
)
from portbench.workloads.conversation import FRAME_BYTES, ReportedConversation, shown
from portbench.workloads.settings import each_number, number_list

DONE: Final = b"done"
MOST_SIZES: Final = 8
MOST_COUNT: Final = 1000
MOST_INTERVAL_MS: Final = 10_000
WAIT_US: Final = 1_000_000
"""Wait for the answer to the last request."""
_LONGEST_LINE: Final = 80
_LINE: Final = re.compile(rb"ping ([0-9]{1,4}(?:,[0-9]{1,4})*) ([0-9]{1,4}) ([0-9]{1,5})")


class PingsOnDemand(ReportedConversation):
    """The PC's side of a connection on which the board asks for pings, and hears when they are over.

    The board says `ping SIZES COUNT INTERVAL_MS`, such as `ping 56,1300 100 103`, and gets `done` at the end. This is
    the one exchange. A client without a console sends its report after that.
    """

    def __init__(self, max_report_bytes: int) -> None:
        super().__init__(max_report_bytes)
        self._line = bytearray()
        self._over = False

    def receive(self, data: bytes) -> bytes:
        if self._over:
            self.receive_report(data, "the end")
        elif self.pings is not None:
            raise ConversationError(f"the board said {shown(data)} while it was pinged")
        else:
            self._line += data
            if len(self._line) > _LONGEST_LINE or b"\n" in self._line:
                self.pings = _plan(bytes(self._line))
                self.exchanges = 1
        return b""

    def pinged(self) -> bytes:
        self._over = True
        return DONE

    def eof(self) -> None:
        if not self._over:
            raise ConversationError("the board closed before its pings were over")
        super().eof()


def _plan(line: bytes) -> PingPlan:
    found = _LINE.fullmatch(line.removesuffix(b"\n"))
    if found is not None:
        sizes = tuple(map(int, found[1].split(b",")))
        count, interval_ms = int(found[2]), int(found[3])
        fits = len(sizes) <= MOST_SIZES and max(sizes) <= FRAME_BYTES
        if fits and 1 <= count <= MOST_COUNT and 1 <= interval_ms <= MOST_INTERVAL_MS:
            return PingPlan(sizes, count, interval_ms * 1000, WAIT_US)
    raise ConversationError(f"the board said {shown(line)}, which is not a valid request for pings")


NATIVE_SIZES: Final = "56,512,1300"
NATIVE_INTERVAL_MS: Final = 103
"""The sizes and the interval of the native client, as in its body."""


class Settings(WorkloadSettings):
    sizes: Annotated[str, number_list(0, FRAME_BYTES, MOST_SIZES)] = Field(
        default=NATIVE_SIZES, description="bytes of data of a request, one size after the other"
    )
    count: int = Field(default=100, ge=1, le=MOST_COUNT, description="requests of each size")
    interval_ms: int = Field(
        default=NATIVE_INTERVAL_MS, ge=1, le=MOST_INTERVAL_MS, description="from one request to the next"
    )

    @property
    def each_size(self) -> list[int]:
        return each_number(self.sizes)


class Result(WorkloadResult):
    pinged: Literal[True]


class PingWorkload(Served, Native):
    name = "ping"
    title = "Ping"
    headline = Metric("avg_us", "us avg", better="lower")
    reading = (
        "the PC pings the board while the board's program waits for a TCP byte. *us avg*, *min*, *max* and *mdev* are"
        " the figures that ping prints, of the smallest request's round trips on the PC's clock; *largest* is the"
        " average of the largest request; *lost* counts all requests."
    )
    columns = (
        Column("min us", "min_us"),
        Column("max us", "max_us"),
        Column("mdev us", "mdev_us"),
        Column("largest us", "largest_avg_us"),
        Column("lost %", "lost_percent"),
    )
    comparable = ("max_us",)
    settings_type = Settings
    quick_settings: ClassVar = {"count": 3}
    boards_only = True

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        Result.read(result)
        pings = next((session.pings for session in reversed(sessions) if session.pings), [])
        due = [size for size in settings.each_size for _ in range(settings.count)]
        if [ping.data_bytes for ping in pings] != due:
            raise BadResult(f"the PC sent {len(pings)} pings, not {len(due)}, or not of the sizes that were asked for")
        figures: dict[str, float] = {}
        samples: dict[str, list[float]] = {}
        for size in settings.each_size:
            of_size = [ping.round_trip_us for ping in pings if ping.data_bytes == size]
            trips = [round(trip_us, 3) for trip_us in of_size if trip_us is not None]  # the clocks' digits
            figures[f"lost_{size}"] = float(settings.count - len(trips))
            if trips:
                samples[f"round_trip_{size}_us"] = trips
                figures |= {f"{name}_{size}_us": value for name, value in _as_ping_prints(trips).items()}
        return Measurement(self.derive(figures, settings), samples)

    def derive(self, figures: Mapping[str, float], settings: Settings) -> dict[str, float]:
        smallest, largest = min(settings.each_size), max(settings.each_size)
        derived = dict(figures)
        for name in ("min", "avg", "max", "mdev"):
            if (value := figures.get(f"{name}_{smallest}_us")) is not None:
                derived[f"{name}_us"] = value
        if (value := figures.get(f"avg_{largest}_us")) is not None:
            derived["largest_avg_us"] = value
        lost = [figures[name] for size in settings.each_size if (name := f"lost_{size}") in figures]
        if lost:
            derived["lost_percent"] = 100 * sum(lost) / (len(lost) * settings.count)
        if lost and "avg_us" not in derived:
            raise BadResult(f"none of {settings.count} pings of {smallest} bytes was answered")
        return derived

    def exchanges(self, settings: Settings) -> int:
        return 1

    def conversation(self, max_bytes: int) -> PingsOnDemand:
        return PingsOnDemand(max_bytes)

    def check_room(self, family: str, settings: Settings) -> None:
        if family == "native" and (settings.sizes, settings.interval_ms) != (NATIVE_SIZES, NATIVE_INTERVAL_MS):
            raise ValueError(
                f"the native client has sizes {NATIVE_SIZES}, interval_ms {NATIVE_INTERVAL_MS}; leave both out"
            )

    def native_settings(self, settings: Settings) -> list[int]:
        return [settings.count]


def _as_ping_prints(trips: Sequence[float]) -> dict[str, float]:
    """The figures that ping prints; `mdev` is the population's standard deviation, as in iputils."""
    return {
        "min": min(trips),
        "avg": statistics.fmean(trips),
        "max": max(trips),
        "mdev": math.sqrt(max(0.0, statistics.pvariance(trips))),
    }


WORKLOAD = PingWorkload()
