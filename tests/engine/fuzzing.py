"""The report, the command and QEMU's run of every fuzzer of a core."""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PROGRAM: Final = "program.bin"
"""The name of the program's file in a command of QEMU's."""


@dataclass
class Report:
    """Findings of a fuzzer's run."""

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


def semihosted(qemu: Sequence[str], program: bytes) -> tuple[bytes, str]:
    """Run a program on QEMU. Returns its output by semihosting, and QEMU's errors."""
    nothing_else = ["-display", "none", "-serial", "none", "-monitor", "none"]
    semihosting = ["-semihosting-config", "enable=on,target=native"]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / PROGRAM).write_bytes(program)
        done = subprocess.run(
            [*qemu, *nothing_else, *semihosting],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )
    return done.stdout, done.stderr.decode(errors="replace")


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
