"""The report and the command of every fuzzer of a core."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Report:
    """What a run of a fuzzer found."""

    cases: int = 0
    instructions: int = 0
    exceptions: int = 0
    locked_up: int = 0
    """programs that are not compared, for they end in a lock-up"""
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = {name: value for name, value in vars(self).items() if isinstance(value, int) and value}
        return ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in counts.items())


def missing(program: str, package: str) -> str | None:
    """A sentence if the reference is not installed: how to get it."""
    return None if shutil.which(program) else f"{program} is missing; run: sudo apt-get install {package}"


def command(fuzz: Callable[[int, int], Report], unit: str, count: int, lack: str | None = None) -> None:
    """Fuzz as the command line says, and exit with status 1 if there is a difference. `unit`: of `count`."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument(f"--{unit}", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if lack:
        sys.exit(lack)
    report = fuzz(arguments.seed, getattr(arguments, unit))
    print(report, *report.failures, sep="\n")
    sys.exit(bool(report.failures))
