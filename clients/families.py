"""The families of clients: which language each speaks, and which script of which folder brings its boards up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition, Wifi
from portbench.workloads import Readiness, Workload

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class ClientFamily:
    """`language` names a workload's body, `folder` the scripts beside this file, `script` the file on the board."""

    language: str
    folder: str
    script: str
    readiness: frozenset[Readiness] = frozenset(Readiness)
    """What a client of this family can bring its board to."""

    def client(self, readiness: Readiness, board: BoardDefinition | None = None) -> Path:
        """The script that brings a board there, by how the board reaches its network; it may not be there."""
        folder = _HERE / self.folder
        if board is not None and isinstance(board.network, Wifi) and readiness is not Readiness.BOOTED:
            folder = folder / board.network.kind
        return folder / f"{readiness}.py"

    def runs(self, workload: Workload, board: BoardDefinition | None = None) -> bool:
        """Whether there is all that a board of this family needs for `workload`."""
        here = workload.readiness in self.readiness and self.client(workload.readiness, board).is_file()
        return here and workload.body(self.language) is not None


FAMILIES: Final = {
    "micropython": ClientFamily("micropython", "micropython", "main.py"),
    "wiznet": ClientFamily("micropython", "micropython", "main.py"),
    "circuitpython": ClientFamily("circuitpython", "circuitpython", "code.py"),
    "hosted": ClientFamily("micropython", "unix", "main.py"),
    "blinka": ClientFamily(
        "circuitpython", "circuitpython", "code.py", frozenset({Readiness.CONNECTED, Readiness.LISTENING})
    ),
}
"""`blinka`: CircuitPython's driver on the PC's CPython, which is no port: there is nothing to run without a network."""
