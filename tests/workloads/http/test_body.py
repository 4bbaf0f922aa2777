"""The board's part, under CPython on real sockets, asked by the standard library's client; and as hosted rows."""

import http.client
import runpy
import socket
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from portbench.workloads import workload
from portbench.workloads.http.conversation import STATIC, page_fault

HTTP = workload("http")


@pytest.fixture
def served() -> Iterator[tuple[int, dict[str, Any]]]:
    """The port at which the body serves, and its result, until a test has asked for /end."""
    client = ModuleType("portbench_client")
    result: dict[str, Any] = {}
    client.__dict__["RESULT"] = result
    path = HTTP.body("micropython")
    assert path is not None and path == HTTP.body("circuitpython")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "portbench_client", client)
        body = runpy.run_path(str(path))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=body["http"], args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1], result
        thread.join(30)
        assert not thread.is_alive()


def get(connection: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_its_pages(served: tuple[int, dict[str, Any]]) -> None:
    port, result = served
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    assert get(connection, "/") == (200, STATIC)
    for _ in range(2):
        status, body = get(connection, "/dynamic")
        assert status == 200 and page_fault("dynamic", body) is None
    assert b"request 2<" in body
    assert get(connection, "/nothing") == (404, b"")
    connection.close()
    other = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    assert get(other, "/end") == (200, b"")
    other.close()
    assert result["asked"] == 5 and result["faults"] == 0


def test_a_client_that_says_nothing_or_too_much(served: tuple[int, dict[str, Any]]) -> None:
    port, result = served
    with socket.create_connection(("127.0.0.1", port), 30):
        pass
    with socket.create_connection(("127.0.0.1", port), 30) as rude:
        rude.sendall(b"x" * 5000)
    ended = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    assert get(ended, "/end") == (200, b"")
    ended.close()
    assert result["asked"] == 1
