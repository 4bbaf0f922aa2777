"""CircuitPython's driver and client on the PC's CPython, with a simulated W5500 and LAN: no board, no RP2040.

Such a row counts the processor time that the driver takes on CPython. SPI bytes last as long as their clock says,
sleeps as long as asked, and the simulated chip, cable and server follow. Its figures vary from run to run like those of
any program on a PC, but other programs and a stopped process add nothing to them.
"""

import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import portbench
from portbench.boards.board import OwnNetwork, RunOutput, RuntimeIdentity, Unattended
from portbench.boards.definition import (
    MASK,
    PC_IP,
    SERVER_PORT,
    TURNAROUND_US,
    BoardDefinition,
    Ethernet,
    board_address,
)
from portbench.boards.emulated.config import ethernet_settings
from portbench.boards.hosted.process import HostedBoard
from portbench.boards.timing import Deadline
from portbench.errors import BoardError, BoardUnavailable
from portbench.install import with_extra
from portbench.workloads import Session

_DRIVER = "adafruit-circuitpython-wiznet5k"
_RECORD = "lan.json"
_ROOT = Path(portbench.__file__).parents[1]


class HostedCircuitPython(HostedBoard):
    """Its W5500 and LAN live in the child process and start anew with each run.

    `turnaround_us` and `phy_link_delay_s` are the simulated PC's and PHY's, `driver_folder` holds another
    adafruit_wiznet5k than the installed one. Raises BoardUnavailable where the driver is missing.
    """

    name = "hosted CircuitPython"
    script = "code.py"

    def __init__(
        self,
        definition: BoardDefinition,
        *,
        turnaround_us: int = TURNAROUND_US,
        phy_link_delay_s: float = 0.0,
        driver_folder: Path | None = None,
    ) -> None:
        if os.name != "posix":
            raise BoardUnavailable("hosted CircuitPython: needs POSIX process groups, which this system has not")
        if definition.network is None:
            raise BoardUnavailable(f"hosted CircuitPython: {definition.id} has no network; choose a board with one")
        if not isinstance(definition.network, Ethernet):
            raise BoardUnavailable(
                f"hosted CircuitPython: {definition.id} has a {definition.network.chip}, whose driver is not a library;"
                " use the emulated board"
            )
        if definition.network.rstn_pin is None:
            raise BoardUnavailable(f"hosted CircuitPython: {definition.id} has no RSTn pin; choose a board with one")
        ethernet_settings(definition, definition.network)
        self._ethernet = asdict(definition.network)
        self._driver_version = _driver_version(driver_folder)
        self.own_network = OwnNetwork(PC_IP, SERVER_PORT, (board_address(), MASK, PC_IP, PC_IP))
        self._network = {
            "turnaround_us": turnaround_us,
            "phy_link_delay_us": round(phy_link_delay_s * 1e6),
            "pc_ip": str(PC_IP),
        }
        self._import_from = [str(_ROOT)] if driver_folder is None else [str(driver_folder), str(_ROOT)]
        self._workload: str | None = None
        self._settings: dict[str, Any] = {}
        super().__init__(definition)

    def identify(self, deadline: Deadline) -> RuntimeIdentity:
        """The driver's version is the row's: CPython itself is only what it runs on, and is named in `machine`."""
        machine = f"{platform.python_implementation()} {platform.python_version()} on {platform.machine()}"
        return RuntimeIdentity(family="circuitpython", version=self._driver_version, board_id="", machine=machine)

    def serve(
        self, workload: str, settings: Mapping[str, Any], deadline: Deadline, alone: Unattended | None = None
    ) -> None:
        self._workload = workload
        self._settings = dict(settings)

    def _run_client(self, deadline: Deadline) -> RunOutput:
        record = self._folder.path / _RECORD
        record.unlink(missing_ok=True)
        names = str(PC_IP) if self.equipment.get("resolves_names") else None
        asked = {"dns_answer": names, "ntp_start_s": self.equipment.get("ntp_start_s")}
        settings = {
            "ethernet": self._ethernet,
            "workload": self._workload,
            "settings": self._settings,
            "port": SERVER_PORT,
            "network": self._network | asked,
        }
        # -P: the script's folder must not be searched for modules, or code.py would hide the standard library's `code`.
        module = "portbench.boards.hosted.blinka"
        command = [sys.executable, "-P", "-m", module, self.script, json.dumps(settings), str(record)]
        libraries = str(self._folder.path / "lib")
        path = os.pathsep.join(filter(None, [*self._import_from, libraries, os.environ.get("PYTHONPATH")]))
        self._execute(command, self._console, deadline, environment={**os.environ, "PYTHONPATH": path})
        lan = _read_record(record)
        if self._console.result is None and lan.get("fault"):
            raise BoardError(f"{self.name}: {lan['fault']}")
        return RunOutput(
            self._console.result,
            list(self._console.lines),
            [Session(**session) for session in lan["sessions"]],
            {"counters": lan["counters"]},
        )


def _driver_version(folder: Path | None) -> str:
    try:
        if folder is None:
            version = importlib.metadata.version(_DRIVER)
        else:
            version = next(iter(importlib.metadata.distributions(name=_DRIVER, path=[str(folder)]))).version
    except (importlib.metadata.PackageNotFoundError, StopIteration):
        raise BoardUnavailable(f"hosted CircuitPython: no driver; run: {with_extra('hosted')}") from None
    return version


def _read_record(path: Path) -> dict[str, Any]:
    """Read the child's record. Without one (the script ended the process itself) nothing is known of the LAN."""
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {"sessions": [], "counters": {}}
    return record
