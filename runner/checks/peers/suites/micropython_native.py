"""MicroPython's tests/run-tests.py, compiled to machine code on the PC."""

from __future__ import annotations

from portbench.runner.checks.peers.micropython import MicroPythonSuite
from portbench.runner.checks.peers.sources import Source


class Native(MicroPythonSuite):
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


SUITE = Native()
