"""The firmware against the workload's own conversation."""

from __future__ import annotations

import dataclasses

import pytest

from portbench.workloads.ping_pong.workload import PingPong
from tests.native import on_rp2040py
from tests.native.emulated import PingPongServer
from tests.native.on_engine import run
from tests.native.test_run import CONFIG, FAULT


class ConversingServer(PingPongServer):
    """One `PingPong` for each connection, as the real server has."""

    def accept(self, address: str, port: int) -> bool:
        self.sessions = [*getattr(self, "sessions", []), PingPong()]
        return super().accept(address, port)

    def receive(self, data: bytes) -> list[bytes]:
        answer = self.sessions[-1].receive(data)
        return [answer] if answer else []

    def closed(self) -> None:
        self.sessions[-1].eof()
        super().closed()


@pytest.mark.parametrize("repeat", [1, 2])
def test_measured_run(repeat: int) -> None:
    server = ConversingServer()
    run(server, dataclasses.replace(CONFIG, count=20, repeat=repeat))
    assert [session.exchanges for session in server.sessions] == [20] * repeat
    assert [session.report["messages"] for session in server.sessions if session.report] == [20] * repeat
    assert server.clean_ends == repeat


def test_crash_report() -> None:
    server = ConversingServer()
    on_rp2040py.run(server, CONFIG, scratch={0: FAULT, 1: 6, 2: 0})
    (session,) = server.sessions
    assert session.report is not None
    assert session.report["error"] == "hard fault"
    assert session.exchanges == 1
