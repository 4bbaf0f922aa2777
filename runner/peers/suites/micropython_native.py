"""MicroPython's tests/run-tests.py, compiled to machine code on the PC."""

from __future__ import annotations

from portbench.runner.peers.micropython import MicroPythonSuite


class Native(MicroPythonSuite):
    name = "micropython_native"
    title = "MicroPython 1.26.0, run-tests.py --via-mpy --emit native"
    needs_compiler = True

    def command(self, port: str) -> list[str]:
        return ["run-tests.py", "-t", port, "--via-mpy", "--emit", "native"]


SUITE = Native()
