"""What others measured on real boards and published: `silicon.toml`, sets of figures with their sources."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from portbench.complaint import first_complaint
from portbench.errors import PortbenchError
from portbench.toml_files import parse_toml, read_text

FILE: Final = Path(__file__).with_name("silicon.toml")

Method = Literal["script", "perf_bench", "row"]
Relation = Literal["same binary", "other version", "other conditions"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Script(_Strict):
    """A published program, which is fetched and never kept here."""

    file: str
    url: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    licence: str


class FigureSet(_Strict):
    """Figures that one person published of one firmware on one board, and how they are measured again.

    `measured_on` is the firmware that was on the board, in words; `runtime` the catalogue's nearest, or the very one.
    `relation` says what may be expected: of the `same binary` each figure within 1 %; of an `other version` each within
    what the code's layout in flash moves, and none is a fault; under `other conditions` `note` explains the ratio.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    what: str
    source: str
    board: str
    measured_on: str
    runtime: str
    relation: Relation
    unit: str
    method: Method
    scripts: tuple[Script, ...] = ()
    profile: str | None = None
    workload: str | None = None
    turnaround: bool = False
    """Whether the PC's turnaround is in the figures: they are measured at its first tenth, its middle and its last."""
    resolution: Annotated[float, Field(ge=0)] = 0.0
    """Step of the published figures, in their unit: a difference of one is none."""
    scale: float = 1.0
    """Of a row's figures, to get the unit."""
    note: str = ""
    chosen_by: tuple[str, ...] = ()
    """Figures that had a part in choosing how the emulated board works; all others were measured afterwards."""
    silicon: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]]

    @model_validator(mode="after")
    def _whole(self) -> FigureSet:
        if not self.silicon:
            raise ValueError("has no figures")
        if (self.method == "row") != (self.workload is not None and self.profile is not None):
            raise ValueError("a row has a workload and a profile, and nothing else has")
        if (self.method != "row") != bool(self.scripts):
            raise ValueError("scripts are what a row has not, and all else has")
        if unknown := next((name for name in self.chosen_by if name not in self.silicon), None):
            raise ValueError(f"chosen_by has {unknown!r}, which is no figure of the set")
        if self.relation == "other conditions" and not self.note:
            raise ValueError("other conditions need a note that says which")
        return self


class NotCompared(_Strict):
    """A published figure that nothing can be measured against, and why."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    what: str
    source: str
    silicon: str
    """With its unit."""
    because: str


def load_not_compared(path: Path = FILE) -> list[NotCompared]:
    """In the file's order. Raises PortbenchError."""
    found = []
    for number, entry in enumerate(parse_toml(read_text(path), path).get("not_compared", []), 1):
        try:
            found.append(NotCompared.model_validate(entry))
        except ValidationError as error:
            raise PortbenchError(f"{path}: not_compared {number}: {first_complaint(error)}; correct it") from None
    return found


def load(path: Path = FILE) -> list[FigureSet]:
    """All sets, in the file's order. Raises PortbenchError."""
    document: dict[str, Any] = parse_toml(read_text(path), path)
    sets: list[FigureSet] = []
    for number, entry in enumerate(document.get("set", []), 1):
        name = entry.get("id", f"set {number}") if isinstance(entry, dict) else f"set {number}"
        try:
            sets.append(FigureSet.model_validate(entry))
        except ValidationError as error:
            raise PortbenchError(f"{path}: {name}: {first_complaint(error)}; correct it") from None
    if unknown := set(document) - {"set", "not_compared"}:
        raise PortbenchError(
            f"{path}: {', '.join(sorted(unknown))} is no key here; there are [[set]] and [[not_compared]]"
        )
    seen: set[str] = set()
    for each in sets:
        if each.id in seen:
            raise PortbenchError(f"{path}: {each.id} is there twice; give one of them another id")
        seen.add(each.id)
    return sets
