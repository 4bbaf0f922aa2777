"""The one interface of real, emulated and hosted boards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from portbench.boards.definition import MASK, BoardDefinition, board_address
from portbench.boards.jitter import Jitter
from portbench.boards.timing import Deadline
from portbench.boards.wifi import WifiCredentials
from portbench.where import Where
from portbench.workloads import Session, Timed

if TYPE_CHECKING:  # the process of a desk needs no catalogue
    from portbench.firmware.identify import Uf2File

Progress = Callable[[str], None]
"""Called with every console line of a run, as it comes."""


@dataclass(frozen=True)
class RuntimeIdentity:
    """The runtime on the board, as it reports itself.

    `family` is the name the runtime gives itself (`micropython`, `circuitpython`); `version` as in `1.26.0` or
    `9.1.4`; `board_id` is MicroPython's or CircuitPython's id of the board, empty where the runtime does not report it;
    `machine` is the runtime's own description.
    """

    family: str
    version: str
    board_id: str
    machine: str


@dataclass(frozen=True)
class Deployment:
    """Files to put on the board, by POSIX path relative to its root, and the image's family.

    `family` is `micropython`, `wiznet`, `circuitpython`, `hosted`, `blinka`, `native` or `foreign`. The script among
    the files (`main.py` or `code.py`) starts by itself after a reset.
    """

    files: Mapping[str, bytes]
    family: str

    def __post_init__(self) -> None:
        for name in self.files:
            path = PurePosixPath(name)
            if not name or path.is_absolute() or ".." in path.parts or "\\" in name:
                raise ValueError(f"deployment: {name!r} is not a path below the board's root")

    @property
    def in_image(self) -> bool:
        """The image holds all that is to run: there is no console and nothing to put on the board."""
        return self.family in ("native", "foreign")


@dataclass(frozen=True)
class Unattended:
    """Signs by which the PC sees the end of a run of an image that reports nothing (the family `foreign`)."""

    exchanges: int
    """A run has so many; the PC closes the connection after one more."""
    ready_s: float
    """Longest time, on the board's clock, to the connection and then from one exchange to the next."""


@dataclass(frozen=True)
class RunOutput:
    """The output of one run.

    `result`: the client's result line, None where none came. `console`: what the board printed in this run.
    `sessions`: where the board brings its own server (the simulated LAN); empty where it used the real one. `sim`: the
    simulator's figures (simulated and host time, counters), None on anything real. `lost`: the share of its time in
    which a program on the PC had no processor, where that counts and is known.
    """

    result: dict[str, Any] | None
    console: list[str]
    sessions: list[Session] = field(default_factory=list)
    sim: dict[str, Any] | None = None
    lost: float | None = None


@dataclass(frozen=True)
class OwnNetwork:
    """The network that a board brings along, as the emulated one does.

    `server` and `port` are where the client finds the workload's server; `static` is a free address with mask, gateway
    and DNS, for a client that uses no DHCP; `turnaround_us` is the time the server takes to answer, None
    where it is the one that was asked for. `wifi`: what a board with a radio chip joins.
    """

    server: IPv4Address
    port: int
    static: tuple[IPv4Address, IPv4Address, IPv4Address, IPv4Address]
    turnaround_us: int | None = None
    wifi: WifiCredentials | None = None

    @classmethod
    def of_pc(cls, ip: IPv4Address, port: int, turnaround_us: int, wifi: WifiCredentials) -> Self:
        """The network of a simulated PC."""
        return cls(ip, port, (board_address(ip), MASK, ip, ip), turnaround_us, wifi)


class Board(ABC):
    """A board that can be flashed, given a client, and run.

    Every method that waits takes a Deadline and raises DeadlineExceeded at its end; all faults are BoardErrors.
    Use as a context manager: leaving it closes ports, ends processes and removes temporary files, whatever happened.
    """

    definition: BoardDefinition
    where: Where
    name: str
    own_network: OwnNetwork | None = None
    """None: the board is on a network that this PC is on too, and uses the real server."""
    jitter: Jitter | None = None
    """The jitter of the next run on an emulated board; None: always the same times."""
    equipment: Mapping[str, Any] = MappingProxyType({})
    """Equipment of an emulated board in the next runs, as fields of `boards.emulated.config.EmulatedConfig`; on a real
    board a user wires it."""
    saved_files: Path | None = None
    """Folder with the files of the board's user, once they had to be copied out of the way."""

    @abstractmethod
    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        """Program a checked UF2 image and start it. Raises BoardError."""

    @abstractmethod
    def wait_console(self, deadline: Deadline) -> None:
        """Return once the runtime's console answers."""

    @abstractmethod
    def identify(self, deadline: Deadline) -> RuntimeIdentity:
        """Ask the runtime for its name and version."""

    @abstractmethod
    def deploy(self, deployment: Deployment, deadline: Deadline) -> None:
        """Put the files on the board, without running them. Raises BoardError.

        A deployment that is in its image only says what `run` will run.
        """

    def serve(
        self, workload: str, settings: Mapping[str, Any], deadline: Deadline, alone: Unattended | None = None
    ) -> None:
        """Have the PC that the board brings along, if it does, do its part of `workload` from now on.

        `settings`: the workload's, as JSON has them. `alone`: the PC alone finds out when the run is over.
        """
        if self.own_network is not None:
            raise NotImplementedError(f"{self.name}: its network serves no workload")

    @abstractmethod
    def run(self, deadline: Deadline, progress: Progress | None = None) -> RunOutput:
        """Reset the board into the deployed client and collect its result line.

        A client's error is not a fault of the board: its line is the `result`. Raises ConsoleLost when the
        console went away before a result came. The family `native` has no console and reports to its server: a board
        with its own network runs until the server has a session's report, any other restarts and returns at once. So
        does `foreign`, with a session's exchanges in the place of the report; its first run may be under way already,
        as programming an image starts it.
        """

    def attribution(
        self, timed: Sequence[Timed], result: Mapping[str, Any], deadline: Deadline
    ) -> dict[str, Any] | None:
        """The last run's time by cause, as `results.attribution.Attribution` has it.

        `timed`: what `result`, its client's, says that it timed. None where this board cannot tell.
        """
        return None

    @abstractmethod
    def reset(self, deadline: Deadline) -> None:
        """Restart the board, and with it the deployed client."""

    @abstractmethod
    def console_tail(self, n: int = 20) -> list[str]:
        """The last `n` lines that the board printed, for a failure's report."""

    @abstractmethod
    def close(self) -> None:
        """Release the board. May be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
