"""Rows that come from other processes, and the server that those share."""

from __future__ import annotations

import multiprocessing
import socket
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from portbench.boards import Board
from portbench.errors import PortbenchError
from portbench.results.model import Row, Status
from portbench.runner.collect import RowDraft
from portbench.runner.options import BenchOptions
from portbench.runner.parallel.collector import ROW_PROPERTY, Collector, WorkerRows, as_worker
from portbench.runner.parallel.server import LentServers, ServerHub
from portbench.runner.plan import PlannedRow, plan
from portbench.runner.servers import Servers, sessions_since
from portbench.server.own_turnaround import measure_round_trip
from portbench.where import Where
from portbench.workloads import WORKLOADS_VARIABLE, workload
from tests.ping_pong import PING_PONG
from tests.workloads.own import FOLDER

OPTIONS = BenchOptions(runtimes=("micropython-1.26.0",), parallel=2, server_port=0, runs=1)
HOSTED = cast(Board, SimpleNamespace(where=Where.HOSTED, own_network=None))


class Rows:
    """Stands in for the run file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "run.json"
        self.path.with_suffix("").mkdir()
        self.rows: list[Row] = []

    def append(self, row: Row) -> None:
        self.rows.append(row)

    def finish(self) -> None:
        raise NotImplementedError


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    return Rows(tmp_path)


@pytest.fixture
def collector(rows: Rows) -> Iterator[Collector]:
    made = Collector(OPTIONS, plan(OPTIONS), rows)
    yield made
    made.close()


def test_a_process_is_told_how_many_there_are_though_nobody_said(collector: Collector) -> None:
    """Without it a hosted row was measured beside emulated ones, which take its processor."""
    process = SimpleNamespace(workerinput={})
    collector.hand_out(process)
    assert as_worker(process, replace(OPTIONS, parallel=1)).parallel == 2


def report(run: PlannedRow, **more: Any) -> pytest.TestReport:
    values = {
        "nodeid": f"portbench/runner/rows/test_rows.py::test_runtime[{run.id}]",
        "user_properties": [],
        "failed": False,
    }
    return cast(pytest.TestReport, SimpleNamespace(**(values | more)))


def test_a_row_comes_with_its_report_and_once(collector: Collector, rows: Rows) -> None:
    run = plan(OPTIONS)[0]
    row = RowDraft(run, OPTIONS, Where.EMULATED).skipped("no")
    taken = collector.take(report(run, user_properties=[(ROW_PROPERTY, row.model_dump_json())]))
    assert taken == (run, row) and rows.rows == [row]
    assert collector.take(report(run, failed=True, longrepr="teardown")) is None


def test_a_report_without_a_row_ends_none(collector: Collector, rows: Rows) -> None:
    assert collector.take(report(plan(OPTIONS)[0])) is None
    unknown = cast(pytest.TestReport, SimpleNamespace(nodeid="tests/x.py::test_x", user_properties=[], failed=True))
    assert collector.take(unknown) is None and rows.rows == []


def test_a_process_that_died_leaves_a_failed_row(collector: Collector, rows: Rows) -> None:
    run = plan(OPTIONS)[1]
    taken = collector.take(report(run, failed=True, longrepr="worker 'gw1' crashed while running\n 'x'"))
    assert taken is not None and taken[1].status is Status.FAILED
    assert rows.rows[0].reason == "worker 'gw1' crashed while running 'x'" and rows.rows[0].runtime == run.entry.id


def test_what_went_wrong_after_the_last_row_is_kept(collector: Collector) -> None:
    collector.worker_ended(SimpleNamespace(workeroutput={"portbench_fault": "the files are in /x"}))
    collector.worker_ended(SimpleNamespace())
    assert collector.faults == ["the files are in /x"]


@pytest.fixture
def hub() -> Iterator[ServerHub]:
    servers = Servers(OPTIONS)
    made = ServerHub(servers)
    yield made
    made.close()
    servers.close()


def test_all_processes_use_one_server(hub: ServerHub) -> None:
    one, two = (LentServers(OPTIONS, hub.ticket).peer_for(HOSTED, PING_PONG) for _ in range(2))
    assert one[0] == two[0] and one[0] is not None and one[0].address == IPv4Address("127.0.0.1")
    server = one[1]
    assert server is not None
    first = server.accepted
    measure_round_trip(server.host, server.port, PING_PONG.ideal_client(5))
    assert [each.exchanges for each in sessions_since(server, first)] == [5]
    assert sessions_since(server, first, "127.0.0.1")
    assert server.accepted == first + 1 and len(server.sessions()) == first + 1


def test_each_workload_has_a_server_of_its_own(hub: ServerHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(FOLDER))
    lent = LentServers(OPTIONS, hub.ticket)
    (one, _), (two, _), again = (lent.peer_for(HOSTED, each) for each in (PING_PONG, workload("echo"), PING_PONG))
    assert one is not None and two is not None and one.port != two.port and again[0] == one
    with socket.create_connection((str(two.address), two.port), timeout=5) as client:
        client.sendall(b"hello")
        assert client.recv(16) == b"hello"


def test_of_several_boards_sessions_only_the_boards_own_counts(hub: ServerHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portbench.runner.servers._SESSION_END_S", 0.05)
    _, server = LentServers(OPTIONS, hub.ticket).peer_for(HOSTED, PING_PONG)
    assert server is not None
    first = server.accepted
    measure_round_trip(server.host, server.port, PING_PONG.ideal_client(5))
    assert sessions_since(server, first, "192.0.2.7") == []


def test_errors_cross_processes_as_one_line(hub: ServerHub) -> None:
    _, server = LentServers(OPTIONS, hub.ticket).peer_for(HOSTED, PING_PONG)
    assert server is not None
    with pytest.raises(PortbenchError, match=r"waited 0.01 s for a client's report"):
        server.wait_report(0.01)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        options = replace(OPTIONS, server_port=taken.getsockname()[1])
        busy = ServerHub(Servers(options))
        with pytest.raises(PortbenchError, match="cannot listen: the port is in use"):
            LentServers(options, busy.ticket).peer_for(HOSTED, PING_PONG)
        busy.close()


def test_the_hub_listens_on_the_loopback_and_asks_for_its_key(hub: ServerHub) -> None:
    port, _, _ = hub.ticket.partition(":")
    with pytest.raises(multiprocessing.AuthenticationError):
        LentServers(OPTIONS, f"{port}:{'0' * 32}")


def test_a_worker_writes_nothing(tmp_path: Path) -> None:
    sink = WorkerRows(tmp_path / "run.json")
    sink.finish()
    assert list(tmp_path.iterdir()) == []
