"""MicroPython's tests/run-tests.py, in bytecode."""

from __future__ import annotations

from portbench.runner.checks.peers.micropython import MicroPythonSuite


class Tests(MicroPythonSuite):
    name = "micropython_tests"
    title = "MicroPython 1.26.0, tests/run-tests.py"

    def command(self, port: str) -> list[str]:
        return ["run-tests.py", "-t", port]


SUITE = Tests()
