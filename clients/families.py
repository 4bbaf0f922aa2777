"""The families of clients: the language of each, and the folder and the scripts that bring its boards up.

A folder has `booted.py`, which touches no network, and `networked.py` with places for parts: one of `readiness/` and,
where the client itself brings a network up, one of `network/` for the board's kind.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from portbench.boards import BoardDefinition
from portbench.errors import PortbenchError
from portbench.workloads import Readiness, Workload

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class ClientFamily:
    """`language` names a workload's body, `folder` the scripts beside this file, `script` the file on the board."""

    language: str
    folder: str
    script: str
    readiness: frozenset[Readiness] = frozenset(Readiness)
    """The states to which a client of this family can bring its board."""

    @property
    def _folder(self) -> Path:
        return _HERE / self.folder

    def client(self, readiness: Readiness) -> Path:
        """The script that brings a board to that state, with places for `parts`."""
        if readiness is Readiness.BOOTED:
            return _HERE / self.language / "booted.py"
        return self._folder / "networked.py"

    def parts(self, readiness: Readiness, board: BoardDefinition) -> dict[str, Path]:
        """The parts of that script, by the function that each brings, for the network of `board`. Raises PortbenchError
        for a board without a network, or with one that has no part.
        """
        if readiness is Readiness.BOOTED:
            return {}
        parts = {"get_socket": self._readiness_part(readiness)}
        if (kinds := self._folder / "network").is_dir():
            if board.network is None:
                raise PortbenchError(f"{board.id}: has no network, which a client needs to be {readiness}")
            parts["get_address"] = part = kinds / f"{board.network.kind}.py"
            if not part.is_file():
                raise PortbenchError(f"{board.id}: its network is {board.network.kind}, for which there is no {part}")
        return parts

    def example(self, network: str) -> Path:
        """The program that users paste, for a board with this kind of network."""
        return self._folder / "example" / f"{network}.py"

    def _readiness_part(self, readiness: Readiness) -> Path:
        return self._folder / "readiness" / f"{readiness}.py"

    def runs(self, workload: Workload) -> bool:
        """True if a board of this family has all scripts that `workload` needs."""
        ready = workload.readiness
        there = ready is Readiness.BOOTED or self._readiness_part(ready).is_file()
        return ready in self.readiness and there and workload.body(self.language) is not None


FAMILIES: Final = {
    "micropython": ClientFamily("micropython", "micropython", "main.py"),
    "wiznet": ClientFamily("micropython", "micropython", "main.py"),
    "circuitpython": ClientFamily("circuitpython", "circuitpython", "code.py"),
    "hosted": ClientFamily("micropython", "unix", "main.py"),
    "blinka": ClientFamily(
        "circuitpython", "circuitpython", "code.py", frozenset({Readiness.CONNECTED, Readiness.LISTENING})
    ),
}
"""`blinka`: CircuitPython's driver on the PC's CPython. It is not a port: without a network there is nothing to run."""
