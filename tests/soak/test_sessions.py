"""A server that ends while a client on this PC exchanges messages with it."""

import threading
from contextlib import ExitStack
from ipaddress import IPv4Address

import pytest

from portbench.boards import Deadline
from portbench.boards.hosted.micropython_unix import HostedMicroPython
from portbench.clients import ClientNetwork, StaticAddress
from portbench.errors import PortbenchError
from portbench.runner.collect import check_result
from portbench.server.tcp import WorkloadServer
from tests.ping_pong import EVB, PING_PONG, deployment, settings


def test_a_server_killed_in_mid_run_is_told_in_one_line() -> None:
    """The real server, with MicroPython on this PC as its client."""
    deadline = Deadline(60, "test")
    here = IPv4Address("127.0.0.1")
    server = WorkloadServer(PING_PONG, "127.0.0.1", 0, idle_timeout_s=30)
    with HostedMicroPython(EVB) as board, ExitStack() as until_killed:
        until_killed.enter_context(server)
        network = ClientNetwork(
            server=here,
            port=server.port,
            address_mode="static",
            static=StaticAddress(here, here, here, here),
            spi_hz=None,
            intn=True,
            ready_timeout_s=10,
        )
        board.deploy(deployment("hosted", network, 100_000), deadline)

        def kill() -> None:
            deadline.poll(lambda: server.accepted > 0, 0.005, "the client to connect")
            until_killed.close()

        killer = threading.Thread(target=kill)
        killer.start()
        output = board.run(deadline)
        killer.join()
    with pytest.raises(PortbenchError, match="the client failed in stage run: OSError"):
        check_result(output.result, PING_PONG, settings(100_000))
