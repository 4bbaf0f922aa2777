"""Tests that a firmware cannot pass because it is built otherwise than the one that they were written for.

A list has the output of each such test, and the reason. A test with any other output is as wrong as one on no list.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from portbench.errors import PortbenchError, first_complaint
from portbench.runner.checks.check import Finding
from portbench.runner.checks.peers.suite import Verdict
from portbench.toml_files import parse_toml, read_text

_DIGITS: Final = 12
_Text = Annotated[str, Field(min_length=1)]


class Difference(BaseModel):
    """`tests`: patterns of names. Their output ends with `ends`, or its SHA-256 begins with `prints`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    because: _Text
    tests: Annotated[tuple[_Text, ...], Field(min_length=1)]
    ends: _Text | None = None
    prints: Annotated[str, Field(pattern=rf"^[0-9a-f]{{{_DIGITS}}}$")] | None = None

    @model_validator(mode="after")
    def _says_one(self) -> Difference:
        if (self.ends is None) == (self.prints is None):
            raise ValueError("names the output by one of ends and prints")
        return self

    def explains(self, test: str, printed: bytes) -> bool:
        if not any(fnmatchcase(test, pattern) for pattern in self.tests):
            return False
        if self.ends is not None:
            return last_line(printed).endswith(self.ends)
        return hashlib.sha256(printed).hexdigest()[:_DIGITS] == self.prints


def last_line(printed: bytes) -> str:
    """The last line of a test's output, without the word that a script puts behind an exception."""
    lines = [line.strip() for line in printed.decode("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line and line != "CRASH"), "")


def load(path: Path) -> tuple[Difference, ...]:
    """Raises PortbenchError."""
    try:
        return tuple(Difference.model_validate(entry) for entry in parse_toml(read_text(path), path)["difference"])
    except ValidationError as error:
        raise PortbenchError(f"{path.name}: {first_complaint(error)}") from None


def explained(finding: Finding, printed: bytes, known: Iterable[Difference]) -> Finding:
    """A wrong finding with the output of its test: of another build if the list has it, else with the last line."""
    for difference in known:
        if difference.explains(finding.name, printed):
            return replace(finding, outcome=Verdict.BUILD, note=difference.because)
    return replace(finding, note=last_line(printed))
