"""Rows whose client listens: the PC connects to the board."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Final

from portbench.errors import PortbenchError
from portbench.runner.collect import check_calls, result_without_error
from portbench.runner.kinds.row import MeasuredRow, ReadyRow
from portbench.server.calls import parse_listening
from portbench.server.load_generator import MAX_BYTES, SocketLoadGenerator
from portbench.server.tcp import WorkloadServer
from portbench.workloads import Called

_LOOK_S: Final = 0.02
_CALLS_END_S: Final = 2.0
"""Between the client's result line and the end of the PC's connections to it."""
_LAST_WORDS_S: Final = 2.0
"""For the client to report a fault that the PC has met already."""


def measure(row: ReadyRow) -> MeasuredRow:
    """Flash, deploy, run and connect to the board. Raises what a row can fail of."""
    peer, server = row.peer()
    row.prepare(peer)
    assert isinstance(row.planned.workload, Called)
    calls = row.planned.workload.load_generator(row.planned.settings, MAX_BYTES)
    with row.only_reporter(server):
        first = server.accepted if server else 0
        if row.board.own_network is not None:  # the simulated PC connects
            output = row.run()
            report = result_without_error(row.report(output, server, first))
            sessions = [each for each in output.sessions if each.listening is None]
        else:
            with SocketLoadGenerator(calls) as load, called_when_announced(server, first - 1, load):
                deadline = row.start()
                load.on_fault = lambda fault: deadline.cut(_LAST_WORDS_S, fault)

                def heard(line: str) -> None:
                    row.printed(line)
                    if (board := parse_listening(line)) is not None:
                        load.call(board)

                output = row.run(heard, deadline=deadline)
                report = result_without_error(row.report(output, server, first))
                sessions = load.finish(_CALLS_END_S)
    check_calls(sessions, calls)
    return row.measured(report, output, sessions)


@contextlib.contextmanager
def called_when_announced(server: WorkloadServer | None, after: int, load: SocketLoadGenerator) -> Iterator[None]:
    """Have `caller` connect to the client that tells `server`, on a connection numbered above `after`, where it
    listens: a client without a console cannot print it. Does nothing without a server."""
    if server is None:
        yield
        return
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(_LOOK_S):
            with contextlib.suppress(PortbenchError):  # the wait for the report raises it again
                line = server.announced(after)
                if line is not None and (board := parse_listening(line)) is not None:
                    load.call(board)
                    return

    thread = threading.Thread(target=look, name="looks for announcements", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
