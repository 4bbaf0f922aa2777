"""The contract of a suite, and all of them: a file each in `suites/` and in `programs/`, found by listing."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final

from portbench.runner.checks.peers.outcome import SuiteResult
from portbench.runner.checks.peers.place import Place
from portbench.runner.checks.peers.program import files as programs

_SUITES: Final = Path(__file__).with_name("suites")


class Suite(ABC):
    """Each file in `suites/` ends with `SUITE`, an object of a subclass; its name is the file's."""

    name: str
    title: str

    @abstractmethod
    def run(self, place: Place) -> SuiteResult:
        """Raises PortbenchError where the suite cannot be run at all, and BoardError where the board stops."""


def names() -> list[str]:
    return sorted([*(path.stem for path in _SUITES.glob("[a-z]*.py")), *programs()])


def suite(name: str) -> Suite:
    """Raises PortbenchError where a file of programs is damaged."""
    if (listed := programs().get(name)) is not None:
        # Here, for it uses the contract that is in this file.
        from portbench.runner.checks.peers.built import Built

        return Built(name, listed)
    found: Suite = importlib.import_module(f"{__package__}.suites.{name}").SUITE
    return found
