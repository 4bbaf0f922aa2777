"""A suite of other people's programs, and the verdicts on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import StrEnum

from portbench.runner.checks.check import MISSING as NOT_AT_HAND
from portbench.runner.checks.check import Finding, Report
from portbench.runner.checks.peers.place import Place


class Verdict(StrEnum):
    """The outcome of a program."""

    RIGHT = "right"
    WRONG = "wrong"
    WIRE = "needs a wire"
    """It asks for a wire that cannot be laid here; it did everything that can be seen without."""
    PART = "needs a part"
    """It asks for a part that is not on the board; it did everything that can be seen without."""
    BUILD = "other build"
    """It asks for a feature that the firmware is built without, or expects another build; a list says which."""
    REFUSED = "refused"
    """The emulator said that it does not model what the program uses."""
    MISSING = NOT_AT_HAND
    """The program, or a thing that it needs to run, is not at hand."""


def judged(program: str, verdict: Verdict, said: str = "") -> Finding:
    """`said`: one line that says why the program is not right."""
    return Finding(program, outcome=verdict, note=said)


def refused(said: str) -> bool:
    """Whether the emulator said that it does not model a thing."""
    return "not modelled" in said or "not emulated" in said


class Suite(ABC):
    name: str
    title: str

    @abstractmethod
    def run(self, place: Place) -> Report:
        """Raises PortbenchError where the suite cannot be run at all, and BoardError where the board stops."""

    def report(self, findings: Iterable[Finding], sources: Iterable[str], cases: int | None = None) -> Report:
        """`sources`: everything that was run, each pinned as `repository@commit` or `file sha256`."""
        return Report(self.name, self.title, tuple(findings), sources=tuple(sources), cases=cases)
