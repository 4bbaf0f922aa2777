"""A comparison for people: its lines, and why rows differ: where the time of each went, side by side and in words.

The cells are the same for a terminal and, as Markdown, for a page or the summary of a job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from portbench.console import shown
from portbench.results.attribution import CAUSES, GROUPS
from portbench.results.cells import figure, markdown_table
from portbench.results.compare import Basis, Comparison
from portbench.results.explain import Facts, compared
from portbench.results.explain.words import count

COLUMNS: Final = ("row", "A", "B", "unit", "time", "interval", "by", "verdict")
WHY_COLUMNS: Final = ("cause", "A us", "B us", "B - A us")
HINT: Final = "why: measure both with --attribute, and compare them again"
_MOST: Final = 3
_COUNTS: Final = {
    "instructions": "instructions",
    "spi_frames": "SPI frames",
    "spi_bytes": "SPI bytes",
    "cache_misses": "flash cache misses",
    "sleeps": "sleeps",
}
_LEAST: Final = 0.0005
"""Causes with a smaller share of an interval in both rows are left out."""


def lines(comparisons: Sequence[Comparison], limit: float | None) -> list[tuple[str, ...]]:
    """A line for each row; `limit`: the share by which it may be slower."""
    return [tuple(map(shown, _line(each, limit))) for each in comparisons]


def markdown(comparisons: Sequence[Comparison], limit: float | None) -> str:
    """The comparison as Markdown for GitHub."""
    text = markdown_table(COLUMNS, lines(comparisons, limit)) + "\n"
    for reason in reasons(comparisons):
        said = "".join(f"- {sentence}\n" for sentence in reason.sentences)
        text += f"\nWhy, {shown(reason.row)}:\n\n{said}\n{markdown_table(WHY_COLUMNS, reason.lines)}\n"
    return text


def as_data(comparisons: Sequence[Comparison], limit: float | None) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {
            "workload": each.before.first.workload,
            "where": str(each.before.first.where),
            "board": each.before.first.board,
            "profile": each.before.first.profile,
            "runtime": [each.before.first.runtime, each.after.first.runtime],
            "image_sha256": [each.before.first.image_sha256, each.after.first.image_sha256],
            "figure": each.before.headline.name,
            "values": [[row.value for row in group.rows] for group in (each.before, each.after)],
            "slower": each.slower,
            "interval": [each.low, each.high],
            "basis": str(each.basis),
            "p": each.p,
            "differs": each.differs,
            "too_slow": limit is not None and each.is_slower_than(limit),
            "why": None if (found := why(each)) is None else found.as_data(),
        }
        for each in comparisons
    ]


def share(value: float) -> str:
    """`+4.2 %`, with enough digits that a difference never looks like none."""
    if value == 0:
        return "0"
    digits = next((digits for digits in (1, 2, 3, 4, 5) if float(f"{value * 100:.{digits}f}")), 9)
    return f"{value * 100:+.{digits}f} %"


def _line(each: Comparison, limit: float | None) -> tuple[str, ...]:
    before, after = each.before.first, each.after.first
    named = before.runtime if before.runtime == after.runtime else f"{before.runtime} -> {after.runtime}"
    row = " ".join(filter(None, (named, before.profile, before.workload)))
    exact = each.basis is Basis.EXACT or each.low == each.high
    return (
        row,
        figure(each.before.value.median),
        figure(each.after.value.median),
        each.before.headline.unit,
        share(each.slower),
        "exact" if exact else f"{share(each.low)} to {share(each.high)}",
        str(each.basis) if each.p is None else f"{each.basis}, p = {each.p:.3g}",
        _verdict(each, limit),
    )


def _verdict(each: Comparison, limit: float | None) -> str:
    if limit is not None and each.is_slower_than(limit):
        return f"SLOWER than {limit * 100:g}% allows"
    if each.too_few:
        return "too few runs to tell: 4 of each at least"
    if not each.differs:
        return "the same" if each.slower == 0 else "no difference beyond chance"
    return "slower" if each.slower > 0 else "faster"


@dataclass(frozen=True)
class Cause:
    """The time that one cause took in an average interval of each row, in microseconds."""

    title: str
    before_us: float
    after_us: float

    @property
    def more_us(self) -> float:
        return self.after_us - self.before_us


@dataclass(frozen=True)
class Why:
    """The reasons for a difference: `causes` in the run file's order, and `sentences`, the largest change first."""

    row: str
    noun: str
    whole: Cause
    causes: list[Cause]
    sentences: list[str]

    @property
    def lines(self) -> list[tuple[str, ...]]:
        """The table: a line for each cause, then all of them."""
        return [
            (each.title, f"{each.before_us:.2f}", f"{each.after_us:.2f}", f"{each.more_us:+.2f}")
            for each in (*self.causes, self.whole)
        ]

    def as_data(self) -> dict[str, Any]:
        causes = [{"cause": each.title, "us": [each.before_us, each.after_us]} for each in self.causes]
        return {"of": self.noun, "sentences": self.sentences, "causes": causes}


def why(each: Comparison) -> Why | None:
    """The reasons for a difference; None where the time of either was not attributed."""
    one, other = each.before.attributed, each.after.attributed
    if one is None or other is None:
        return None
    ours, theirs = Facts.of(one), Facts.of(other)
    if ours is None or theirs is None:
        return None
    causes = []
    least_us = _LEAST * ours.each_ps() / 1e6
    for name, cause in CAUSES.items():
        group = GROUPS[cause.group].title
        title = group if cause.title == group else f"{group}: {cause.title}"
        found = Cause(title, ours.each_ps(name) / 1e6, theirs.each_ps(name) / 1e6)
        if max(found.before_us, found.after_us, abs(found.more_us)) >= least_us:
            causes.append(found)
    whole = Cause("all", ours.each_ps() / 1e6, theirs.each_ps() / 1e6)
    said = [sentence.text for sentence in compared(one, other)]
    return Why(f"{other.name} {other.workload}", ours.noun, whole, causes, [*_said(ours, theirs, whole, causes), *said])


def reasons(comparisons: Sequence[Comparison]) -> list[Why]:
    """The reasons for all rows that differ."""
    return [found for each in comparisons if each.differs and (found := why(each)) is not None]


def lacks_reasons(comparisons: Sequence[Comparison]) -> bool:
    """True if a row of an emulated board differs and was not attributed."""
    differing = [each for each in comparisons if each.differs and each.before.first.sim and each.after.first.sim]
    return any(why(each) is None for each in differing)


def _unit(us: float) -> tuple[str, float]:
    """A unit for times of that length, to be shown with two decimals, and its microseconds."""
    return ("us", 1.0) if us < 10_000 else ("ms", 1e3) if us < 10_000_000 else ("s", 1e6)


def _said(ours: Facts, theirs: Facts, whole: Cause, causes: Sequence[Cause]) -> list[str]:
    moved = sorted((each for each in causes if each.more_us), key=lambda each: -abs(each.more_us))[:_MOST]
    if not moved:
        return []
    unit, size = _unit(max(whole.before_us, whole.after_us))
    parts = ", ".join(f"{each.more_us / size:+.2f} {unit} {each.title}" for each in moved)
    took = f"{whole.after_us / size:.2f} {unit} in place of {whole.before_us / size:.2f}"
    found = [f"a {ours.noun} takes {took}: {parts}"]
    counted = [
        f"{count(ours.each(name))} -> {count(theirs.each(name))} {title}"
        for name, title in _COUNTS.items()
        if count(ours.each(name)) != count(theirs.each(name))
    ]
    return [*found, f"a {ours.noun} has {', '.join(counted)}"] if counted else found
