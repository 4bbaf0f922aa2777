"""Rows whose client connects to a server of the PC, or needs no network at all."""

from portbench.runner.collect import address_in, result_without_error
from portbench.runner.kinds.row import MeasuredRow, ReadyRow
from portbench.runner.servers import sessions_since
from portbench.where import Where


def measure(row: ReadyRow) -> MeasuredRow:
    """Flash, deploy, run, and take the client's report. Raises what a row can fail of."""
    peer, server = row.peer()
    row.prepare(peer)
    with row.only_reporter(server):
        first = server.accepted if server else 0
        output = row.run(serve=peer is not None)
        report = result_without_error(row.report(output, server, first))
    sessions = output.sessions
    if server is not None:
        one_of_several = row.servers.parallel > 1 and row.board.where is not Where.HOSTED
        sessions = sessions_since(server, first, address_in(report) if one_of_several else None)
    return row.measured(report, output, sessions)
