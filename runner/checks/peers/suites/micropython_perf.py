"""MicroPython's tests/run-perfbench.py: each benchmark's result is checked, and its speed is not."""

from __future__ import annotations

from portbench.runner.checks.peers.micropython import MicroPythonSuite


class Perf(MicroPythonSuite):
    name = "micropython_perf"
    title = "MicroPython 1.26.0, tests/run-perfbench.py 100 100"
    needs_unittest = False

    def command(self, port: str) -> list[str]:
        return ["run-perfbench.py", "-p", "-d", port, "-a", "1", "100", "100"]


SUITE = Perf()
