"""A labgrid coordinator and exporters on this machine's loopback."""

import importlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from portbench.boards import Deadline
from portbench.boards.remote.serial_server import SerialServer
from portbench.boards.usb.bus import UsbDevice
from tests import patience
from tests.boards.remote.ports import free_port
from tests.boards.usb.conftest import boards, deadline, own_locks  # noqa: F401  (fixtures)

_EXAMPLES = "boards/labgrid/example"
EXAMPLE = Path(__file__).parents[3] / _EXAMPLES
_COORDINATOR = "labgrid-coordinator -l 127.0.0.1:20408"
_EXPORTER = "labgrid-exporter -c 127.0.0.1:20408 --hostname 127.0.0.1 -n lab boards/labgrid/example/exporter.yaml"
_START_S = 30.0


class Desk:
    """The place `desk`: the board behind its exported console, and the coordinator that knows of it."""

    def __init__(self, coordinator: str) -> None:
        self.coordinator = coordinator
        self.find: Callable[[], UsbDevice | None] = lambda: None

    def client(self, command: str) -> None:
        """Run labgrid-client, as docs/labgrid.md does."""
        program, *words = shlex.split(command)
        done = patience.run([tool(program), "-x", self.coordinator, *words], _START_S)
        assert done.returncode == 0, done.stdout + done.stderr


def tool(name: str) -> str:
    found = shutil.which(name, path=sysconfig.get_path("scripts"))
    assert found is not None, f"{name} is not beside {sys.executable}"
    return found


@contextmanager
def running(command: list[str], folder: Path, ready: str, **environment: str) -> Iterator[None]:
    """The process `command` from its line `ready` on, until the block ends."""
    log = folder / f"{Path(command[0]).name}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, cwd=folder, env={**os.environ, **environment}
        )
    try:
        Deadline(_START_S, command[0]).poll(lambda: ready in log.read_text() or process.poll(), 0.05, ready)
        assert process.poll() is None, log.read_text()
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One coordinator for all tests here: labgrid keeps one connection for each process. The place is not acquired."""
    importlib.import_module("tests.boards.labgrid.drivers")  # which registers them with labgrid
    folder = tmp_path_factory.mktemp("labgrid")
    desk = Desk(f"127.0.0.1:{free_port()}")
    coordinator, exporter = (
        [tool(program), *words.replace("127.0.0.1:20408", desk.coordinator).replace(_EXAMPLES, str(EXAMPLE)).split()]
        for program, _, words in (line.partition(" ") for line in (_COORDINATOR, _EXPORTER))
    )
    with (
        SerialServer(lambda: desk.find()) as console,
        running(coordinator, folder, "listening on 127.0.0.1:"),
        running(exporter, folder, "Exporter ready", CONSOLE_PORT=str(console.port)),
    ):
        desk.client("labgrid-client -p desk create")
        desk.client("labgrid-client -p desk add-match 'lab/desk/*'")
        yield desk


@pytest.fixture
def desk(lab: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """The place, acquired for the test."""
    monkeypatch.setenv("LG_COORDINATOR", lab.coordinator)
    lab.client("labgrid-client -p desk acquire")
    yield lab
    lab.client("labgrid-client -p desk release")
    lab.find = lambda: None
