"""The simulated PC's part in a workload: it serves a port, connects to a listening board, pings, and causes faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from typing import Any, Final, Protocol

from portbench.certificates import DATE_S
from portbench.server.calls import IDLE_LIMIT_US, parse_listening
from portbench.server.recording import Recording
from portbench.server.simulated_load_generator import NOTHING, RESET, Line, Reply, SimulatedLoadGenerator
from portbench.server.simulated_polling import SimulatedPolling
from portbench.server.simulated_requests import AskedLan, SimulatedRequests
from portbench.server.tls.channel import Channel
from portbench.workloads import (
    Called,
    Conversation,
    Datagrams,
    ForeignServer,
    LoadGenerator,
    NetworkFault,
    Ping,
    PingPlan,
    Served,
    Session,
    workload,
)
from portbench.workloads.conversation import Requests
from portbench.workloads.served import service_of

MAX_BYTES: Final = 1 << 20
"""The most that one connection keeps."""
CALL_DELAY_US: Final = 10_000.0
"""From a client's announcement to the connection. It is longer than a machine runs between two looks, so that only
simulated time decides when the PC connects."""
FAULT_DELAY_US: Final = 10_000.0
"""From the request to the unplugged cable: by then the PC's answers and acknowledgements are on their way."""
_GRACE_US: Final = 2_000_000.0
"""After a failed connection: time for the client to report the fault itself."""


class Lan(Protocol):
    """The part of a simulated LAN that the PC needs."""

    @property
    def leased_us(self) -> float | None: ...
    def listen(self, port: int, app: SimulatedServer) -> None: ...
    def unlisten(self, port: int) -> bool: ...
    def set_cable(self, plugged: bool) -> None: ...
    def connect(self, peer: str, app: Line, at_us: float) -> int: ...
    def udp_listen(self, port: int, app: UdpPort) -> None: ...
    def lan_send(self, conn: int, data: bytes, at_us: float) -> bool: ...
    def lan_close(self, conn: int) -> bool: ...


class Pinger(Protocol):
    """Sends numbered echo requests at simulated times."""

    def send(self, address: str, size: int, at_us: float) -> int: ...
    def take(self, numbers: list[int]) -> dict[int, float]:
        """The new round trips of `numbers`, in microseconds; each is returned once."""
        ...


class UdpPort:
    """The UDP port of the simulated PC; without `datagrams` it does not answer."""

    def __init__(self, datagrams: Datagrams | None) -> None:
        self.datagrams = datagrams

    def receive(self, peer: str, data: bytes, now_us: float) -> list[tuple[float, bytes]]:
        return [] if self.datagrams is None else self.datagrams.receive(peer, data)


@dataclass(frozen=True)
class Part:
    """The PC's part in a run: `service` as in `Served` for accepted connections, `call` for those that it opens."""

    service: Callable[[], Callable[[], Conversation]] | None = None
    call: Callable[[], LoadGenerator | Requests] | None = None
    datagrams: Callable[[], Datagrams | None] | None = None
    patience_us: float | None = None
    """Longest silence of a connected board."""
    limit: int | None = None
    """The number of exchanges of a run that only the PC can end."""
    secured: bool = False
    """Accepted connections may be encrypted."""


def part_in(name: str, settings: Mapping[str, Any], limit: int | None = None) -> Part:
    """The PC's part in the workload `name` with `settings` as in JSON. Raises UnknownName or ValidationError."""
    found = workload(name)
    part = Part(service=lambda: service_of(found, MAX_BYTES), limit=limit)
    if isinstance(found, Served):
        return replace(part, datagrams=found.datagrams, patience_us=found.patience_us, secured=found.secured)
    chosen = found.settings_type.model_validate_json(json.dumps(dict(settings)))
    if limit is not None and isinstance(found, ForeignServer):
        return Part(call=lambda: found.foreign_calls(chosen, MAX_BYTES), limit=limit)
    return replace(part, call=lambda: found.load_generator(chosen, MAX_BYTES)) if isinstance(found, Called) else part


class SimulatedPc:
    """The simulated PC, from one power cycle to the next. Times are simulated microseconds.

    `server_port` None: it has no server. `pinger` sends its pings. The driver of the machine calls `look` between two
    slices, each shorter than CALL_DELAY_US.
    """

    def __init__(
        self, lan: Lan, server_port: int | None, turnaround_us: float, part: Part, pinger: Pinger | None = None
    ) -> None:
        self._lan = lan
        self._pinger = pinger
        self._pings: dict[int, SimulatedPings] = {}
        self._injection: FaultInjection | None = None
        self._patience_us: float | None = None
        self._turnaround_us = turnaround_us
        self._server = SimulatedServer(turnaround_us=turnaround_us)
        self._server.injects_faults = pinger is not None
        self._load: SimulatedLoadGenerator | None = None
        self._asks: Requests | None = None
        self.polling: SimulatedPolling | SimulatedRequests | None = None
        """The search for a board that announces nothing, after `poll`."""
        self._server_port = server_port
        self._udp: UdpPort | None = None
        self.take(part)
        if server_port is not None:
            lan.listen(server_port, self._server)

    def take(self, part: Part) -> None:
        """Take over `part` from the next connection on."""
        self._server.conversation = None if part.service is None else part.service()
        self._server.limit = part.limit
        self._server.channel = _channels() if part.secured else None
        self._patience_us = part.patience_us
        calls = None if part.call is None else part.call()
        self._load = self._load_generator(calls) if isinstance(calls, LoadGenerator) else None
        self._asks = calls if isinstance(calls, Requests) else None
        self.polling = None
        datagrams = None if part.datagrams is None else part.datagrams()
        if self._udp is not None:
            self._udp.datagrams = datagrams
        elif datagrams is not None and self._server_port is not None:
            self._udp = UdpPort(datagrams)
            self._lan.udp_listen(self._server_port, self._udp)

    def _load_generator(self, load: LoadGenerator) -> SimulatedLoadGenerator:
        return SimulatedLoadGenerator(load, self._turnaround_us, None if load.tls is None else _channels(load.tls))

    def heard(self, line: str, at_us: float) -> None:
        """Take a `line` that the board printed; its end came at `at_us`."""
        if self._load is not None and (board := parse_listening(line)) is not None:
            self._load.call(self._lan, board, at_us + CALL_DELAY_US)

    def poll(self, lan: AskedLan, static: IPv4Address, now_us: float) -> None:
        """Look for the board from `now_us` on, if its part polls; at `static` until the LAN knows the address."""
        if self._asks is not None:
            self.polling = SimulatedRequests(lan, self._asks, static, now_us)
        if self._load is not None and (port := self._load.calls.load.port) is not None:
            self.polling = SimulatedPolling(lan, self._load, port, static, CALL_DELAY_US, now_us)

    def look(self, now_us: float) -> None:
        """Carry out the requests of conversations: connections, network faults, and pings with their ends."""
        if self._server.announcement is not None:
            self.heard(*self._server.announcement)
            self._server.announcement = None
        self._server.look(self._lan, now_us)
        if self.polling is not None:
            self.polling.look(now_us)
        if self._pinger is None:
            return
        if self._injection is None and self._server.network_fault is not None and self._server_port is not None:
            network_fault, asked_us = self._server.network_fault
            self._injection = FaultInjection(self._lan, self._server_port, self._server, network_fault, asked_us)
        if self._injection is not None:
            self._injection.look(now_us)
        for conn, recording in self._server.pinging.items():
            plan, since_us = recording.conversation.pings, recording.pings_asked_us
            if conn not in self._pings and plan is not None and since_us is not None:
                self._pings[conn] = SimulatedPings(recording, plan, self._pinger, since_us + CALL_DELAY_US)
        for conn, pings in list(self._pings.items()):
            if (over_us := pings.over_us(now_us)) is not None:
                del self._pings[conn]
                self._server.pinging.pop(conn, None)
                self._lan.lan_send(conn, pings.recording.pinged(pings.pings()), over_us + CALL_DELAY_US)

    def given_up(self, now_us: float) -> str | None:
        """The reason, in one line, why the run can have no figures; None while the client may still report it."""
        last_us = self._server.last_us
        if self._patience_us is not None and last_us is not None and now_us >= last_us + self._patience_us:
            nothing = f"nothing came of it for {self._patience_us / 1e6:g} s of simulated time"
            if any(map(_lacks_finished, self.sessions())):
                return f"the board's TLS does not end its handshake: after its ClientKeyExchange {nothing}"
            return f"the board hangs: {nothing}"
        if self._load is None:
            return None
        calls = self._load.calls
        calls.look(now_us)
        return calls.fault if calls.fault_us is not None and now_us >= calls.fault_us + _GRACE_US else None

    @property
    def pause_us(self) -> float:
        """The longest time for which a listening board need not touch its network: between two connections, and while
        it computes its part of a handshake, for which a connection may be silent."""
        if self._load is None:
            return 0.0
        load = self._load.calls.load
        return float(load.pause_us) + (0.0 if load.tls is None else IDLE_LIMIT_US)

    def kill(self) -> None:
        """End the PC's process: from now on its connections are reset."""
        self._server.kill()
        if self._udp is not None:
            self._udp.datagrams = None
        if self._load is not None:
            self._load.kill()

    def sessions(self) -> list[Session]:
        """The sessions so far: connections of the board first, then those of the PC."""
        called = [] if self._load is None else self._load.calls.sessions()
        if isinstance(self.polling, SimulatedRequests):
            called = self.polling.sessions()
        leased_us = self._lan.leased_us
        return [replace(session, leased_us=leased_us) for session in self._server.sessions() + called]

    @property
    def answered(self) -> int:
        """Exchanges of all connections together."""
        return self._server.answered + (0 if self._load is None else self._load.calls.exchanges)

    @property
    def open_calls(self) -> int:
        """Number of open connections to the board."""
        return 0 if self._load is None else self._load.calls.open

    @property
    def whole(self) -> bool:
        """A run that only the PC can end is complete."""
        if isinstance(self.polling, SimulatedRequests):
            return self.polling.whole
        if self.polling is not None and self._load is not None:
            return self._load.calls.load.over and self._load.calls.fault is None
        return self._server.whole

    @property
    def reports(self) -> int:
        """Number of received reports."""
        return self._server.reports


def _lacks_finished(session: Session) -> bool:
    handshake = session.handshake
    return handshake is not None and handshake.when("ClientKeyExchange") is not None and not handshake.when("Finished")


def _channels(server: tuple[str, bytes] | None = None) -> Callable[[], Channel]:
    """Makes the channels of one peer, whose clock is simulated time from a fixed date on. `server`: as of `Channel`."""
    from portbench.server.tls.seeded import SeededPeer  # comes with the engine, which other parts do without

    peer = SeededPeer()
    return lambda: Channel(peer, lambda now_us: DATE_S + int(now_us / 1e6), server)


class FaultInjection:
    """One fault, requested at `asked_us`. It begins and ends at the first look after its time."""

    def __init__(self, lan: Lan, port: int, server: SimulatedServer, fault: NetworkFault, asked_us: float) -> None:
        self._lan = lan
        self._port = port
        self._server = server
        self._kind = fault.kind
        self._begins_us = asked_us + (FAULT_DELAY_US if fault.kind == "cable" else 0.0)
        self._ends_us = self._begins_us + fault.lasts_us
        self._begun = self._ended = fault.kind == "reset"

    def look(self, now_us: float) -> None:
        if not self._begun and now_us >= self._begins_us:
            self._begun = True
            if self._kind == "cable":
                self._lan.set_cable(False)
            else:
                self._lan.unlisten(self._port)
        if self._begun and not self._ended and now_us >= self._ends_us:
            self._ended = True
            if self._kind == "cable":
                self._lan.set_cable(True)
            else:
                self._lan.listen(self._port, self._server)


class SimulatedPings:
    """The pings of one connection; the first request goes at `start_us`."""

    def __init__(self, recording: Recording, plan: PingPlan, pinger: Pinger, start_us: float) -> None:
        self.recording = recording
        self._pinger = pinger
        self._end_us = start_us + plan.lasts_us
        address = recording.peer.rpartition(":")[0]
        self._sent = [(pinger.send(address, size, start_us + at_us), start_us + at_us, size) for at_us, size in plan]
        self._waiting = [number for number, _, _ in self._sent]
        self._round_trips_us: dict[int, float] = {}

    def over_us(self, now_us: float) -> float | None:
        """When the last request was answered or given up; None before."""
        answered = self._pinger.take(self._waiting)
        self._round_trips_us |= answered
        self._waiting = [number for number in self._waiting if number not in answered]
        if not self._waiting:
            return max(at_us + self._round_trips_us[number] for number, at_us, _ in self._sent)
        return self._end_us if now_us >= self._end_us else None

    def pings(self) -> list[Ping]:
        """All pings in the order of sending."""
        return [Ping(size, self._round_trips_us.get(number)) for number, _, size in self._sent]


class SimulatedServer:
    """The workload's server on the simulated PC: the LAN drives the same conversations as the real server.

    It serves all connections of one port, and records each. Times are simulated microseconds.

    `conversation` makes the PC's side of a new connection; None resets connections. `turnaround_us`: from received
    data to the handover of the answer.
    """

    pauses = False  # True stops the machine at each call

    def __init__(self, conversation: Callable[[], Conversation] | None = None, turnaround_us: float = 0.0) -> None:
        self.conversation = conversation
        self.limit: int | None = None
        """The number of exchanges of a run that only the PC can end."""
        self.channel: Callable[[], Channel] | None = None
        """Makes what decrypts a new connection; None: none is encrypted."""
        self._turnaround_us = turnaround_us
        self._killed = False
        self.answered = 0
        """Exchanges of all connections together."""
        self._open: dict[int, Recording] = {}
        self._records: dict[int, Recording] = {}
        self._heard_us: dict[int, float] = {}
        self._outbox: list[tuple[int, bytes | None, float]] = []
        """Connection, what to send or None to close it, and when."""
        self.pinging: dict[int, Recording] = {}
        """The connections that wait for pings, by number."""
        self.announcement: tuple[str, float] | None = None
        """The last announcement of a listening client, and its time."""
        self.injects_faults = False
        """This server can cause the network faults that conversations request."""
        self.network_fault: tuple[NetworkFault, float] | None = None
        """The first requested fault, and its time."""
        self.last_us: float | None = None
        """When the last packet of a board came."""

    def accept(self, conn: int, peer: str, now_us: float) -> Reply:
        self.last_us = now_us
        if self.conversation is None:
            return NOTHING
        channel = None if self.channel is None else self.channel()
        recording = Recording(len(self._records), peer, now_us, self.conversation(), self.limit, channel)
        recording.conversation.line = _ConnectionLine(self, conn)
        self._open[conn] = self._records[conn] = recording
        self._heard_us[conn] = now_us
        return recording.established(now_us, handover_us=self._turnaround_us), False, False, None

    def receive(self, conn: int, data: bytes, now_us: float) -> Reply:
        self.last_us = now_us
        if self._killed:
            self.closed(conn, False, now_us)
            return RESET
        if conn not in self._records:
            return RESET
        recording = self._open.get(conn)
        if recording is None:
            return NOTHING
        self._heard_us[conn] = now_us
        before = recording.exchanges
        answer = recording.receive(data, now_us)
        if recording.pings_asked_us == now_us:
            self.pinging[conn] = recording
        if recording.conversation.listening is not None and recording.announced_us == now_us:
            self.announcement = (recording.conversation.listening, now_us)
        self.answered += recording.exchanges - before
        if recording.conversation.network_fault is not None and recording.error is None:
            return self._inject(conn, recording, recording.conversation.network_fault, answer, now_us)
        if recording.error is None and not recording.finished:
            return answer, False, False, None
        del self._open[conn]
        return answer, True, False, None

    def _inject(self, conn: int, recording: Recording, fault: NetworkFault, answer: bytes, now_us: float) -> Reply:
        if fault.kind != "reset" and not self.injects_faults:
            recording.error = f"unsupported: this PC cannot cause this network fault: {fault}"
        elif self.network_fault is None:
            self.network_fault = (fault, now_us)
        if fault.kind == "cable" and recording.error is None:
            recording.conversation.network_fault = None
            return answer, False, False, None
        del self._open[conn]
        recording.ended(now_us)
        return RESET

    def closed(self, conn: int, reset: bool, now_us: float) -> Reply:
        if conn in self._records:
            self._records[conn].ended(now_us)
        if recording := self._open.pop(conn, None):
            if reset:
                recording.lost("reset")
            else:
                recording.eof(now_us)
        return NOTHING

    def post(self, conn: int, data: bytes | None, after_us: float) -> None:
        """Have `look` send `data`, or close the connection, `after_us` after the turnaround of the last packet."""
        assert self.last_us is not None  # a conversation speaks when it is spoken to
        self._outbox.append((conn, data, self.last_us + self._turnaround_us + after_us))

    def look(self, lan: Lan, now_us: float) -> None:
        """Send what conversations posted, and close the connections of boards that were silent for too long."""
        waiting, self._outbox = self._outbox, []
        for conn, data, at_us in waiting:
            recording = self._open.get(conn)
            if recording is None:
                continue
            if at_us > now_us + CALL_DELAY_US:  # an answer may come before it, which TLS numbers
                self._outbox.append((conn, data, at_us))
            elif data is None:
                self._end(lan, conn, now_us)
            elif lan.lan_send(conn, recording.encrypted(data), at_us):
                recording.delivered(max(at_us, now_us))
        for conn, recording in list(self._open.items()):
            limit_us = recording.conversation.silence_us
            if limit_us is not None and now_us >= self._heard_us[conn] + limit_us:
                recording.conversation.lost()
                self._end(lan, conn, now_us)

    def _end(self, lan: Lan, conn: int, now_us: float) -> None:
        lan.lan_close(conn)
        self._open.pop(conn).ended(now_us)

    def kill(self) -> None:
        """End the server's process: from now on its connections are reset."""
        self._killed = True

    def sessions(self) -> list[Session]:
        """The sessions of all connections so far, in order."""
        return [recording.session() for recording in self._records.values()]

    @property
    def whole(self) -> bool:
        """One connection has completed all exchanges of a limited run."""
        return any(recording.whole for recording in self._records.values())

    @property
    def reports(self) -> int:
        """Number of received reports."""
        return sum(recording.reported for recording in self._records.values())


class _ConnectionLine:
    """A connection, as its conversation acts on it."""

    def __init__(self, server: SimulatedServer, conn: int) -> None:
        self._server = server
        self._conn = conn

    def send(self, data: bytes, after_us: float) -> None:
        self._server.post(self._conn, data, after_us)

    def close(self) -> None:
        self._server.post(self._conn, None, 0.0)
