"""What the benchmark found: figures, their targets, and the table of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rich.table import Table
from rich.text import Text

from portbench.runner.collect import one_line


@dataclass(frozen=True)
class Target:
    """A bound that a figure should keep."""

    kind: Literal["at least", "below"]
    bound: float

    def met_by(self, value: float) -> bool:
        return value >= self.bound if self.kind == "at least" else value < self.bound


@dataclass(frozen=True)
class Figure:
    """One measured value, or (`value` None) in `note` why there is none."""

    name: str
    value: float | None
    unit: str
    target: Target | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is kept; None where there is no target or no value."""
        return None if self.target is None or self.value is None else self.target.met_by(self.value)

    def as_json(self) -> dict[str, Any]:
        target = None if self.target is None else {"kind": self.target.kind, "bound": self.target.bound}
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "target": target,
            "met": self.met,
            "note": self.note,
        }


def skipped(name: str, reason: str, unit: str = "", target: Target | None = None) -> Figure:
    return Figure(name, None, unit, target, one_line(reason))


def table(figures: list[Figure]) -> Table:
    """For a terminal."""
    shown = Table("figure", "measured", "target", "note", title="Emulated board", title_justify="left")
    shown.columns[1].justify = shown.columns[2].justify = "right"
    for figure in figures:
        target = "" if figure.target is None else f"{figure.target.kind} {figure.target.bound:g}"
        if figure.value is None:
            measured = Text("skipped", style="yellow")
        else:
            style = {True: "green", False: "bold red", None: ""}[figure.met]
            measured = Text(f"{_rounded(figure.value)} {figure.unit}".strip(), style=style)
        shown.add_row(figure.name, measured, f"{target} {figure.unit}" if target else "", figure.note)
    return shown


def _rounded(value: float) -> str:
    """Three significant digits, never fewer than those before the point."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
