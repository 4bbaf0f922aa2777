"""A suite of programs that the user has built as their project says: each is right if its steps come true.

A file in `programs/` lists the programs of a project.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from portbench.boards import Deadline, board_definition
from portbench.boards.pins import HeldPins, Wire
from portbench.errors import PortbenchError, first_complaint
from portbench.firmware import uf2
from portbench.runner.checks.check import Finding, Report
from portbench.runner.checks.peers.place import Place
from portbench.runner.checks.peers.program_board import ProgramBoard
from portbench.runner.checks.peers.steps import Step, step
from portbench.runner.checks.peers.suite import Suite, Verdict, judged, refused
from portbench.toml_files import parse_toml, read_text

FOLDER: Final = Path(__file__).with_name("programs")
_SUFFIX: Final = ".uf2"
_Name = Annotated[str, Field(min_length=1)]
_Step = dict[str, Any]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Program(_Model):
    """`path`: of its image below the folder it was built in, without `.uf2`.

    `steps`: the steps of `steps.py` in their order. `pins`, `wires`: the controls of the board before the start.
    `needs_part`, `needs_wire`: things that the emulated board lacks; the steps are as far as the program comes without.
    `settings`: of the board's surroundings, as `EmulatedConfig` has them.
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
    def _says_right(self) -> Program:
        if not self.steps and self.needs_part is None and self.needs_wire is None:
            raise ValueError("has no steps; say what it does when it is right, or what it needs")
        return self


class Programs(_Model):
    """A file of programs: their repository and revision, their board, and the time that a step may take.

    `like`: another file, whose programs are these, too, but for those named here or in `without`.
    """

    title: _Name
    repository: _Name
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    board: _Name
    built: _Name
    """The choices to make in the README's build instructions, for people."""
    within_s: Annotated[float, Field(gt=0)] = 10.0
    like: str | None = None
    without: tuple[_Name, ...] = ()
    program: tuple[Program, ...] = ()

    @model_validator(mode="after")
    def _names_each_once(self) -> Programs:
        if not self.program and self.like is None:
            raise ValueError("has no program")
        paths = [*self.without, *(each.path for each in self.program)]
        if twice := next((path for path in paths if paths.count(path) > 1), None):
            raise ValueError(f"has {twice} twice; a program is one entry")
        return self


class Built(Suite):
    """The programs of one file; their images are below the folders of `place.built`."""

    def __init__(self, name: str, path: Path) -> None:
        self._programs = _load(path)
        self.name = name
        self.title = self._programs.title
        self._steps = {each.path: self._parsed(path, each) for each in self._programs.program}

    def run(self, place: Place) -> Report:
        programs = self._programs
        images = {each.path: _image(each, place.built, each.board or programs.board) for each in programs.program}
        if not any(images.values()):
            looked = ", ".join(map(str, place.built)) or "no --built DIR was given"
            raise PortbenchError(
                f"{programs.repository}: none of its programs is built ({looked}); build {programs.revision[:12]} as"
                f" its README says, with {programs.built}, and name that folder: --built DIR"
            )
        findings = [self._one(place, each, images[each.path]) for each in programs.program]
        return self.report(findings, [f"{programs.repository}@{programs.revision[:12]}"])

    def _one(self, place: Place, program: Program, image: Path | None) -> Finding:
        if image is None:
            return judged(program.path, Verdict.MISSING, "is not built")
        place.log(program.path)
        return judged(program.path, *self._judge(place, program, image))

    def _judge(self, place: Place, program: Program, image: Path) -> tuple[Verdict, str]:
        settings = {**program.settings, "pins": program.pins, "wires": program.wires}
        kind = program.board or self._programs.board
        try:
            board = ProgramBoard(image, kind, settings, Deadline(place.program_limit_s, program.path))
            for each in self._steps[program.path]:
                each.do(board, each.within_s or self._programs.within_s)
        except PortbenchError as error:
            said = str(error).partition("\n")[0]
            return Verdict.REFUSED if refused(said) else Verdict.WRONG, said
        if program.needs_part is not None:
            return Verdict.PART, program.needs_part
        if program.needs_wire is not None:
            return Verdict.WIRE, program.needs_wire
        return Verdict.RIGHT, ""

    def _parsed(self, path: Path, program: Program) -> Sequence[Step]:
        try:
            return [step(entry) for entry in program.steps]
        except ValueError as error:
            raise PortbenchError(f"{path.name}: {program.path}: {_first_line(error)}") from None


def _first_line(error: ValueError) -> str:
    return first_complaint(error) if isinstance(error, ValidationError) else str(error)


def files() -> dict[str, Path]:
    """The files of programs by their suites' names."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def _load(path: Path) -> Programs:
    """Raises PortbenchError."""
    try:
        own = Programs.model_validate(parse_toml(read_text(path), path))
    except ValidationError as error:
        raise PortbenchError(f"{path.name}: {first_complaint(error)}") from None
    if own.like is None:
        return own
    others = _load(path.with_name(f"{own.like}{path.suffix}")).program
    paths = {each.path for each in others}
    if unknown := next((each for each in own.without if each not in paths), None):
        raise PortbenchError(f"{path.name}: without {unknown}, which {own.like} does not have; remove it")
    mine = {each.path: each for each in own.program}
    shared = [mine.pop(each.path, each) for each in others if each.path not in own.without]
    return own.model_copy(update={"program": (*shared, *mine.values())})


def _image(program: Program, folders: Sequence[Path], board: str) -> Path | None:
    """The first that is there; of several, such as one for each chip, the first for that of `board`."""
    paths = [path for folder in folders if (path := folder / f"{program.path}{_SUFFIX}").is_file()]
    if len(paths) < 2:
        return next(iter(paths), None)
    family = board_definition(board).uf2_family
    return next((path for path in paths if uf2.read(path).family_id == family), paths[0])
