"""Rows of two boards: the partner serves, and the client, whose row it is, connects to it."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from queue import Queue
from typing import Any, Final, Protocol

from portbench.boards import Board, Deadline, Progress, RunOutput
from portbench.boards.jitter import Jitter
from portbench.boards.kinds import AUTO, Listener
from portbench.clients.deployment import as_partner
from portbench.errors import PortbenchError, Unsupported
from portbench.runner.boards_for import emulated_board, open_board
from portbench.runner.collect import check_result, result_without_error
from portbench.runner.kinds.row import MeasuredRow, ReadyRow
from portbench.runner.plan import PlannedRow
from portbench.runner.program import Peer, build_program
from portbench.runner.stages import PreparedBoard, Stage
from portbench.server.calls import Listening, parse_listening
from portbench.where import Where
from portbench.workloads import BadResult, Paired

_FLASH_ID: Final = 0xE660_5838_8379_0002
"""Serial number of the emulated partner's flash chip."""
_LOOK_S: Final = 0.05
_LAST_WORDS_S: Final = 10.0
"""For the server's result line after the client's."""


@dataclass
class PartnerBoard:
    """The partner. It stays open while consecutive rows need the same board."""

    listener: Listener
    _prepared: PreparedBoard | None = None
    _is: tuple[str, str | None] = ("", None)

    def prepared_for(self, partner: PlannedRow, beside: Board, deadline: Deadline) -> PreparedBoard:
        """The open partner of the client's board `beside`. Raises PortbenchError."""
        device = None if _is_ours(beside, partner) else _device(beside, partner)
        if self._prepared is None or self._is != (partner.board.id, device):
            self.close()
            if device is None:
                board: Board = emulated_board(partner, self.listener, flash_id=_FLASH_ID)
            else:
                board = open_board(replace(partner, device=device), Where.SILICON, deadline, self.listener)
            self._prepared, self._is = PreparedBoard(board), (partner.board.id, device)
        return self._prepared

    def tail(self, lines: int) -> list[str]:
        return [] if self._prepared is None else self._prepared.board.console_tail(lines)

    def close(self) -> None:
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            prepared.board.close()


def _device(beside: Board, partner: PlannedRow) -> str:
    if beside.where is Where.EMULATED:
        raise Unsupported(
            f"unsupported: {beside.name} has its own simulated network, which no other board can join; leave out"
            " --device"
        )
    if partner.place.partner_device is None:
        raise PortbenchError(
            f"{beside.name} is a real board, so its partner must be one: add --partner-device id:SERIAL, or --where"
            " emulated for two emulated boards"
        )
    return partner.place.partner_device


def measure(row: ReadyRow) -> MeasuredRow:
    """Start the partner, then the client, and check the results of both. Raises what a row can fail of."""
    partner, how, client = row.planned.partner, row.planned.how, row.board
    assert partner is not None
    image = row.image_of(partner)
    simulated = client.own_network is not None
    row.draft.own_network = None  # the PC's part in it is DHCP
    client.jitter = row.jitter
    if how.address_mode == "static" and (how.static is not None or not simulated):
        raise PortbenchError("address_mode=static: two boards cannot have the one static_address; leave both out")
    server = row.partner_board.prepared_for(partner, client, row.clock.stage(Stage.OPEN))
    peer = pc_of(partner, server.board, how.fixed_port)
    serving = build_program(_apart(partner) if simulated else partner, image, server.board, peer, row.scratch)
    server.prepare(replace(serving, deployment=as_partner(serving.deployment, partner.board)), row.clock)
    run_s = how.timeouts_s[Stage.RUN]
    deadline = Deadline(run_s, f"{row.planned.label}: the partner")
    started = _started(client, server.board, row.jitter, deadline, row.printed)
    assert started.listening is not None
    row.prepare(Peer(started.listening.address, started.listening.port))
    output = row.run(serve=False)
    served = started.served(_reports_late(row.planned, run_s))
    has_console = row.planned.entry.family.traits.has_console
    report = output.result if has_console else _reported(row.planned, served)
    result = check_result(result_without_error(report), row.planned.workload, row.planned.settings)
    measured = result.measurement
    further = check_result(result_of_server(served.result), partner.workload, partner.settings).measurement.figures
    return MeasuredRow(replace(result, measurement=replace(measured, figures=measured.figures | further)), output)


def pc_of(partner: PlannedRow, server: Board, port: int) -> Peer:
    """The PC as the partner sees it: the port to listen on alone, where it has a console to report on."""
    if partner.entry.family.traits.has_console:
        return Peer(None, port)
    if server.own_network is None:
        raise Unsupported(
            f"unsupported: {partner.entry.id} has no console, and reports only to a simulated PC where it listens;"
            " choose another --partner"
        )
    return Peer(server.own_network.server, server.own_network.port)


def _is_ours(beside: Board, partner: PlannedRow) -> bool:
    return beside.where is Where.EMULATED and partner.device == AUTO


def _reports_late(planned: PlannedRow, run_s: float) -> float:
    """Return the time for the partner after the client's run. A client without a console starts when that ends."""
    return _LAST_WORDS_S if planned.entry.family.traits.has_console else run_s


class _Server(Protocol):
    """The board that listens, and where."""

    @property
    def listening(self) -> Listening | None: ...
    def served(self, timeout_s: float) -> RunOutput:
        """Its output, once the client's run is over."""


def _started(client: Board, server: Board, jitter: Jitter | None, deadline: Deadline, printed: Progress) -> _Server:
    """Start the partner. Raises BoardError or PortbenchError if it never listens."""
    if server.where is not Where.EMULATED:
        return RealServer(server, deadline, printed)
    from portbench.boards.emulated.board import EmulatedBoard

    assert isinstance(client, EmulatedBoard) and isinstance(server, EmulatedBoard)
    return client.join(server, None if jitter is None else replace(jitter, seed=jitter.seed ^ 1))


class RealServer:
    """A real partner, which runs in a thread while the client's board uses it."""

    def __init__(self, board: Board, deadline: Deadline, printed: Progress) -> None:
        self._ended: Queue[RunOutput | BaseException] = Queue()
        self.listening: Listening | None = None
        self._board, self._deadline, self._printed = board, deadline, printed
        threading.Thread(target=self._run, name="the partner", daemon=True).start()
        deadline.poll(lambda: self.listening is not None or not self._ended.empty(), _LOOK_S, "it to listen")
        if self.listening is None:
            output = self.served(0.0)
            result_of_server(output.result)
            raise PortbenchError("the partner: its run is over, and it has not listened")

    def served(self, timeout_s: float) -> RunOutput:
        limit = Deadline(timeout_s + _LOOK_S, f"{self._board.name}, which serves")
        limit.poll(lambda: not self._ended.empty(), _LOOK_S, "its result")
        ended = self._ended.get()
        if isinstance(ended, BaseException):
            raise ended
        return ended

    def _run(self) -> None:
        try:
            self._ended.put(self._board.run(self._deadline, self._heard))
        except BaseException as error:
            self._ended.put(error)

    def _heard(self, line: str) -> None:
        self._printed(f"partner: {line}")
        self.listening = self.listening or parse_listening(line)


def _apart(partner: PlannedRow) -> PlannedRow:
    """The partner with the next static address, if it gets one."""
    if partner.how.address_mode != "static":
        return partner
    from portbench.boards.definition import MASK, board_address
    from portbench.clients import StaticAddress

    pc = partner.how.pc_address
    own = IPv4Address(int(board_address(pc)) + 1)
    return replace(partner, how=replace(partner.how, static=StaticAddress(own, MASK, pc, pc)))


def result_of_server(result: Mapping[str, Any] | None) -> Mapping[str, Any]:
    try:
        return result_without_error(result)
    except PortbenchError as error:
        raise PortbenchError(f"the partner: {error}") from None


def _reported(planned: PlannedRow, served: RunOutput) -> Mapping[str, Any]:
    assert isinstance(planned.workload, Paired)
    try:
        return planned.workload.reported(result_of_server(served.result))
    except BadResult as error:
        raise PortbenchError(str(error)) from None
