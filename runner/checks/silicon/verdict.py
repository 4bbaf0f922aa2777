"""What a figure is compared by, and what that says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from portbench.results.silicon import FigureSet, Relation

LIMITS: Final[dict[Relation, float | None]] = {"same binary": 0.01, "other version": 0.04, "other conditions": None}
"""How far from silicon a figure may be. MicroPython's maintainers call 4 % what the layout of the code moves."""
_ROUNDING: Final = 1e-12
"""Of what is compared with a limit: 1.01 is no number of binary fractions."""


@dataclass(frozen=True)
class Compared:
    """One figure: on silicon, emulated, and over what range where the PC's turnaround is in it."""

    name: str
    silicon: float
    emulated: float | None
    """None: the run gave no such figure."""
    least: float | None = None
    most: float | None = None
    resolution: float = 0.0
    """Step in which silicon's figure was published."""

    @property
    def ratio(self) -> float | None:
        return None if self.emulated is None else self.emulated / self.silicon

    def within(self, limit: float | None) -> bool | None:
        """None where nothing is to be kept. A figure that is missing is not within any limit."""
        if limit is None:
            return None
        if self.emulated is None:
            return False
        apart = abs(self.emulated - self.silicon)
        return apart <= max(limit * self.silicon, self.resolution) * (1 + _ROUNDING)


@dataclass(frozen=True)
class Outcome:
    """One set, measured again; or `missing`, the line that says what it takes."""

    figures_of: FigureSet
    compared: tuple[Compared, ...] = ()
    missing: str | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def limit(self) -> float | None:
        return LIMITS[self.figures_of.relation]

    @property
    def within(self) -> int:
        return sum(each.within(self.limit) is True for each in self.compared)

    def halves(self) -> str:
        """How the figures do that the model was chosen by, and those that had no part in that; empty without any."""
        chosen = [each for each in self.compared if each.name in self.figures_of.chosen_by]
        others = [each for each in self.compared if each.name not in self.figures_of.chosen_by]
        if not chosen or self.limit is None:
            return ""
        kept = [sum(each.within(self.limit) is True for each in half) for half in (chosen, others)]
        return (
            f"Of the figures by which the model was chosen {kept[0]} of {len(chosen)} are within {self.limit:.0%}, of"
            f" those that had no part in it {kept[1]} of {len(others)}."
        )

    @property
    def is_fault(self) -> bool:
        """Only of the same binary is anything to be expected."""
        return self.figures_of.relation == "same binary" and self.within < len(self.compared)

    def as_json(self) -> dict[str, Any]:
        each = self.figures_of
        return {
            "id": each.id,
            "source": each.source,
            "board": each.board,
            "measured_on": each.measured_on,
            "runtime": each.runtime,
            "relation": each.relation,
            "limit": self.limit,
            "unit": each.unit,
            "missing": self.missing,
            "notes": list(self.notes),
            "figures": [
                {
                    "name": found.name,
                    "silicon": found.silicon,
                    "emulated": found.emulated,
                    "least": found.least,
                    "most": found.most,
                    "ratio": found.ratio,
                    "within": found.within(self.limit),
                }
                for found in self.compared
            ],
        }


def from_json(entry: dict[str, Any], figures_of: FigureSet) -> Outcome:
    """What `as_json` wrote, compared anew with today's `figures_of`. Raises KeyError and the like for anything else."""
    if entry["missing"] is not None:
        return Outcome(figures_of, missing=str(entry["missing"]))
    measured: dict[str, list[float]] = {}
    for found in entry["figures"]:
        values = [found[key] for key in ("least", "emulated", "most") if found[key] is not None]
        measured[str(found["name"])] = [float(value) for value in values]
    return compare(figures_of, measured, tuple(map(str, entry["notes"])))


def compare(figures_of: FigureSet, measured: dict[str, list[float]], notes: tuple[str, ...] = ()) -> Outcome:
    """`measured`: by name, one value, or the least, the middle and the largest."""
    compared = []
    for name, silicon in figures_of.silicon.items():
        values = measured.get(name, [])
        least, most = (values[0], values[-1]) if len(values) > 1 else (None, None)
        middle = values[len(values) // 2] if values else None
        compared.append(Compared(name, silicon, middle, least, most, figures_of.resolution))
    return Outcome(figures_of, tuple(compared), notes=notes)


def summary(outcomes: list[Outcome]) -> str:
    """What all sets together say, in one sentence for each relation."""
    sentences = []
    for relation, limit in LIMITS.items():
        found = [each for each in outcomes if each.figures_of.relation == relation and each.compared]
        count, kept = sum(len(each.compared) for each in found), sum(each.within for each in found)
        if count and limit is not None:
            what = {"same binary": "of the same image", "other version": "of a neighbouring version"}[relation]
            sentences.append(f"{kept} of {count} figures {what} are within {limit:.0%} of silicon")
    return "; ".join(sentences)
