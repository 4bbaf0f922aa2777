"""A suite of programs that the user has built as their project says, and that a file in `programs/` lists."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from portbench.boards import BoardError, Deadline
from portbench.complaint import first_complaint
from portbench.errors import PortbenchError
from portbench.firmware.uf2 import Uf2Error
from portbench.runner.checks.peers.outcome import Outcome, SuiteResult, Verdict
from portbench.runner.checks.peers.place import Place
from portbench.runner.checks.peers.program import Program, load
from portbench.runner.checks.peers.program_board import ProgramBoard
from portbench.runner.checks.peers.step import Step, step
from portbench.runner.checks.peers.suite import Suite
from portbench.testing.errors import NothingCame

_REFUSED: Final = ("not modelled", "not emulated")
_SUFFIX: Final = ".uf2"


class Built(Suite):
    """`place.built` are the folders that may have been built in."""

    def __init__(self, name: str, path: Path) -> None:
        self._programs = load(path)
        self.name = name
        self.title = self._programs.title
        self._steps = {each.path: self._parsed(path, each) for each in self._programs.program}

    def run(self, place: Place) -> SuiteResult:
        programs = self._programs
        images = {each.path: _image(each, place.built) for each in programs.program}
        if not any(images.values()):
            looked = ", ".join(map(str, place.built)) or "no --built DIR was given"
            raise PortbenchError(
                f"{programs.repository}: none of its programs is built ({looked}); build {programs.revision[:12]} as"
                f" its README says, with {programs.built}, and name that folder: --built DIR"
            )
        outcomes = tuple(self._one(place, each, images[each.path]) for each in programs.program)
        pinned = f"{programs.repository}@{programs.revision[:12]}"
        return SuiteResult(suite=self.name, title=self.title, sources=(pinned,), outcomes=outcomes)

    def _one(self, place: Place, program: Program, image: Path | None) -> Outcome:
        if image is None:
            return Outcome(program=program.path, verdict=Verdict.MISSING, said="is not built")
        place.log(program.path)
        verdict, said = self._judge(place, program, image)
        return Outcome(program=program.path, verdict=verdict, said=said)

    def _judge(self, place: Place, program: Program, image: Path) -> tuple[Verdict, str]:
        settings = {**program.settings, "pins": program.pins, "wires": program.wires}
        kind = program.board or self._programs.board
        try:
            board = ProgramBoard(image, kind, settings, Deadline(place.program_limit_s, program.path))
            for each in self._steps[program.path]:
                each.do(board, each.within_s or self._programs.within_s)
        except (NothingCame, BoardError, Uf2Error) as error:
            said = str(error).partition("\n")[0]
            return Verdict.REFUSED if any(words in said for words in _REFUSED) else Verdict.WRONG, said
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


def _image(program: Program, folders: Sequence[Path]) -> Path | None:
    paths = (folder / f"{program.path}{_SUFFIX}" for folder in folders)
    return next((path for path in paths if path.is_file()), None)
