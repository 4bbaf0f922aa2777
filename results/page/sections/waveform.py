"""One exchange of each row on the network chip's wires."""

from collections import Counter
from typing import Any, Final

from portbench.results.explain.words import duration
from portbench.results.model import Waveform
from portbench.results.page.drawing import INK, Place, colour, marks, spec
from portbench.results.page.parts import Chart, Data, Section, Value, names
from portbench.results.table import Panel

ORDER = 6
_LANE: Final = 24.0
_NAMES: Final = 92
"""Pixels of the names of the lanes."""
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
        (_READ, "SPI read"),
        (_WRITE, "SPI write"),
        (_TO_PC, "cable to the PC"),
        (_TO_BOARD, "cable to the board"),
    )
    data = Data.of(f"{panel.title} {label} waveform", _rows(waveform))
    title = f"{label}: {waveform.noun} {waveform.number}, {took}"
    return Chart.of(title, says, lambda width: _draw(waveform, width), data, legend)


def _draw(waveform: Waveform, width: int) -> dict[str, Any]:
    unit, scale = ("ms", 1e6) if waveform.duration_ns >= 5_000_000 else ("us", 1e3)
    end = waveform.duration_ns / scale
    least = end / width
    """An interval shorter than a pixel is drawn as one."""
    spi = waveform.spi
    cable = [(each.sender == "pc", each.start_ns, each.duration_ns, each.length_bytes) for each in waveform.cable]
    frames = zip(spi.write, spi.start_ns, spi.duration_ns, spi.wire_bytes, spi.name, strict=True)
    bars: list[tuple[int, str, int, int, str]] = [
        (int(pc), _TO_BOARD if pc else _TO_PC, start, took, f"frame of {size} bytes") for pc, start, took, size in cable
    ]
    bars += [
        (2 if write else 3, _WRITE if write else _READ, start, took, f"{name} of {size} bytes")
        for write, start, took, size, name in frames
    ]
    places: list[Place] = [
        {
            "x": start / scale,
            "x2": start / scale + max(took / scale, least),
            "y": lane - 0.3,
            "y2": lane + 0.3,
            "colour": look,
            "says": f"{what}, {duration(took * 1000)}",
        }
        for lane, look, start, took, what in bars
    ]
    lanes = _LANES if waveform.intn else _LANES[:-1]
    layers = [marks("rect", places)]
    if waveform.intn:
        levels = [(each.at_ns / scale, 4.3 - 0.6 * each.high) for each in waveform.intn]
        levels = [(0.0, levels[0][1]), *levels[1:], (end, levels[-1][1])]
        steps = [{"x": at, "y": level, "colour": INK} for at, level in levels]
        layers.append(marks("line", steps, interpolate="step-after", strokeWidth=1.2))
    titles = f"{list(lanes)}[datum.value]"
    look = {"labelColor": INK, "grid": False, "ticks": False, "domainOpacity": 0, "minExtent": _NAMES}
    y = {"domain": [len(lanes) - 0.5, -0.5], "values": list(range(len(lanes))), "labelExpr": titles, **look}
    return spec(width - _NAMES, _LANE * len(lanes), {"domain": [0, end], "title": unit}, y, layers)


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
