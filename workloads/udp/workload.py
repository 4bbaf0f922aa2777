"""UDP throughput of a board, the highest rate that it receives, and the share of lost datagrams."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from portbench.workloads import (
    BadResult,
    Column,
    Datagrams,
    Measurement,
    Metric,
    Native,
    Served,
    Session,
    WorkloadResult,
    WorkloadSettings,
)
from portbench.workloads.conversation import FRAME_BYTES, Hears
from portbench.workloads.settings import each_number, number_list

ANSWERS: Final = 3
"""Times to send an answer: one may be lost, and the board may have no time-outs."""
BETWEEN_US: Final = 20_000.0
LEAST_BYTES: Final = 2
MOST_COUNT: Final = 900
MOST_GAP_US: Final = 1_000_000
_PEERS: Final = 64
_LEAST_RATE_KBIT_S: Final = 50
_MOST_RATE_KBIT_S: Final = 50_000
_ASKED: Final = re.compile(rb" ([0-9]{1,4}) ([0-9]{1,3}) ([0-9]{1,7})")


class Counted(Datagrams):
    """The PC's datagrams of one run.

    A datagram begins with a letter and the number of its transfer, a byte each. `u` belongs to a transfer up and is
    counted. `q` asks for the count; the answer is `a`, the number and the count in three digits, sent ANSWERS times.
    `d` asks for a transfer down by ` SIZE COUNT GAP_US` behind its number; the answers are COUNT datagrams `D` of SIZE
    bytes, one every GAP_US, and then `e`, also of SIZE bytes, ANSWERS times.
    """

    def __init__(self) -> None:
        self._up: dict[str, dict[int, int]] = {}

    def receive(self, peer: str, data: bytes) -> list[tuple[float, bytes]]:
        peer = peer.rpartition(":")[0]  # a driver may take another port for each datagram
        if len(data) < LEAST_BYTES or (peer not in self._up and len(self._up) == _PEERS):
            return []
        kind, number = data[:1], data[1]
        counts = self._up.setdefault(peer, {})
        if kind == b"u":
            counts[number] = counts.get(number, 0) + 1
        elif kind == b"q":
            return _often(b"a%c%03d" % (number, min(counts.get(number, 0), MOST_COUNT)), 0.0)
        elif kind == b"d" and (found := _ASKED.fullmatch(data[2:])):
            return _stream(number, int(found[1]), int(found[2]), int(found[3]))
        return []


def _stream(number: int, size: int, count: int, gap_us: int) -> list[tuple[float, bytes]]:
    least_gap_us = size * 8000 // _MOST_RATE_KBIT_S
    if not (LEAST_BYTES <= size <= FRAME_BYTES and 1 <= count <= MOST_COUNT and least_gap_us <= gap_us <= MOST_GAP_US):
        return []
    one, end = (b"%b%c" % (kind, number) + bytes(size - 2) for kind in (b"D", b"e"))
    return [(float(index * gap_us), one) for index in range(count)] + _often(end, float(count * gap_us))


def _often(data: bytes, after_us: float) -> list[tuple[float, bytes]]:
    return [(after_us + (number + 1) * BETWEEN_US, data) for number in range(ANSWERS)]


_TAKES: Final = 0.99
"""The share of datagrams that a board must receive at a rate."""
_Count = Annotated[int, Field(ge=0, le=MOST_COUNT)]
_Microseconds = Annotated[int, Field(ge=0, le=1 << 40)]


class Settings(WorkloadSettings):
    sizes: Annotated[str, number_list(LEAST_BYTES, FRAME_BYTES)] = Field(
        default="64,512,1472", description="bytes of a datagram up; datagrams down have the largest size"
    )
    count: int = Field(default=50, ge=2, le=MOST_COUNT, description="datagrams of each size up, and of each rate down")
    rates_kbit_s: Annotated[str, number_list(_LEAST_RATE_KBIT_S, _MOST_RATE_KBIT_S)] = Field(
        default="250,500,1000,2000,4000,8000", description="rates at which the PC sends"
    )

    @property
    def each_size(self) -> list[int]:
        return each_number(self.sizes)

    @property
    def each_rate(self) -> list[int]:
        return each_number(self.rates_kbit_s)


class Result(WorkloadResult):
    """Times are on the board's clock. Up: size, datagrams that the driver accepted and refused, microseconds, arrivals.
    Down: rate, arrivals, microseconds from the first arrival to the last."""

    up: list[Annotated[tuple[int, _Count, _Count, _Microseconds, _Count], Field(strict=False)]]
    down: list[Annotated[tuple[int, _Count, _Microseconds], Field(strict=False)]]


class UdpWorkload(Served, Native):
    name = "udp"
    title = "Bulk UDP"
    headline = Metric("up_mbit_s", "Mbit/s up")
    reading = (
        "*up* is the payload that arrived at the PC, divided by the board's time to send it, of the best size. *down*"
        " is the highest of the PC's rates with at most 1 % loss, *peak* the most payload that arrived at any rate."
        " `portbench show --csv` has all sizes and rates."
    )
    columns = (
        Column("best size up", "up_best_bytes"),
        Column("lost up %", "up_lost_percent"),
        Column("down Mbit/s", "down_mbit_s"),
        Column("peak Mbit/s", "down_peak_mbit_s"),
    )
    comparable = ("up_mbit_s",)
    settings_type = Settings
    quick_settings: ClassVar = {"count": 5, "sizes": "512", "rates_kbit_s": "500"}
    patience_us = 45e6
    exchange = "run"

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result)
        made = [(size, taken + refused) for size, taken, refused, _, _ in said.up]
        if made != [(size, settings.count) for size in settings.each_size]:
            raise BadResult(f"the client sent {len(made)} transfers, not {len(settings.each_size)}, or not as asked")
        if [rate for rate, _, _ in said.down] != settings.each_rate:
            raise BadResult(f"the client took {len(said.down)} rates, not {len(settings.each_rate)}, or not as asked")
        if any(came > taken for _, taken, _, _, came in said.up) or any(n > settings.count for _, n, _ in said.down):
            raise BadResult("more datagrams came than were sent")
        figures: dict[str, float] = {}
        for size, taken, refused, took_us, came in said.up:
            figures |= {f"up_{size}_us": float(took_us), f"up_{size}_came": float(came)}
            figures |= {f"up_{size}_lost": float(taken - came), f"up_{size}_refused": float(refused)}
        for rate, came, took_us in said.down:
            figures |= {f"down_{rate}_came": float(came), f"down_{rate}_us": float(took_us)}
        return Measurement(self.derive(figures, settings))

    def derive(self, figures: Mapping[str, float], settings: Settings) -> dict[str, float]:
        derived = dict(figures)
        up = {
            size: figures[f"up_{size}_came"] * size * 8 / us
            for size in settings.each_size
            if (us := figures.get(f"up_{size}_us"))
        }
        if up:
            best = max(up, key=lambda size: up[size])
            derived |= {f"up_{size}_mbit_s": rate for size, rate in up.items()}
            derived |= {"up_mbit_s": up[best], "up_best_bytes": float(best)}
            lost = settings.count - figures[f"up_{best}_came"]
            derived["up_lost_percent"] = 100 * lost / settings.count
        if f"down_{settings.each_rate[0]}_came" in figures:
            derived |= self._down(figures, settings)
        return derived

    def _down(self, figures: Mapping[str, float], settings: Settings) -> dict[str, float]:
        size, found, taken, peak = max(settings.each_size), {}, 0.0, 0.0
        for rate in settings.each_rate:
            came, took_us = figures[f"down_{rate}_came"], figures[f"down_{rate}_us"]
            found[f"down_{rate}_lost_percent"] = 100 * (settings.count - came) / settings.count
            if came >= _TAKES * settings.count:
                taken = max(taken, rate / 1000)
            if took_us:  # the clock starts at the first arrival
                # If most are lost, the others come from a queue, faster than over any cable.
                sent_us = (settings.count - 1) * (size * 8000 // rate)
                peak = max(peak, (came - 1) * size * 8 / max(took_us, sent_us))
        return {**found, "down_mbit_s": taken, "down_peak_mbit_s": peak}

    def exchanges(self, settings: Settings) -> int:
        return 1

    def native_settings(self, settings: Settings) -> list[int]:
        return [settings.count, len(settings.each_size), *settings.each_size, *settings.each_rate]

    def conversation(self, max_bytes: int) -> Hears:
        """The TCP connection stays open until the board says `over`."""
        return Hears(b"over\n")

    def datagrams(self) -> Counted:
        return Counted()

    def check_room(self, family: str, settings: Settings) -> None:
        slowest = max(settings.each_size) * 8000 // min(settings.each_rate)
        if slowest > MOST_GAP_US:
            raise ValueError(
                f"rates_kbit_s has {min(settings.each_rate)}: one datagram in {slowest} us is too slow; use more"
            )


WORKLOAD = UdpWorkload()
