"""One exchange of a run in detail: every SPI frame by the chip's register names, interrupts and LAN frames.

Times are microseconds of simulated time. An exchange's window begins when the PC's server has the exchange before it
and ends when the server has this one. It holds the answer's way, the client's work and the sending.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

from portbench.boards.emulated.attribution import SpentTime, exception_name
from portbench.errors import BoardError
from portbench.workloads import Session

_BYTE_US: Final = 0.08
"""Time of a byte on 100BASE-TX."""
_LEAST_BYTES: Final = 60
_AROUND_BYTES: Final = 12
"""Preamble and frame check sequence."""


def cable_us(length: int) -> float:
    """Return how long a frame of `length` bytes, without padding and check sequence, is on the cable."""
    return (max(length, _LEAST_BYTES) + _AROUND_BYTES) * _BYTE_US


class SpiFrame(NamedTuple):
    """One decoded transfer of the chip `device`: `length` data bytes at `address` of the register or buffer `name`."""

    start_us: float
    end_us: float
    device: str
    name: str
    address: int
    write: bool
    length: int
    data: bytes
    """The first 16."""
    meaning: str
    """The data as a command, a socket state, text or a number, as far as it is one; else empty."""
    wire_bytes: int
    """With command and address."""

    @property
    def duration_us(self) -> float:
        return self.end_us - self.start_us


@dataclass(frozen=True)
class Event:
    """An event beside SPI: an interrupt taken, an edge of INTn, a frame on the cable."""

    time_us: float
    what: str


@dataclass(frozen=True)
class RegisterShare:
    """The part of the exchange that one register or buffer took, one way."""

    name: str
    write: bool
    frames: int
    wire_bytes: int
    duration_us: float
    of_exchange: float
    """Part of the window's time, 0 to 1."""


@dataclass(frozen=True)
class ExchangeTrace:
    """Exchange `number` (from 1). `lost` counts records that did not fit into the trace."""

    number: int
    start_us: float
    end_us: float
    frames: tuple[SpiFrame, ...]
    events: tuple[Event, ...]
    causes_ps: dict[str, int]
    """The causes of its time, by the names of `results.attribution.CAUSES`; empty where not all was recorded."""
    pc_samples: tuple[tuple[int, int, int], ...]
    """(core, address, how often), most often first."""
    lost: int

    @property
    def duration_us(self) -> float:
        return self.end_us - self.start_us

    @property
    def wire_bytes(self) -> int:
        return sum(frame.wire_bytes for frame in self.frames)

    @property
    def selected_us(self) -> float:
        """Time with SCSn low."""
        return sum(frame.duration_us for frame in self.frames)

    def shares(self) -> list[RegisterShare]:
        """Return the shares of registers and buffers by direction, the longest first."""
        groups: dict[tuple[str, bool], list[SpiFrame]] = {}
        for frame in self.frames:
            register = frame.name.partition("+")[0]  # for any of its bytes
            groups.setdefault((register, frame.write), []).append(frame)
        shares = [
            RegisterShare(
                name=name,
                write=write,
                frames=len(frames),
                wire_bytes=sum(frame.wire_bytes for frame in frames),
                duration_us=sum(frame.duration_us for frame in frames),
                of_exchange=sum(frame.duration_us for frame in frames) / self.duration_us,
            )
            for (name, write), frames in groups.items()
        ]
        return sorted(shares, key=lambda share: (-share.duration_us, share.name, share.write))

    def as_json(self) -> dict[str, Any]:
        """Return everything for programs; `data` as hexadecimal digits."""
        return {
            "exchange": self.number,
            "start_us": self.start_us,
            "end_us": self.end_us,
            "duration_us": self.duration_us,
            "spi": {"chip_selects": len(self.frames), "bytes": self.wire_bytes, "selected_us": self.selected_us},
            "frames": [{**frame._asdict(), "data": frame.data.hex()} for frame in self.frames],
            "registers": [vars(share) for share in self.shares()],
            "events": [vars(event) for event in self.events],
            "causes": [
                {"name": name, "us": ps / 1e6, "share": ps / 1e6 / self.duration_us}
                for name, ps in sorted(self.causes_ps.items(), key=lambda each: (-each[1], each[0]))
            ],
            "pc_samples": [{"core": core, "address": pc, "count": n} for core, pc, n in self.pc_samples],
            "lost": self.lost,
        }


def busiest(sessions: Sequence[Session]) -> Session | None:
    """Return the session with most exchanges, which is the one that is traced."""
    return max(sessions, key=lambda session: len(session.received_us), default=None)


def exchange_window(sessions: Sequence[Session], number: int) -> tuple[float, float]:
    """Return start and end of exchange `number` of the busiest session; the first begins with the connection.

    Raises BoardError where the run had no such exchange.
    """
    session = busiest(sessions)
    received = session.received_us if session else []
    if session is None or not 1 <= number <= len(received):
        known = f"; choose 1 to {len(received)}" if received else ""
        raise BoardError(f"exchange {number}: the run had {len(received)} exchanges{known}")
    if number == 1:
        begun_us = session.established_us if session.established_us is not None else session.started_us
        return begun_us, received[0]
    return received[number - 2], received[number - 1]


def slowest_exchange(sessions: Sequence[Session]) -> int:
    """Return the exchange, from the second on, that took longest; the earliest of equals.

    Raises BoardError where there is none.
    """
    session = busiest(sessions)
    received = session.received_us if session else []
    if len(received) < 2:
        raise BoardError(f"slowest exchange: the run had {len(received)} exchanges, and it takes 2 to compare")
    took_us = [after - before for before, after in pairwise(received)]
    return 2 + max(range(len(took_us)), key=lambda index: (took_us[index], -index))


def exchange_trace(
    number: int,
    window_us: tuple[float, float],
    frames: Iterable[SpiFrame],
    records: Iterable[dict[str, Any]],
    lost: int,
    intn_pin: int | None,
    spent: SpentTime | None = None,
    mcu: str = "RP2040",
) -> ExchangeTrace:
    """Make one exchange of the engine's records; those outside of the window are left out.

    `spent`: the causes of the window's time. `mcu` names the interrupts.
    """
    start_us, end_us = window_us
    records = list(records)
    frames = tuple(frame for frame in frames if start_us <= frame.start_us < end_us)
    inside = [record for record in records if start_us <= record["t_us"] < end_us]
    samples = Counter((record["core"], record["pc"]) for record in inside if record["kind"] == "pc")
    return ExchangeTrace(
        number=number,
        start_us=start_us,
        end_us=end_us,
        frames=frames,
        events=tuple(_events(inside, intn_pin, mcu)),
        causes_ps={} if spent is None else spent.causes_ps,
        pc_samples=tuple(
            (core, pc, n) for (core, pc), n in sorted(samples.items(), key=lambda each: (-each[1], each[0]))
        ),
        lost=lost,
    )


def _events(records: Iterable[dict[str, Any]], intn_pin: int | None, mcu: str) -> Iterable[Event]:
    intn: int | None = None
    for record in records:
        if record["kind"] == "irq" and record["entry"]:
            yield Event(record["t_us"], f"core {record['core']} takes {exception_name(record['number'], mcu)}")
        elif record["kind"] == "lan":
            sender = "board" if record["from_board"] else "PC"
            yield Event(record["t_us"], f"{sender}'s frame, {record['len']} bytes")
        elif record["kind"] == "pins" and intn_pin is not None:
            level = record["level"] >> intn_pin & 1
            if intn is not None and level != intn:
                yield Event(record["t_us"], f"INTn {'high' if level else 'low'}")
            intn = level
