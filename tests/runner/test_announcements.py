"""A client that listens and has no console, on this PC's own sockets."""

import json
import socket
import threading

from portbench.runner.kinds.called import called_when_announced
from portbench.server.load_generator import MAX_BYTES, SocketLoadGenerator
from portbench.server.tcp import WorkloadServer
from portbench.workloads import workload

SERVER = workload("server")
SETTINGS = SERVER.settings_type.model_validate({"messages": 3})


def play(port: int) -> None:
    """Play the native body of `server`."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(("127.0.0.1", port)) as told:
        where = {"address": "127.0.0.1", "port": listener.getsockname()[1]}
        told.sendall(f"PORTBENCH-LISTENING {json.dumps(where)}\n".encode())
        called, _ = listener.accept()
        with called:
            for _ in range(3):
                called.sendall(b"%d" % (int(called.recv(16)) + 1))
        told.sendall(b'{"answered":3}\n')


def test_the_pc_calls_it_and_gets_its_report() -> None:
    with (
        WorkloadServer(SERVER, port=0) as server,
        SocketLoadGenerator(SERVER.load_generator(SETTINGS, MAX_BYTES)) as load,
    ):
        first = server.accepted
        with called_when_announced(server, first - 1, load):
            client = threading.Thread(target=play, args=(server.port,))
            client.start()
            report = server.wait_report(60, after=first - 1)
            sessions = load.finish(60)
            client.join()
        assert server.announced(first - 1) is None  # it has gone
    assert report.report == {"answered": 3} and report.listening is not None and report.error is None
    assert [(each.exchanges, each.error, each.listening) for each in sessions] == [(3, None, None)]
    assert SERVER.check(report.report, SETTINGS, sessions).figures["messages_per_s"] > 0


def test_nobody_is_called_where_there_is_nobody_to_call() -> None:
    with SocketLoadGenerator(SERVER.load_generator(SETTINGS, MAX_BYTES)) as load, called_when_announced(None, -1, load):
        pass
