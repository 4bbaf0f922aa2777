"""Rows of foreign images: nothing is deployed to them, and the PC alone times what they do."""

from portbench.boards import Deadline, Unattended
from portbench.boards.definition import MASK, board_address
from portbench.errors import PortbenchError
from portbench.firmware.catalogue import Family
from portbench.runner.collect import ClientResult, ClientSaid, check_calls
from portbench.runner.kinds.row import MeasuredRow, ReadyRow
from portbench.runner.options import BenchOptions, What
from portbench.runner.servers import address_of_this_pc
from portbench.runner.stages import Stage
from portbench.server.load_generator import MAX_BYTES
from portbench.server.tcp import WorkloadServer
from portbench.workloads import BadResult, Foreign, ForeignClient, ForeignServer, LoadGenerator, Session

_LOOK_S = 0.05


def meeting_places(options: BenchOptions) -> list[str]:
    """Say where a foreign image finds the PC: a line for each kind of board."""
    what, how = options.what, options.how
    lines, pc = [], how.pc_address
    by_name = what.chosen_workloads if what.workloads_by_name else ()
    called = [each for each in by_name if isinstance(each, ForeignServer)]
    if options.place.where != "silicon":
        lines += [
            f"emulated boards, {each.name}: the PC calls {_port_of(each, what)} of the address that it gave by"
            f" DHCP, or of {board_address(pc)}, mask {MASK}"
            for each in called
        ]
    if not any(isinstance(each, ForeignClient) for each in what.chosen_workloads):
        return lines
    if options.place.where != "silicon":
        lines.append(
            f"emulated boards: TCP to {pc}:{how.fixed_port}, own address by DHCP or"
            f" {board_address(pc)}, mask {MASK}, gateway {pc}; another network: -s pc_address=10.0.0.1"
        )
    if options.place.where != "emulated":
        host = how.server_host
        if host is None:
            try:
                host = address_of_this_pc()
            except PortbenchError:
                host = "this PC (no network found; -s server_host=ADDRESS)"
        lines.append(f"real boards: TCP to {host}:{how.port_to_boards}, own address as the network there has it")
    return lines


def measure(row: ReadyRow) -> MeasuredRow:
    """Flash, and time what the image does with the PC. Raises PortbenchError."""
    planned, workload, timeouts_s = row.planned, row.planned.workload, row.planned.how.timeouts_s
    assert isinstance(workload, Foreign)
    if isinstance(workload, ForeignServer) and row.board.own_network is None:
        raise PortbenchError(
            "the PC does not know the address of a real board with a foreign image; look it up at your router, and"
            " measure with a load generator such as ab"
        )
    _, server = row.peer()
    if server is not None and row.servers.parallel > 1:
        raise PortbenchError("a foreign image does not report which board it is; measure without --parallel")
    alone = Unattended(workload.foreign_exchanges(planned.settings), timeouts_s[Stage.READY])
    # Flashing starts the image, so the PC is ready before that.
    first = 0
    if server is None:
        deadline = Deadline(timeouts_s[Stage.OPEN], planned.label)
        row.board.serve(workload.name, planned.settings.model_dump(mode="json"), deadline, alone)
    else:
        first, server.limit = server.accepted, alone.exchanges
    row.board.equipment = workload.equipment(planned.settings)
    try:
        row.prepared.prepare(row.program(None), row.clock)
        output = row.run(serve=False)
        run_s = timeouts_s[Stage.RUN]
        sessions = output.sessions if server is None else _sessions(server, first, alone, run_s)
    finally:
        if server is not None:
            server.limit = None
    try:
        if isinstance(workload, ForeignServer):
            calls = workload.foreign_calls(planned.settings, MAX_BYTES)
            if isinstance(calls, LoadGenerator):
                check_calls(sessions, calls)
            measurement = workload.measure_calls(sessions, planned.settings)
        else:
            sessions = [_whole(sessions, alone.exchanges)]
            measurement = workload.measure_session(sessions[0], planned.settings)
    except BadResult as error:
        raise PortbenchError(str(error)) from None
    result = ClientResult(measurement, ClientSaid(), intn=None, version=None, library=None)
    return MeasuredRow(result, output, sessions)


def _port_of(workload: ForeignServer, what: What) -> str:
    calls = workload.foreign_calls(what.settings_for(workload, Family.FOREIGN.traits.profiles[0]), MAX_BYTES)
    return f"{'TCP' if isinstance(calls, LoadGenerator) else 'UDP'} port {calls.port}"


def _sessions(server: WorkloadServer, first: int, alone: Unattended, run_s: float) -> list[Session]:
    """The run's sessions, once one of them has ended; the server ends a session after its last exchange."""
    where = f"{server.host}:{server.port}"
    Deadline(alone.ready_s, "foreign image").poll(
        lambda: server.accepted > first, _LOOK_S, f"the image to connect to {where}"
    )
    return Deadline(run_s, "foreign image").poll(
        lambda: [each for each in server.sessions() if each.number >= first],
        _LOOK_S,
        f"the image to play its part with {where}",
    )


def _whole(sessions: list[Session], exchanges: int) -> Session:
    """The first session with all exchanges, however it ended. Raises PortbenchError."""
    for session in sessions:
        if session.exchanges >= exchanges:
            return session
    if not sessions:
        raise PortbenchError("the image has not connected to the PC")
    last = sessions[-1]
    after = f"after {last.exchanges} of {exchanges} exchanges"
    if last.error is not None:
        raise PortbenchError(f"{last.peer}: {last.error} ({after})")
    raise PortbenchError(f"{last.peer} closed {after}; ask for fewer, or let the client play until the PC closes")
