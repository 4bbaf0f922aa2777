"""A board whose firmware serves HTTP, echo, discard and an endless stream: built from `server/native`."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from portbench.boards import Deadline
from portbench.boards.desk.control import ControlClient
from portbench.boards.registry import RUNTIME_DIR_VARIABLE, read_state
from portbench.firmware import uf2

SERVER: Final = Path(__file__).parent / "server" / "native.uf2"
LIMIT_S: Final = 120
HTTP, ECHO, DISCARD, STREAM = 80, 7, 9, 19
PAGE: Final = (
    b"<html><head><title>Board</title></head><body><h1>portbench</h1>"
    b"<p>One hundred and thirty-seven bytes of page, for ab.</p></body></html>\r\n"
)
NETWORK: Final[dict[str, Any]] = {"phy_link_delay_us": 100_000}


def server_flash() -> bytes:
    """Content of flash with the server in it."""
    (content,) = uf2.read(SERVER).flash_bytes().values()
    return content


class Served:
    """A board that runs the server, and the ports of this machine that lead to it."""

    def __init__(self, folder: Path) -> None:
        self.client = ControlClient(folder, folder.name)
        facts = self.call("forwards")["forwards"]
        self.ports: dict[tuple[str, int], int] = {(f["protocol"], f["port"]): f["host_port"] for f in facts}

    def call(self, op: str, **arguments: Any) -> dict[str, Any]:
        return self.client.call(op, Deadline(LIMIT_S, "test"), **arguments)

    def tcp(self, port: int) -> int:
        return self.ports["tcp", port]

    def udp(self, port: int) -> int:
        return self.ports["udp", port]


Serve = Callable[..., Served]


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """Starts a board; `config`: settings besides its ports and a link that is soon there."""
    started: list[tuple[subprocess.Popen[bytes], Served]] = []
    with tempfile.TemporaryDirectory(prefix="pbf-") as root, pytest.MonkeyPatch.context() as patch:
        patch.setenv(RUNTIME_DIR_VARIABLE, root)
        flash = Path(root) / "flash.bin"
        flash.write_bytes(server_flash())

        def start(*rules: str, **config: Any) -> Served:
            name = f"server-{len(started)}"
            board = [sys.executable, "-m", "portbench.boards.desk", "--name", name, "--log", os.devnull]
            board += ["--flash", str(flash), "--config", json.dumps(NETWORK | config)]
            board += [f"--forward={rule}" for rule in rules]
            process = subprocess.Popen(board)
            try:
                is_there = lambda: read_state(Path(root) / name) is not None or process.poll() is not None  # noqa: E731
                Deadline(LIMIT_S, "test").poll(is_there, 0.01, "the board to start")
                served = Served(Path(root) / name)
            except BaseException:
                process.kill()
                raise
            started.append((process, served))
            return served

        try:
            yield start
        finally:
            for process, served in started:
                served.client.close()
                process.terminate()
                process.wait(LIMIT_S)
