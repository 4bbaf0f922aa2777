"""The simulated PC's server, as its LAN calls it."""

import pytest

from portbench.errors import UnknownName
from portbench.server.simulated_pc import MAX_BYTES, SimulatedServer, part_in
from tests.server.asking import ANSWER, QUESTION, Ask


@pytest.fixture
def server() -> SimulatedServer:
    return SimulatedServer(part_in("ping_pong", {}).service())


def test_clients_are_told_apart(server: SimulatedServer) -> None:
    server.accept(7, "10.0.0.2:49152", 100.0)
    server.accept(9, "10.0.0.2:49153", 150.0)
    assert server.receive(7, b"1", 200.0) == (b"2", False, False, None)
    assert server.receive(9, b"1", 250.0) == (b"2", False, False, None)
    assert server.receive(7, b"3", 300.0) == (b"4", False, False, None)
    server.closed(9, False, 350.0)
    first, second = server.sessions()
    assert (first.number, first.peer, first.started_us, first.ended_us) == (0, "10.0.0.2:49152", 100, None)
    assert (first.exchanges, first.received_us, first.sent_us) == (2, [200, 300], [])
    assert (second.number, second.ended_us, second.exchanges, second.ok) == (1, 350, 1, True)
    assert server.answered == 3


def test_a_fault_is_answered_as_far_as_it_was_right_and_ends_the_connection(server: SimulatedServer) -> None:
    server.accept(1, "peer", 0.0)
    assert server.receive(1, b"1x", 10.0) == (b"2", True, False, None)
    assert server.receive(1, b"3", 20.0) == (b"", False, False, None)  # these bytes were on their way
    server.closed(1, False, 30.0)
    (session,) = server.sessions()
    assert session.error == "message 2 must be 3, not b'x'" and session.ended_us == 30


def test_a_run_with_a_limit_is_whole_before_the_pc_closes(server: SimulatedServer) -> None:
    """A client that counts for itself ends by itself; one that does not is told by the PC's FIN."""
    server.limit = 2
    server.accept(1, "peer", 0.0)
    assert server.receive(1, b"1", 10.0) == (b"2", False, False, None) and not server.whole
    assert server.receive(1, b"3", 20.0) == (b"4", False, False, None) and server.whole
    assert server.receive(1, b"5", 30.0) == (b"6", True, False, None)
    assert server.sessions()[0].received_us == [10, 20, 30]


def test_no_client_is_served_without_a_conversation() -> None:
    server = SimulatedServer()
    server.accept(1, "peer", 0.0)
    assert server.receive(1, b"1", 10.0) == (b"", False, True, None)
    server.closed(1, False, 20.0)
    assert server.sessions() == [] and server.answered == 0
    server.conversation = part_in("ping_pong", {}).service()
    server.accept(2, "peer", 30.0)
    assert server.receive(2, b"1", 40.0) == (b"2", False, False, None)


def test_a_killed_one_resets_whoever_sends(server: SimulatedServer) -> None:
    server.accept(1, "peer", 0.0)
    server.receive(1, b"1", 10.0)
    server.kill()
    assert server.receive(1, b"3", 20.0) == (b"", False, True, None)
    (session,) = server.sessions()
    assert (session.exchanges, session.ended_us) == (1, 20)


def test_each_connection_has_a_conversation_of_its_own() -> None:
    make = part_in("ping_pong", {}).service()
    assert make is not None and make() is not make() and make().receive(b"1") == b"2"
    with pytest.raises(UnknownName, match="unknown workload 'pong'"):
        part_in("pong", {})
    assert MAX_BYTES == 1 << 20


def test_a_server_may_speak_first_and_close() -> None:
    server = SimulatedServer(lambda: Ask(1), turnaround_us=200.0)
    assert server.accept(1, "peer", 50.0) == (QUESTION, False, False, None)
    assert server.receive(1, ANSWER, 300.0) == (b"", True, False, None)
    server.closed(1, False, 500.0)
    (session,) = server.sessions()
    assert session.ok and (session.established_us, session.asked_us, session.ended_us) == (50, 250, 500)
