"""One exchange of each row on the network chip's wires."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from portbench.results.explain.words import duration
from portbench.results.model import Waveform
from portbench.results.page.drawing import INK, bare, colour, drawings, style
from portbench.results.page.parts import Chart, Data, Section, Value, names
from portbench.results.table import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORDER = 6
_HEIGHT: Final = 150.0
_LANES: Final = ("to the PC", "to the board", "SPI write", "SPI read", "INTn")
_TO_PC, _TO_BOARD, _WRITE, _READ = colour(1), colour(2), colour(4), colour(0)


def section(panel: Panel) -> Section | None:
    charts = [
        _chart(label, waveform, panel)
        for label, group in zip(names(panel), panel.groups, strict=True)
        if (waveform := next((row.waveform for row in group.rows if row.waveform is not None), None)) is not None
    ]
    return Section("On the wires", charts=tuple(charts)) if charts else None


def _chart(label: str, waveform: Waveform, panel: Panel) -> Chart:
    wide, narrow = drawings(lambda axes, narrow: _draw(axes, waveform, narrow), _HEIGHT)
    spi = waveform.spi
    registers = Counter(name.partition("+")[0] for name in spi.name).most_common(3)
    took = duration(waveform.duration_ns * 1000)
    says = f"{waveform.noun.capitalize()} {waveform.number} of {label} takes {took}: {len(spi.name)} SPI frames"
    if registers:
        says += ", most often " + ", ".join(f"{name} ({count})" for name, count in registers)
    says += f"; {len(waveform.cable)} frames on the cable."
    if waveform.spi_left_out:
        says += f" {waveform.spi_left_out} more SPI frames are left out."
    legend = (
        (style(_READ), "SPI read"),
        (style(_WRITE), "SPI write"),
        (style(_TO_PC), "cable to the PC"),
        (style(_TO_BOARD), "cable to the board"),
    )
    data = Data.of(f"{panel.title} {label} waveform", _rows(waveform))
    return Chart(f"{label}: {waveform.noun} {waveform.number}, {took}", says, wide, narrow, data, legend)


def _draw(axes: Axes, waveform: Waveform, narrow: bool) -> None:
    unit, scale = ("ms", 1e6) if waveform.duration_ns >= 5_000_000 else ("us", 1e3)
    end = waveform.duration_ns / scale
    least = end / (300 if narrow else 800)
    """An interval shorter than a pixel is drawn as one."""
    spi = waveform.spi
    frames = list(zip(spi.start_ns, spi.duration_ns, spi.write, strict=True))
    for lane, look, bars in (
        (0, _TO_PC, [(each.start_ns, each.duration_ns) for each in waveform.cable if each.sender == "board"]),
        (1, _TO_BOARD, [(each.start_ns, each.duration_ns) for each in waveform.cable if each.sender == "pc"]),
        (2, _WRITE, [(start, took) for start, took, write in frames if write]),
        (3, _READ, [(start, took) for start, took, write in frames if not write]),
    ):
        shown = [(start / scale, max(took / scale, least)) for start, took in bars]
        axes.broken_barh(shown, (lane - 0.3, 0.6), color=look)
    if waveform.intn:
        times = [0.0, *(each.at_ns / scale for each in waveform.intn[1:]), end]
        levels = [4.3 - 0.6 * each.high for each in waveform.intn]
        axes.step(times, [*levels, levels[-1]], where="post", color=INK, linewidth=1.2)
    lanes = _LANES if waveform.intn else _LANES[:-1]
    axes.set_yticks(range(len(lanes)), lanes)
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    bare(axes, "x")
    axes.set_xlim(0, end)
    axes.set_xlabel(unit)
    if narrow:
        axes.locator_params(axis="x", nbins=4)


def _rows(waveform: Waveform) -> list[dict[str, Value]]:
    spi = waveform.spi
    columns = (spi.start_ns, spi.duration_ns, spi.name, spi.write, spi.wire_bytes)
    rows: list[dict[str, Value]] = [
        {"start ns": start, "ns": took, "what": f"{name} {'write' if write else 'read'}", "bytes": length}
        for start, took, name, write, length in zip(*columns, strict=True)
    ]
    rows += [
        {
            "start ns": each.start_ns,
            "ns": each.duration_ns,
            "what": "cable to the PC" if each.sender == "board" else "cable to the board",
            "bytes": each.length_bytes,
        }
        for each in waveform.cable
    ]
    rows += [
        {"start ns": each.at_ns, "ns": None, "what": f"INTn {'high' if each.high else 'low'}", "bytes": None}
        for each in waveform.intn
    ]
    return sorted(rows, key=lambda row: (float(row["start ns"] or 0), str(row["what"])))
