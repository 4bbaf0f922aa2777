"""Programs that somebody's project builds: what each needs and does when right, from a data file in `programs/`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from portbench.boards.pins import HeldPins, Wire
from portbench.complaint import first_complaint
from portbench.errors import PortbenchError
from portbench.toml_files import parse_toml, read_text

FOLDER: Final = Path(__file__).with_name("programs")
_Name = Annotated[str, Field(min_length=1)]
_Step = dict[str, Any]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Program(_Model):
    """`path`: of its image below the folder it was built in, without `.uf2`.

    `steps`: what is done and has to come, in this order, each as its file in `steps/` says. `pins`, `wires`: what a
    hand does at the board before. `needs_part`, `needs_wire`: what the board has not and nobody can give it here; its
    steps are as far as it comes without. `settings`: of the board's surroundings, as `EmulatedConfig` has them.
    """

    path: _Name
    steps: tuple[_Step, ...] = ()
    board: str | None = None
    pins: HeldPins = Field(default_factory=dict)
    wires: tuple[Wire, ...] = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    needs_part: _Name | None = None
    needs_wire: _Name | None = None
    note: str = ""

    @model_validator(mode="after")
    def _says_what_right_is(self) -> Program:
        if not self.steps and self.needs_part is None and self.needs_wire is None:
            raise ValueError("has no steps; say what it does when it is right, or what it needs")
        return self


class Programs(_Model):
    """A file: whose programs at which revision, for which board they are built, and how long a step may take."""

    title: _Name
    repository: _Name
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    board: _Name
    built: _Name
    """What of their README's instructions has to be chosen, for people."""
    within_s: Annotated[float, Field(gt=0)] = 10.0
    program: Annotated[tuple[Program, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_each_once(self) -> Programs:
        paths = [each.path for each in self.program]
        if twice := next((path for path in paths if paths.count(path) > 1), None):
            raise ValueError(f"has {twice} twice; a program is one entry")
        return self


def files() -> dict[str, Path]:
    """By the suite's name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def load(path: Path) -> Programs:
    """Raises PortbenchError."""
    try:
        return Programs.model_validate(parse_toml(read_text(path), path))
    except ValidationError as error:
        raise PortbenchError(f"{path.name}: {first_complaint(error)}") from None
