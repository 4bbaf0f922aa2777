"""Runs the client scripts where they would run, but on faked hardware and a faked network."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from portbench.boards import Deployment
from portbench.boards.console import Console
from portbench.boards.hosted.micropython_unix import micropython_command
from portbench.clients import ClientNetwork, StaticAddress, build_deployment
from portbench.workloads import workload
from tests.ping_pong import EVB, deployment

HERE = Path(__file__).parent

STATIC = StaticAddress(*(IPv4Address(a) for a in ("192.168.1.20", "255.255.255.0", "192.168.1.1", "8.8.8.8")))

QUIET: dict[str, Any] = {
    "lwip": True,
    "has_status": True,
    "nic_arguments": [0, 3, 4],
    "link_at_us": 0,
    "link_after_looks": 0,
    "leases_refused": 0,
    "connect_errors": [],
    "connect_errors_for_ever": False,
    "split": False,
    "wrong_answer_to": None,
    "close_after": None,
    "console_after_looks": 0,
}


@dataclass
class ClientRun:
    """`result`: the result line. `fakes`: what the fakes recorded. `lines`: everything printed."""

    result: dict[str, Any]
    fakes: list[dict[str, Any]]
    lines: list[str]

    def recorded(self, key: str) -> list[Any]:
        return [entry[key] for entry in self.fakes if key in entry]


class ClientRunner:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def micropython(self, network: ClientNetwork, **scenario: Any) -> ClientRun:
        """clients/micropython/ with the ping-pong, under the unix port."""
        scene = QUIET | scenario
        self._lay_out("micropython", network, scene, HERE / "fakes_micropython")
        if scene["lwip"]:
            (self.folder / "lwip.py").write_text("")
        return self._run([*micropython_command(), "main.py"])

    def micropython_listening(self, network: ClientNetwork, **scenario: Any) -> ClientRun:
        """clients/micropython/ with the echo server, under the unix port."""
        echo_server = workload("echo_server")
        chosen = echo_server.settings_type.model_validate({"connections": 2})
        deployed = build_deployment("micropython", "", EVB, echo_server, chosen, network)
        self._lay_out("micropython", network, QUIET | scenario, HERE / "fakes_micropython", deployed)
        (self.folder / "lwip.py").write_text("")
        return self._run([*micropython_command(), "main.py"])

    def circuitpython(self, network: ClientNetwork, **scenario: Any) -> ClientRun:
        """clients/circuitpython/ with the ping-pong, under CPython."""
        self._lay_out("blinka", network, QUIET | scenario, HERE / "fakes_circuitpython")
        return self._run([sys.executable, "code.py"])

    def _lay_out(
        self,
        family: str,
        network: ClientNetwork,
        scenario: dict[str, Any],
        fakes: Path,
        deployed: Deployment | None = None,
    ) -> None:
        shutil.copytree(fakes, self.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        (self.folder / "scenario.json").write_text(json.dumps(scenario))
        for name, content in (deployed or deployment(family, network, 50)).files.items():
            (self.folder / name).write_bytes(content)

    def _run(self, command: list[str]) -> ClientRun:
        done = subprocess.run(command, cwd=self.folder, capture_output=True, timeout=60, check=False)
        console = Console()
        console.feed(done.stdout + done.stderr)
        console.end()
        assert console.result is not None, console.lines
        fakes = [json.loads(line[5:]) for line in console.lines if line.startswith("FAKE ")]
        return ClientRun(console.result, fakes, console.lines)


@pytest.fixture
def client(tmp_path: Path) -> ClientRunner:
    return ClientRunner(tmp_path)


@pytest.fixture
def network() -> ClientNetwork:
    return ClientNetwork(server=IPv4Address("192.168.1.247"), port=5000, ready_timeout_s=20)
