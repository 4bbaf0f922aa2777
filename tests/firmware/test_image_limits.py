"""Servers and files that never end: each costs its limit, and no more."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from portbench.errors import PortbenchError
from portbench.firmware import uf2
from portbench.firmware.download import download

LIMIT_S = 0.5


@pytest.fixture(params=["headers", "content", "silence"])
def dripping(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that sends a byte now and then, for ever."""
    over = threading.Event()
    begin = {
        "headers": b"HTTP/1.0 200 OK\r\nX-",
        "content": b"HTTP/1.0 200 OK\r\nContent-Length: 100000\r\n\r\n",
        "silence": b"",
    }[request.param]

    def serve(listener: socket.socket) -> None:
        while not over.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                try:
                    client.sendall(begin)
                    while not over.wait(0.05):
                        client.sendall(b"x" if begin else b"")
                except OSError:
                    continue  # the client has had enough

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/x.uf2"
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(30)


def test_a_transfer_has_a_deadline_whatever_drips(dripping: str, tmp_path: Path) -> None:
    with pytest.raises(PortbenchError, match=rf"^not finished within {LIMIT_S} s$"):
        download(dripping, tmp_path, "x.uf2", limit_s=LIMIT_S)


@pytest.mark.parametrize("kind", ["pipe", "endless", "folder"])
def test_only_regular_files_are_images(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.uf2"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.raises(uf2.Uf2Error, match=r"x\.uf2: (is no regular file|cannot be read \(Is a directory\));") as error:
        uf2.read(path)
    assert error.value.fault is uf2.Fault.UNREADABLE


def test_a_file_behind_a_link_is_one(tmp_path: Path) -> None:
    (tmp_path / "real.uf2").write_bytes(uf2.build(b"content".ljust(256)))
    (tmp_path / "x.uf2").symlink_to(tmp_path / "real.uf2")
    assert uf2.read(tmp_path / "x.uf2").ranges()
