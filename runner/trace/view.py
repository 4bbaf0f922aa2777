"""A traced exchange for people."""

from __future__ import annotations

from itertools import islice

from rich.console import Console
from rich.table import Table

from portbench.boards.emulated.trace import ExchangeTrace, SpiFrame

_SHOWN_ADDRESSES = 15
_REGIONS = (("ROM", 0x0000_0000), ("flash", 0x1000_0000), ("SRAM", 0x2000_0000))
_REGION_BITS = 0xF000_0000


def show(trace: ExchangeTrace, title: str, console: Console) -> None:
    """Prints the frames and events in order, and then who took the time."""
    console.print(_timeline(trace, title))
    console.print(_shares(trace))
    selected = 100 * trace.selected_us / trace.duration_us
    console.print(
        f"{trace.duration_us:.1f} us from the server's last exchange to this one; {len(trace.frames)} chip selects, "
        f"{trace.wire_bytes} SPI bytes, SCSn low for {trace.selected_us:.1f} us ({selected:.1f} %)",
        soft_wrap=True,
    )
    if trace.pc_samples:
        console.print(_samples(trace))
    if trace.lost:
        console.print(f"{trace.lost} records did not fit and are missing", style="bold red")


def _timeline(trace: ExchangeTrace, title: str) -> Table:
    table = Table("us", "took", "", "what", "bytes", "data", "", title=title, title_justify="left")
    for column in (0, 1, 4):
        table.columns[column].justify = "right"
    lines = [(frame.start_us, _frame_cells(frame)) for frame in trace.frames]
    lines += [(event.time_us, ("", "", event.what, "", "", "")) for event in trace.events]
    for time_us, cells in sorted(lines, key=lambda line: line[0]):
        table.add_row(f"{time_us - trace.start_us:.2f}", *cells)
    return table


def _frame_cells(frame: SpiFrame) -> tuple[str, ...]:
    more = "" if frame.length <= len(frame.data) else " ..."
    where = f"{frame.name} 0x{frame.address:04x}" if frame.name.endswith(" buffer") else frame.name
    data = frame.data.hex(" ") + more
    return (
        f"{frame.duration_us:.2f}",
        "write" if frame.write else "read",
        where,
        str(frame.length),
        data,
        frame.meaning,
    )


def _shares(trace: ExchangeTrace) -> Table:
    table = Table("register or buffer", "", "frames", "SPI bytes", "us", "of exchange", title_justify="left")
    for column in range(2, 6):
        table.columns[column].justify = "right"
    for share in trace.shares():
        table.add_row(
            share.name,
            "write" if share.write else "read",
            str(share.frames),
            str(share.wire_bytes),
            f"{share.duration_us:.2f}",
            f"{100 * share.of_exchange:.2f} %",
        )
    return table


def _samples(trace: ExchangeTrace) -> Table:
    total = sum(count for _, _, count in trace.pc_samples)
    table = Table("core", "address", "samples", "share", title=f"{total} program counter samples", title_justify="left")
    for name, base in _REGIONS:
        count = sum(count for _, pc, count in trace.pc_samples if pc & _REGION_BITS == base)
        if count:
            table.add_row("", name, str(count), f"{100 * count / total:.1f} %")
    table.add_section()
    for core, pc, count in islice(trace.pc_samples, _SHOWN_ADDRESSES):
        table.add_row(str(core), f"0x{pc:08x}", str(count), f"{100 * count / total:.1f} %")
    return table
