"""Tables of a traced exchange."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import islice

from rich.console import Console
from rich.table import Table

from portbench.boards.emulated.trace import Event, ExchangeTrace, SpiFrame
from portbench.console import new_table
from portbench.results.attribution import Span
from portbench.runner.explain.view import causes_table
from portbench.runner.profile.symbols import REGIONS, region

_MOST_STEPS = 12
"""The longest loop to look for."""
_SHOWN_ADDRESSES = 15
_SHOWN_BYTES = 6
_SHOWN_TEXT = 30


@dataclass(frozen=True)
class Repeat:
    """Items `start` to `start + steps`, repeated `times` times."""

    start: int
    steps: int
    times: int

    @property
    def end(self) -> int:
        return self.start + self.steps * self.times


def repeats(keys: Sequence[Hashable]) -> list[Repeat]:
    """All of `keys` in order as loops, so that a table has each loop once.

    Each time, take the loop that covers most, of equals the shortest: `a a a a` is `a` four times.
    """
    found = []
    at = 0
    while at < len(keys):
        best = Repeat(at, 1, 1)
        for steps in range(1, min(_MOST_STEPS, (len(keys) - at) // 2) + 1):
            times = 1
            block = keys[at : at + steps]
            while keys[at + times * steps : at + (times + 1) * steps] == block:
                times += 1
            if times > 1 and steps * times > best.steps * best.times:
                best = Repeat(at, steps, times)
        found.append(best)
        at = best.end
    return found


@dataclass(frozen=True)
class TraceLine:
    """One frame or event of the time line."""

    time_us: float
    key: Hashable
    """Lines with equal keys repeat each other."""
    took: str
    what: str
    length: str
    says: str


def show(trace: ExchangeTrace, title: str, console: Console) -> None:
    """Print the frames and events in order, then the time by register, by address and by cause."""
    console.print(_timeline(trace, title))
    console.print(_shares(trace))
    if trace.pc_samples:
        console.print(_samples(trace))
    if trace.causes_ps:
        console.print(_causes(trace))
    console.print(
        f"{trace.duration_us:.1f} us; {len(trace.frames)} chip selects, {trace.wire_bytes} SPI bytes",
        soft_wrap=True,
    )
    if trace.lost:
        console.print(f"{trace.lost} records did not fit and are missing", style="bold red")


def lines(frames: Sequence[SpiFrame], events: Sequence[Event]) -> list[TraceLine]:
    """Frames and events by their times."""
    found = [_frame_line(frame) for frame in frames]
    found += [TraceLine(event.time_us, event.what, "", event.what, "", "") for event in events]
    return sorted(found, key=lambda line: line.time_us)


def _timeline(trace: ExchangeTrace, title: str) -> Table:
    columns = ("us", "took", "what", "bytes", "says", "")
    table = new_table(columns, right=("us", "took", "bytes"), title=title)
    found = lines(trace.frames, trace.events)
    for repeat in repeats([line.key for line in found]):
        for line in found[repeat.start : repeat.start + repeat.steps]:
            times = f"x{repeat.times}" if repeat.times > 1 else ""
            time = f"{line.time_us - trace.start_us:.2f}"
            table.add_row(time, line.took, line.what, line.length, line.says, times)
    return table


def _frame_line(frame: SpiFrame) -> TraceLine:
    where = f"{frame.name} 0x{frame.address:04x}" if frame.name.endswith(" buffer") else frame.name
    data = frame.data[:_SHOWN_BYTES].hex(" ") + ("..." if frame.length > _SHOWN_BYTES else "")
    says = frame.meaning if frame.length <= 2 or frame.meaning else data
    if len(says) > _SHOWN_TEXT:
        says = says[: _SHOWN_TEXT - 3] + "..."
    what = f"{'write' if frame.write else 'read'} {where}"
    key = (what, frame.length, frame.data)
    return TraceLine(frame.start_us, key, f"{frame.duration_us:.2f}", what, str(frame.length), says or data)


def _shares(trace: ExchangeTrace) -> Table:
    table = new_table(
        ("register or buffer", "", "frames", "SPI bytes", "us", "of all"),
        right=("frames", "SPI bytes", "us", "of all"),
    )
    for share in trace.shares():
        table.add_row(
            share.name,
            "write" if share.write else "read",
            str(share.frames),
            str(share.wire_bytes),
            f"{share.duration_us:.2f}",
            f"{100 * share.of_exchange:.1f} %",
        )
    return table


def _causes(trace: ExchangeTrace) -> Table:
    span = Span("exchange", 0, sum(trace.causes_ps.values()), None, trace.causes_ps, {}, {}, {})
    return causes_table(span, 1, "Where its time goes")


def _samples(trace: ExchangeTrace) -> Table:
    total = sum(count for _, _, count in trace.pc_samples)
    title = f"{total} program counter samples"
    table = new_table(("core", "address", "samples", "share"), right=("samples", "share"), title=title)
    for name in REGIONS:
        count = sum(count for _, pc, count in trace.pc_samples if region(pc) == name)
        if count:
            table.add_row("", name, str(count), f"{100 * count / total:.1f} %")
    for core, pc, count in islice(trace.pc_samples, _SHOWN_ADDRESSES):
        table.add_row(str(core), f"0x{pc:08x}", str(count), f"{100 * count / total:.1f} %")
    return table
