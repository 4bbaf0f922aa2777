"""The PC's client, the figures of a result, the driver's means, and rows."""

import socket
from typing import Any
from unittest.mock import Mock, call

import pytest

from portbench.results.model import Status
from portbench.server.simulated_pc import CALL_DELAY_US, SimulatedServer, part_in
from portbench.server.tcp import WorkloadServer
from portbench.workloads import BadResult, NetworkFault, Session, workload
from portbench.workloads.mqtt.broker import Broker
from portbench.workloads.mqtt.pc import ANSWER, COMMAND, COMMANDS, FAULT, PcClient, pause_us
from portbench.workloads.mqtt.workload import Settings
from tests.measuring import Measure
from tests.workloads.mqtt.clients import Kept, connect, link, messages, publish, subscribe

MQTT = workload("mqtt")
SETTINGS = Settings(messages=2, commands=2)
RESULT = {
    "connect_us": 9,
    "qos0_us": 1000,
    "qos1_us": [400, 600],
    "echo_us": [500, 700],
    "look_us": [1, 2, 3, 4, 5],
    "ping_us": 300,
    "kept": True,
    "recover_us": 10,
}


def session(received_us: list[float], delivered_us: list[float]) -> Session:
    return Session(1, "b:1", 0.0, 9e9, len(received_us), 1, None, received_us=received_us, delivered_us=delivered_us)


def test_commands_come_one_after_the_other_each_after_another_pause() -> None:
    board, line = link(Broker(PcClient().heard), connect(), subscribe(COMMAND))
    board.receive(publish(COMMANDS, b"2"))
    board.receive(publish(ANSWER, b"7"))  # not the one that was asked for
    board.receive(publish(ANSWER, b"0"))
    board.receive(publish(ANSWER, b"1"))
    assert [(messages(data)[0][1], after) for data, after in line.sent] == [(b"0", pause_us(0)), (b"1", pause_us(1))]
    pauses = [pause_us(number) for number in range(100)]
    assert min(pauses) > CALL_DELAY_US and max(pauses) <= 520_000 and len(set(pauses)) == 100


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (b"reset", NetworkFault("reset")),
        (b"restart 50", NetworkFault("restart", 5e4)),
        (b"cable 0", None),
        (b"x", None),
    ],
)
def test_faults_are_the_workloads(said: bytes, fault: NetworkFault | None) -> None:
    board, _ = link(Broker(PcClient().heard), connect(), publish(FAULT, said))
    assert board.network_fault == fault and not (fault is None and board.finished)


def test_a_lost_broker_closes_after_it_was_asked_to() -> None:
    board, _ = link(Broker(PcClient().heard), connect(), publish(FAULT, b"close"))
    assert board.finished and board.network_fault is None


def test_figures_are_of_both_clocks() -> None:
    received = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 1100.0, 2250.0]
    measured = MQTT.check(RESULT, SETTINGS, [session([], []), session(received, [1000.0, 2000.0])])
    assert (measured.figures["qos0_per_s"], measured.figures["qos1_per_s"]) == (2000, 2000)
    assert measured.samples["command_us"] == [100, 250] and measured.figures["kept"] == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"qos1_us": [1]}, "reports 1 qos1_us, not 2"),
        ({"look_us": []}, "reports 0 look_us, not 5"),
        ({"recover_us": None}, "recover_us is None, with the fault close"),
        ({"kept": 1}, "the client's kept is 1"),
    ],
)
def test_a_result_that_is_none(change: dict[str, Any], says: str) -> None:
    with pytest.raises(BadResult, match=says):
        MQTT.check(RESULT | change, SETTINGS)


def test_a_pc_that_lacks_answers_is_no_result() -> None:
    with pytest.raises(BadResult, match="the PC sent 1 commands and has 0 answers, not 2"):
        MQTT.check(RESULT, SETTINGS, [session([1.0, 2.0], [3.0])])


@pytest.fixture
def server() -> SimulatedServer:
    part = part_in("mqtt", {})
    assert part.service is not None
    return SimulatedServer(part.service(), turnaround_us=200.0)


def test_the_simulated_pc_delivers_at_its_time_and_not_to_a_lost_board(server: SimulatedServer) -> None:
    lan = Mock()
    at_us = 1000.0 + 200.0 + pause_us(0)
    for conn, name in ((1, b"one"), (2, b"two")):
        server.accept(conn, "b:1", 0.0)
        server.receive(conn, connect(name) + subscribe(COMMAND) + publish(COMMANDS, b"1"), 1000.0)
    server.look(lan, 1500.0)
    server.accept(3, "b:3", 2000.0)
    server.receive(3, connect(b"two"), 3000.0)  # takes the client over
    server.look(lan, 4000.0)
    assert lan.mock_calls == [call.lan_close(2)]
    server.look(lan, at_us - CALL_DELAY_US)
    ((_, (conn, data, sent_us), _),) = lan.mock_calls[1:]
    assert (conn, sent_us, messages(data)) == (1, at_us, [(COMMAND, b"0", 0)])
    assert [each.delivered_us for each in server.sessions()] == [[at_us], [], []]


def test_the_simulated_pc_drops_a_board_that_is_silent_for_too_long(server: SimulatedServer) -> None:
    lan = Mock()
    server.accept(1, "b:1", 0.0)
    server.receive(1, connect(keep_alive_s=2), 10_000.0)
    server.look(lan, 3_009_999.0)
    assert not lan.mock_calls
    server.look(lan, 3_010_000.0)
    assert lan.mock_calls == [call.lan_close(1)] and server.sessions()[0].ended_us == 3_010_000.0


def test_the_real_pc_delivers_and_drops_too() -> None:
    with WorkloadServer(MQTT, port=0) as real, socket.create_connection((real.host, real.port), 60) as board:
        board.sendall(connect(keep_alive_s=1) + subscribe(COMMAND) + publish(COMMANDS, b"1"))
        came = b""
        while data := board.recv(4096):  # until it is dropped for its silence
            came += data
        (session,) = real.wait_sessions(1, 60)
    assert messages(came) == [(COMMAND, b"0", 0)]
    assert len(session.delivered_us) == 1 and session.error is None


def test_each_run_has_a_broker_of_its_own() -> None:
    part = part_in("mqtt", {})
    assert part.service is not None
    for _ in range(2):
        kept = part.service()()
        kept.line = Kept()
        assert kept.receive(connect(clean=False)) == b"\x20\x02\x00\x00"  # no session was there


@pytest.mark.engine
@pytest.mark.slow
def test_umqtt_publishes_hears_and_comes_back(measured_row: Measure) -> None:
    settings = {"messages": 2, "commands": 2, "idle_s": 0, "fault": "restart", "fault_ms": 300}
    row = measured_row(MQTT, "micropython-1.26.0", "tuned", **settings)
    assert row.status is Status.MEASURED, row.reason
    assert row.figures["kept"] == 1 and row.figures["recover_us"] > 300_000
