"""What came of the programs of a suite, and how they are counted."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

_Name = Annotated[str, Field(min_length=1)]


class Verdict(StrEnum):
    """How a program of somebody's suite ended."""

    RIGHT = "right"
    WRONG = "wrong"
    WIRE = "needs a wire"
    """It asks for a wire that cannot be laid here; it did what can be seen without."""
    PART = "needs a part"
    """It asks for a part that is not on the board; it did what can be seen without."""
    BUILD = "other build"
    """It asks for what the firmware is built without, or expects another way of building it; a list says which."""
    REFUSED = "refused"
    """The emulator said that it does not model what the program uses."""
    MISSING = "not had"
    """The program, or what it takes to run it, is not at hand."""


COLUMNS: Final = tuple(Verdict)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Outcome(_Model):
    program: _Name
    verdict: Verdict
    said: str = ""
    """One line that says why it is not right."""


class SuiteResult(_Model):
    """A suite's programs; `reason` where it could not be run at all."""

    suite: _Name
    title: _Name
    sources: tuple[_Name, ...] = ()
    """What was run, each pinned: `repository@commit`, or `file sha256`."""
    outcomes: tuple[Outcome, ...] = ()
    cases: int | None = None
    """Individual test cases, where the suite counts them."""
    reason: str = ""

    def count(self, verdict: Verdict) -> int:
        return Counter(outcome.verdict for outcome in self.outcomes)[verdict]

    @property
    def total(self) -> int:
        return len(self.outcomes)

    @property
    def not_right(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.verdict is not Verdict.RIGHT]
