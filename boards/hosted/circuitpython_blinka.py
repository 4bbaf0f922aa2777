"""CircuitPython's driver and client on the PC's CPython, with a simulated W5500 and LAN: no board, no RP2040.

The clock of such a row is the PC's own: the driver's Python takes what CPython takes, SPI bytes last as long as their
clock says, and the simulated chip, cable and server follow in real time. Its figures vary from run to run like those of
any program on a PC; only boards that are emulated as a whole repeat theirs.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import portbench
from portbench.boards.board import Board, Deployment, OwnNetwork, Progress, RunOutput, RuntimeIdentity, Unattended
from portbench.boards.console import Console
from portbench.boards.definition import BoardDefinition, Ethernet
from portbench.boards.emulated.config import ethernet_settings
from portbench.boards.hosted.process import HostedProcess
from portbench.boards.timing import Deadline
from portbench.errors import BoardError, BoardUnavailable, ConsoleLost
from portbench.files import TemporaryFolder
from portbench.firmware.identify import Uf2File
from portbench.where import Where
from portbench.workloads import Session

_DRIVER = "adafruit-circuitpython-wiznet5k"
_SCRIPT = "code.py"
_RECORD = "lan.json"
_ROOT = Path(portbench.__file__).parents[1]
_PC_IP = IPv4Address("192.168.50.1")
_BOARD_IP = IPv4Address("192.168.50.10")
"""Below the DHCP server's pool."""
_MASK = IPv4Address("255.255.255.0")
_SERVER_PORT = 5000


class HostedCircuitPython(Board):
    """Runs the client in a child process; its W5500 and LAN live in that process and start anew with each run.

    `turnaround_us` and `phy_link_delay_s` are the simulated PC's and PHY's, `driver_folder` holds another
    adafruit_wiznet5k than the installed one. Raises BoardUnavailable where the driver is missing.
    """

    where: Where = Where.HOSTED

    def __init__(
        self,
        definition: BoardDefinition,
        *,
        turnaround_us: int = 200,
        phy_link_delay_s: float = 0.0,
        driver_folder: Path | None = None,
    ) -> None:
        if os.name != "posix":
            raise BoardUnavailable("hosted CircuitPython: needs POSIX process groups, which this system has not")
        if definition.network is None:
            raise BoardUnavailable(f"hosted CircuitPython: {definition.id} has no network; choose a board with one")
        if not isinstance(definition.network, Ethernet):
            raise BoardUnavailable(
                f"hosted CircuitPython: {definition.id} has a {definition.network.chip}, whose driver is no library;"
                " use the emulated board"
            )
        ethernet_settings(definition, definition.network)
        self._ethernet = asdict(definition.network)
        self._driver_version = _driver_version(driver_folder)
        self.definition = definition
        self.name = "hosted CircuitPython"
        self.own_network = OwnNetwork(_PC_IP, _SERVER_PORT, (_BOARD_IP, _MASK, _PC_IP, _PC_IP))
        self._network = {
            "turnaround_us": turnaround_us,
            "phy_link_delay_us": round(phy_link_delay_s * 1e6),
            "pc_ip": str(_PC_IP),
        }
        self._import_from = [str(_ROOT)] if driver_folder is None else [str(driver_folder), str(_ROOT)]
        self._folder = TemporaryFolder("portbench-hosted")
        self._deployed = False
        self._workload: str | None = None
        self._settings: dict[str, Any] = {}
        self._console = Console()
        self._process: HostedProcess | None = None

    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        """Nothing to flash: the runtime is a program of this PC."""

    def wait_console(self, deadline: Deadline) -> None:
        """Nothing to wait for: the console is there as soon as the process is."""

    def identify(self, deadline: Deadline) -> RuntimeIdentity:
        """The driver's version is the row's: CPython itself is only what it runs on, and is named in `machine`."""
        machine = f"{platform.python_implementation()} {platform.python_version()} on {platform.machine()}"
        return RuntimeIdentity(family="circuitpython", version=self._driver_version, board_id="", machine=machine)

    def deploy(self, deployment: Deployment, deadline: Deadline) -> None:
        if _SCRIPT not in deployment.files:
            raise BoardError(f"{self.name}: the deployment has no {_SCRIPT}, only {', '.join(deployment.files)}")
        try:
            for name, content in deployment.files.items():
                path = self._folder.path / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        except OSError as error:
            raise BoardError(f"{self.name}: cannot write {error.filename}: {error.strerror}") from error
        self._deployed = True

    def serve(
        self, workload: str, settings: Mapping[str, Any], deadline: Deadline, alone: Unattended | None = None
    ) -> None:
        self._workload = workload
        self._settings = dict(settings)

    def run(self, deadline: Deadline, progress: Progress | None = None) -> RunOutput:
        if not self._deployed:
            raise BoardError(f"{self.name}: nothing was deployed to run")
        self.reset(deadline)
        self._console = Console(progress)
        folder = self._folder.path
        record = folder / _RECORD
        record.unlink(missing_ok=True)
        settings = {
            "ethernet": self._ethernet,
            "workload": self._workload,
            "settings": self._settings,
            "port": _SERVER_PORT,
            "network": self._network,
        }
        # -P: the script's folder must not be searched for modules, or code.py would hide the standard library's `code`.
        command = [
            sys.executable,
            "-P",
            "-m",
            "portbench.boards.hosted.blinka",
            _SCRIPT,
            json.dumps(settings),
            str(record),
        ]
        self._process = HostedProcess(command, folder, self._environment())
        try:
            self._process.read(self._console, deadline, "the client's result line")
        finally:
            self._end_process()
        lan = _read_record(record)
        if self._console.result is None:
            if lan.get("fault"):
                raise BoardError(f"{self.name}: {lan['fault']}")
            last = self._console.tail(1)
            raise ConsoleLost(f"{self.name}: the client ended without a result line; last it printed: {last}")
        return RunOutput(
            self._console.result,
            list(self._console.lines),
            [Session(**session) for session in lan["sessions"]],
            {"counters": lan["counters"]},
        )

    def reset(self, deadline: Deadline) -> None:
        self._end_process()

    def console_tail(self, n: int = 20) -> list[str]:
        return self._console.tail(n)

    def close(self) -> None:
        self._end_process()
        self._folder.remove()

    def _environment(self) -> dict[str, str]:
        known = os.environ.get("PYTHONPATH")
        return {**os.environ, "PYTHONPATH": os.pathsep.join([*self._import_from, *([known] if known else [])])}

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


def _driver_version(folder: Path | None) -> str:
    try:
        if folder is None:
            version = importlib.metadata.version(_DRIVER)
        else:
            version = next(iter(importlib.metadata.distributions(name=_DRIVER, path=[str(folder)]))).version
    except (importlib.metadata.PackageNotFoundError, StopIteration):
        raise BoardUnavailable(
            f"hosted CircuitPython: no driver; run: {sys.executable} -m pip install {_DRIVER}"
        ) from None
    return version


def _read_record(path: Path) -> dict[str, Any]:
    """What the child left behind; without it (the script ended the process itself) nothing is known of the LAN."""
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {"sessions": [], "counters": {}}
    return record
