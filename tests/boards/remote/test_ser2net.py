"""The server that labs use: ser2net, where it is installed."""

import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from portbench.boards import Deadline, Deployment
from portbench.boards.remote.remote_board import RemoteBoard
from tests.boards.remote.ports import free_port
from tests.boards.usb.conftest import DEFINITION
from tests.boards.usb.fake_board import FakeBoard

SER2NET = shutil.which("ser2net") or shutil.which("ser2net", path="/usr/sbin")
RESULT = {"messages": 2, "total_us": 10}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(SER2NET is None, reason="ser2net is not installed; run: apt-get install ser2net"),
]


@contextmanager
def ser2net(fake: FakeBoard, folder: Path) -> Iterator[str]:
    """Serves a link that follows the board, as /dev/serial/by-id does."""
    link = folder / "by-id"
    ended = threading.Event()

    def follow() -> None:
        while True:
            port = fake.port
            if port is not None and (not link.is_symlink() or str(link.readlink()) != port):
                link.unlink(missing_ok=True)
                link.symlink_to(port)
            if ended.wait(0.01):
                return

    follower = threading.Thread(target=follow)
    follower.start()
    port = free_port()
    command = [str(SER2NET), "-d", "-n"]
    command += ["-Y", f"connection: &con01#  accepter: telnet(rfc2217,mode=server),tcp,127.0.0.1,{port}"]
    command += ["-Y", f"  connector: serialdev,{link},115200n81,local"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        Deadline(10, "ser2net").poll(lambda: answers(port), 0.05, "ser2net to listen")
        yield f"rfc2217://127.0.0.1:{port}"
    finally:
        ended.set()
        follower.join()
        process.terminate()
        process.wait(10)


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def test_files_and_runs_through_ser2net(boards: Callable[..., FakeBoard], deadline: Deadline, tmp_path: Path) -> None:
    fake = boards(on_boot=lambda show: fake._globals.update(RESULT=RESULT))
    with ser2net(fake, tmp_path) as url, RemoteBoard(DEFINITION, device=url) as board:
        assert board.identify(deadline).version == "1.26.0"
        board.deploy(Deployment({"main.py": b"pass\n"}, "micropython"), deadline)
        assert board.run(Deadline(60, "run")).result == RESULT
    assert fake.boots == 1 and (fake.root / "main.py").read_bytes() == b"pass\n"
