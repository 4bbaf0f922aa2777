"""`portbench serve` as a person runs it."""

import itertools
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any

import pytest

from portbench.runner.cli import serving
from portbench.server.tcp import WorkloadServer
from portbench.workloads import Served, workload, workloads
from tests import patience
from tests.runner.conftest import COMMAND, Invoke

LIMIT_S = 20


@contextmanager
def command(*options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The running command and the port that it says it listens on."""
    words = [*COMMAND, "serve", "--port", "0", *options]
    with patience.started(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.fullmatch(r"listening on 127\.0\.0\.1:(\d+), own round trip \d+ us \(p99 \d+\)\n", first)
        assert found, first
        yield process, int(found[1])


def test_once_waits_for_a_good_client() -> None:
    with command("--once", "--timeout", "20") as (process, port):
        with socket.create_connection(("127.0.0.1", port), LIMIT_S) as bad:
            bad.sendall(b"hello")
            assert bad.recv(10) == b""
        with socket.create_connection(("127.0.0.1", port), LIMIT_S) as good:
            good.sendall(b"1")
            assert good.recv(10) == b"2"
        output, errors = patience.communicate(process, LIMIT_S)
    lines = output.splitlines()
    assert process.returncode == 0 and errors == "" and len(lines) == 2
    assert " bad exchanges=0 " in lines[0] and "error: message 1 must be 1, not b'hello'" in lines[0]
    assert " ok exchanges=1 " in lines[1]


def test_once_without_a_client_gives_up() -> None:
    with command("--once", "--timeout", "0.1") as (process, _):
        _, errors = patience.communicate(process, LIMIT_S)
    assert process.returncode == 1 and errors == "no good client within 0.1 s\n"


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize(("options", "code"), [([], 0), (["--once"], 130)])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_it_cleanly(options: list[str], code: int, number: signal.Signals) -> None:
    with command(*options) as (process, port), socket.create_connection(("127.0.0.1", port), LIMIT_S) as client:
        process.send_signal(number)
        _, errors = patience.communicate(process, LIMIT_S)
        assert client.recv(10) == b""
    assert process.returncode == code and errors == "stopped\n"


def test_port_in_use_is_one_line(invoke: Invoke) -> None:
    with WorkloadServer(workload("ping_pong"), port=0) as server:
        done = invoke("serve", "--port", server.port)
    assert done.exit_code == 1 and done.stderr.count("\n") == 1
    assert f"127.0.0.1:{server.port}: cannot listen: the port is in use" in done.stderr
    done = invoke("serve", "--max-clients", "0")
    assert done.exit_code == 2 and "'--max-clients': 0 is not in the range x>=1" in done.stderr


@pytest.mark.parametrize("name", [each.name for each in workloads().values() if isinstance(each, Served)])
def test_each_workload_with_a_server_is_served(name: str, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portbench.runner.cli.verbs.serve.until_stopped", lambda: nullcontext(lambda: False))
    done = invoke("serve", "--workload", name, "--port", "0")
    assert (done.exit_code, done.stderr) == (0, "stopped\n")
    own = r", own round trip \d+ us \(p99 \d+\)" if any(True for _ in workload(name).ideal_client(1)) else ""
    assert re.fullmatch(rf"listening on 127\.0\.0\.1:\d+{own}\n", done.stdout), done.stdout


@pytest.mark.parametrize("moment", range(12))
def test_a_signal_at_any_moment_of_a_wait_ends_it(moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It did not end where it came while `threading.Event.wait` held the lock of the event."""
    monkeypatch.setattr(serving, "_LOOK_S", 0.001)
    lines = itertools.count()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if next(lines) == moment:
            signal.raise_signal(signal.SIGTERM)
        return trace

    with serving.until_stopped() as goes_on:
        sys.settrace(trace)
        try:
            for _ in range(20):
                goes_on()
        finally:
            sys.settrace(None)
        assert not goes_on()
