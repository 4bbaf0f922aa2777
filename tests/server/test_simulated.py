"""The simulated PC's server, as its LAN calls it."""

import pytest

from portbench.errors import UnknownName
from portbench.server.simulated_pc import MAX_BYTES, SimulatedServer, part_in


@pytest.fixture
def server() -> SimulatedServer:
    return SimulatedServer(part_in("ping_pong", {}).service())


def test_a_run_with_a_limit_is_whole_before_the_pc_closes(server: SimulatedServer) -> None:
    """A client that counts for itself ends by itself; one that does not is told by the PC's FIN."""
    server.limit = 2
    server.accept(1, "peer", 0.0)
    assert server.receive(1, b"1", 10.0) == (b"2", False, False, None) and not server.whole
    assert server.receive(1, b"3", 20.0) == (b"4", False, False, None) and server.whole
    assert server.receive(1, b"5", 30.0) == (b"6", True, False, None)
    assert server.sessions()[0].received_us == [10, 20, 30]


def test_each_connection_has_a_conversation_of_its_own() -> None:
    make = part_in("ping_pong", {}).service()
    assert make is not None and make() is not make() and make().receive(b"1") == b"2"
    with pytest.raises(UnknownName, match="unknown workload 'pong'"):
        part_in("pong", {})
    assert MAX_BYTES == 1 << 20
