"""The contract of a suite, and all of them: one file each in `suites/`, found by listing."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, Final

from portbench.runner.peers.outcome import SuiteResult
from portbench.runner.peers.place import Place

_SUITES: Final = Path(__file__).with_name("suites")


class Suite(ABC):
    """Each file in `suites/` ends with `SUITE`, an object of a subclass; its name is the file's."""

    name: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def run(self, place: Place) -> SuiteResult:
        """Raises PeersError where the suite cannot be run at all, and BoardError where the board stops."""


def names() -> list[str]:
    return sorted(path.stem for path in _SUITES.glob("[a-z]*.py"))


def suite(name: str) -> Suite:
    found: Suite = importlib.import_module(f"{__package__}.suites.{name}").SUITE
    return found
