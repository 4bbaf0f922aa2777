"""docs/labgrid.md from the desk on, as it stands but for the ports."""

import os
import shlex
import sys
from pathlib import Path

import pytest

from portbench.boards.usb.board import default_bus
from portbench.boards.usb.bus import Target, parse_selector, select
from portbench.results import storage
from portbench.results.model import Status
from tests.boards.labgrid.conftest import EXAMPLE, Desk
from tests.boards.remote.ports import free_port
from tests.boards.usb.conftest import DEFINITION
from tests.conftest import Image, needs
from tests.runner.cli.test_desk import StartDesk, desk_with, line  # noqa: F401 - a fixture
from tests.runner.conftest import Invoke, empty, environment, invoke  # noqa: F401 - fixtures

DOCUMENT = Path(__file__).parents[3] / "docs" / "labgrid.md"
pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    needs("labgrid", "labgrid is not installed"),
]


@pytest.mark.timeout(600)
def test_a_desk_is_flashed_and_measured_through_the_lab(
    desk: Desk,
    desk_with: StartDesk,  # noqa: F811
    environment: dict[str, str],  # noqa: F811
    invoke: Invoke,  # noqa: F811
    image: Image,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    image("wiznet-hardwired")
    for name in ("PORTBENCH_RUNTIME_DIR", "PORTBENCH_LOCK_DIR"):
        monkeypatch.setenv(name, environment[name])
    port = str(free_port())
    bridged = """desk --config '{"pc_ip": "127.0.0.1", "bridge": [["127.0.0.1:5000", "127.0.0.1:5000"]]}'"""
    line(desk_with(bridged.replace("5000", port)), ": drive ")
    flashed = "run --device usb:desk --runtime wiznet-hardwired --runs 1 -s server_host=127.0.0.1 -s server_port=5000"
    assert flashed in DOCUMENT.read_text(encoding="utf-8")
    done = invoke(*shlex.split(flashed.replace("5000", port)))
    assert done.exit_code == 0, done.output
    selector = parse_selector("usb:desk")
    on_desk = Target(default_bus(selector), lambda devices: select(devices, selector, DEFINITION))
    monkeypatch.setattr(desk, "find", on_desk.find)
    at_port = ("-s", f"server_port={port}")
    borrowed = "run --device labgrid:desk --where emulated --runtime wiznet-hardwired -s server_host=127.0.0.1"
    # The environment's power driver is a command of the shell.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for device, runs in (("labgrid:desk", ""), (f"labgrid:{EXAMPLE / 'environment.yaml'}", " --runs 1")):
        done = invoke(*shlex.split(borrowed.replace("labgrid:desk", device) + runs), *at_port)
        assert done.exit_code == 0, done.output
        rows = storage.read(tmp_path / "results" / "latest.json").rows
        assert {(row.status, row.where) for row in rows} == {(Status.MEASURED, "hosted")}
