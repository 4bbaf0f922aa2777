"""Finds a row with an attribution in a run file."""

from __future__ import annotations

from dataclasses import dataclass

from portbench.errors import OptionError
from portbench.results.model import Row, RunFile


@dataclass(frozen=True)
class RowName:
    """`micropython-1.26.0/as-published`, or the runtime alone: its first profile."""

    runtime: str
    profile: str | None

    @classmethod
    def read(cls, text: str) -> RowName:
        """Raises OptionError. An image's file may have slashes in its path, and its profile none."""
        if text.lower().endswith(".uf2"):
            return cls(text, None)
        runtime, slash, profile = text.rpartition("/") if "/" in text else (text, "", "")
        if not runtime or (slash and not profile):
            raise OptionError(f"{text!r} is no row; use RUNTIME/PROFILE, as micropython-1.26.0/as-published")
        return cls(runtime, profile or None)

    def __str__(self) -> str:
        return self.runtime if self.profile is None else f"{self.runtime}/{self.profile}"


def stored_row(run: RunFile, name: RowName, workload: str) -> Row | None:
    """The first that fits and whose time was attributed."""
    for row in run.rows:
        fits = row.runtime == name.runtime and row.workload == workload and name.profile in (None, row.profile)
        if fits and row.attribution is not None:
            return row
    return None
