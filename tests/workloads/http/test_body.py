"""The board's part, under CPython on real sockets, asked by the standard library's client; and as hosted rows."""

from __future__ import annotations

import http.client
import runpy
import socket
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from portbench.results.model import Status
from portbench.workloads import workload
from portbench.workloads.http.conversation import STATIC, page_fault
from tests.measuring import Measure
from tests.measuring import measured_row as measured_row

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


@pytest.mark.parametrize("page", ["static", "dynamic"])
@pytest.mark.parametrize(
    ("runtime", "settings"),
    [
        ("micropython-unix", {"requests": 20, "at_once": 4}),
        ("micropython-unix", {"requests": 20, "keep_alive": 8}),
        # One at a time: the driver may lose one that arrives while it opens its next socket (the workload's README).
        pytest.param("circuitpython-blinka", {"requests": 4}, marks=pytest.mark.engine),
    ],
)
def test_hosted_rows(runtime: str, settings: dict[str, Any], page: str, measured_row: Measure) -> None:
    row = measured_row(HTTP, runtime, page=page, **settings)
    assert row.status is Status.MEASURED, row.reason
    assert row.figures["completed"] == settings["requests"] and row.figures["failed"] == 0
    assert len(row.samples["total_us"]) == settings["requests"]
