"""Tests that a firmware cannot pass because it is built otherwise than the one they were written on, and why not.

A list says what such a test prints. One that prints anything else is as wrong as one that is on no list.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from portbench.complaint import first_complaint
from portbench.errors import PortbenchError
from portbench.runner.checks.peers.outcome import Outcome, Verdict
from portbench.toml_files import parse_toml, read_text

_DIGITS: Final = 12
_Text = Annotated[str, Field(min_length=1)]


class Difference(BaseModel):
    """`tests`: patterns of names. They print `ends` last, or just what has the SHA-256 that begins with `prints`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    because: _Text
    tests: Annotated[tuple[_Text, ...], Field(min_length=1)]
    ends: _Text | None = None
    prints: Annotated[str, Field(pattern=rf"^[0-9a-f]{{{_DIGITS}}}$")] | None = None

    @model_validator(mode="after")
    def _says_one(self) -> Difference:
        if (self.ends is None) == (self.prints is None):
            raise ValueError("says what is printed by one of ends and prints")
        return self

    def explains(self, test: str, printed: bytes) -> bool:
        if not any(fnmatchcase(test, pattern) for pattern in self.tests):
            return False
        if self.ends is not None:
            return last_line(printed).endswith(self.ends)
        return hashlib.sha256(printed).hexdigest()[:_DIGITS] == self.prints


def last_line(printed: bytes) -> str:
    """What a test said last; the word that a script puts behind an exception is not the test's."""
    lines = [line.strip() for line in printed.decode("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line and line != "CRASH"), "")


def load(path: Path) -> tuple[Difference, ...]:
    """Raises PortbenchError."""
    try:
        return tuple(Difference.model_validate(entry) for entry in parse_toml(read_text(path), path)["difference"])
    except ValidationError as error:
        raise PortbenchError(f"{path.name}: {first_complaint(error)}") from None


def judged(outcome: Outcome, printed: bytes, known: Iterable[Difference]) -> Outcome:
    """A wrong outcome with what its test printed: of another build if that is known, else with its last line."""
    for difference in known:
        if difference.explains(outcome.program, printed):
            return outcome.model_copy(update={"verdict": Verdict.BUILD, "said": difference.because})
    return outcome.model_copy(update={"said": last_line(printed)})
