"""CircuitPython's tests/run-tests.py, in bytecode, with the modules that its tests share on the board's drive.

Upstream runs it on the PC only, whose build has modules that no board's image has. Some tests have no rule to skip
themselves there: `circuitpython.toml` lists them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from portbench.boards import Deadline
from portbench.boards.board import Deployment
from portbench.errors import PortbenchError
from portbench.runner.checks.check import Finding, Report
from portbench.runner.checks.peers.differences import explained, load
from portbench.runner.checks.peers.place import Place
from portbench.runner.checks.peers.sources import Source
from portbench.runner.checks.peers.suite import Suite, Verdict, judged

SOURCE: Final = Source("adafruit/circuitpython", "fad755d5e759b14302f5170f7130e38a99942d4f", ("tests", "tools"))
"""9.1.4: the tests of the firmware's own tag."""
IMAGE: Final = "feb7e503272feddf882194dbd26e02fe2e2f8793c656d6eac7847a10113d7297"
"""The official build of 9.1.4 for the W5500-EVB-Pico."""
BOARD: Final = "W5500_EVB_PICO"
DIFFERENCES: Final = Path(__file__).with_suffix(".toml")
_DEPLOY_S: Final = 300.0
_LINE: Final = re.compile(r"(?P<result>pass|FAIL) +(?P<test>\S+)")
_END: Final = re.compile(r"(?P<tests>\d+) tests performed \((?P<cases>\d+) individual testcases\)")


class CircuitPythonTests(Suite):
    name = "circuitpython_tests"
    title = "CircuitPython 9.1.4, tests/run-tests.py"

    def run(self, place: Place) -> Report:
        image = place.image(IMAGE, "CircuitPython 9.1.4 for the W5500-EVB-Pico")
        known = load(DIFFERENCES)
        tests = place.source(SOURCE) / "tests"
        results = place.scratch / self.name
        with place.board(image, BOARD) as board:
            shared = {f"lib/{path.name}": path.read_bytes() for path in sorted((tests / "testlib").iterdir())}
            board.deploy(Deployment(shared, "circuitpython"), Deadline(_DEPLOY_S, f"{self.name}: its tests' modules"))
            device = board.link.device()
            if device is None or device.port is None:
                raise PortbenchError(f"{board.name}: has no port")
            board.release_port()
            # -P: pyboard.py beside the script is another, which wants a USB device and its drive's block device.
            command = [sys.executable, "-P", "run-tests.py", "--target", "rp2", "--device", device.port]
            said = place.run(
                [*command, "-r", str(results)], tests, {"MICROPY_CPYTHON3": sys.executable}, board.link.device
            )
        findings, cases = read_output(said)
        findings = tuple(
            explained(finding, _printed(results, finding.name), known) if finding.outcome == Verdict.WRONG else finding
            for finding in findings
        )
        return self.report(findings, (SOURCE.pinned, f"{image.name} {IMAGE[:12]}"), cases)


def read_output(lines: Iterable[str]) -> tuple[tuple[Finding, ...], int]:
    """The tests that were run, and the cases in them; skipped tests are not counted. Raises PortbenchError."""
    findings, last = [], "nothing"
    for line in lines:
        last = line
        if match := _LINE.fullmatch(line):
            verdict = Verdict.RIGHT if match["result"] == "pass" else Verdict.WRONG
            findings.append(judged(match["test"], verdict))
        elif match := _END.fullmatch(line):
            if int(match["tests"]) != len(findings):
                raise PortbenchError(f"run-tests.py counts {match['tests']} tests, and told of {len(findings)}")
            return tuple(sorted(findings, key=lambda finding: finding.name)), int(match["cases"])
    raise PortbenchError(f"run-tests.py ended without its count; it said: {last}")


def _printed(results: Path, test: str) -> bytes:
    """The output of a failed test, as the script keeps it."""
    return (results / f"{test.replace('/', '_')}.out").read_bytes()
