"""Requests of a conversation to the simulated PC: network faults, delayed words, pings, and a time limit."""

from types import SimpleNamespace
from typing import Any

import pytest

from portbench.server.connection import Connection, _reason
from portbench.server.simulated_load_generator import RESET
from portbench.server.simulated_pc import FAULT_DELAY_US, Part, SimulatedPc, SimulatedServer
from portbench.workloads import Conversation, NetworkFault, PingPlan, Session
from tests.server.asking import UnaskedLan

PLUG, CUT = "plug", "unplug"


class Lan(UnaskedLan):
    """Notes what the PC asks of it, at the time of the look that asks."""

    def __init__(self) -> None:
        self.now_us = 0.0
        self.asked: list[tuple[object, ...]] = []

    def _note(self, *words: object) -> bool:
        self.asked.append((self.now_us, *words))
        return True

    def listen(self, port: int, app: object) -> None:
        self._note("listen", port)

    def unlisten(self, port: int) -> bool:
        return self._note("unlisten", port)

    def set_cable(self, plugged: bool) -> None:
        self._note(PLUG if plugged else CUT)

    def lan_send(self, conn: int, data: bytes, at_us: float) -> bool:
        return self._note("send", conn, data, at_us)

    def lan_close(self, conn: int) -> bool:
        return self._note("close", conn)


class Pinger:
    """Each ping takes as many microseconds as it has bytes, and those above 1000 are lost."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int, float]] = []

    def send(self, address: str, size: int, at_us: float) -> int:
        self.sent.append((address, size, at_us))
        return len(self.sent) - 1

    def take(self, numbers: list[int]) -> dict[int, float]:
        return {number: float(size) for number in numbers if (size := self.sent[number][1]) <= 1000}


class Obeying(Conversation):
    """Does what the board's words say."""

    was_lost = False

    def receive(self, data: bytes) -> bytes:
        self.exchanges += 1
        match data.split():
            case [b"fault", kind]:
                self.network_fault = NetworkFault(kind.decode(), 1_000_000.0 if kind != b"reset" else 0.0)  # type: ignore[arg-type]
            case [b"ping", size]:
                self.pings = PingPlan((64, int(size)), 1, 1_000, 500_000)
            case [b"later", data]:
                assert self.line is not None
                self.line.send(data, 2_000.0)
            case [b"close"]:
                assert self.line is not None
                self.line.close()
            case [b"silence"]:
                self.silence_us = 3_000_000.0
        return b"yes"

    def pinged(self) -> bytes:
        return b"pinged"

    def lost(self) -> None:
        self.was_lost = True

    def eof(self) -> None:
        pass


def pc_with(word: bytes, pinger: Pinger | None = None) -> tuple[SimulatedPc, SimulatedServer, Lan, object]:
    """A PC to which connection 1 said `word` at 1000 us, and its answer."""
    lan = Lan()
    pc = SimulatedPc(lan, 4711, 200.0, Part(service=lambda: Obeying, patience_us=5_000_000.0), pinger)
    server = pc._server
    server.accept(1, "10.0.0.2:50000", 500.0)
    return pc, server, lan, server.receive(1, word, 1_000.0)


def looked(pc: SimulatedPc, lan: Lan, *times_us: float) -> list[tuple[object, ...]]:
    """All that the LAN was asked for, but to listen at first."""
    for lan.now_us in times_us:
        pc.look(lan.now_us)
    return lan.asked[1:]


FIRST_US = 1_000.0
CUT_US = FIRST_US + FAULT_DELAY_US


@pytest.mark.parametrize(
    ("kind", "answer", "asked"),
    [
        ("reset", RESET, []),
        ("restart", RESET, [(FIRST_US, "unlisten", 4711), (FIRST_US + 1e6, "listen", 4711)]),
        ("cable", (b"yes", False, False, None), [(CUT_US, CUT), (CUT_US + 1e6, PLUG)]),
    ],
)
def test_a_fault_begins_and_ends_once(kind: Any, answer: object, asked: list[object]) -> None:
    pc, server, lan, found = pc_with(f"fault {kind}".encode(), Pinger())
    assert found == answer
    times_us = sorted(at_us + off_us for at_us in (FIRST_US, CUT_US) for off_us in (-1.0, 0.0, 1e6 - 1, 1e6, 2e6))
    assert looked(pc, lan, *times_us) == asked
    (session,) = pc.sessions()
    assert session.error is None and session.ended_us == (None if kind == "cable" else FIRST_US)
    assert server.receive(1, b"x", 9e6)[0] == (b"yes" if kind == "cable" else b"")
    server.accept(2, "10.0.0.2:50001", 1e7)
    server.receive(2, b"fault reset", 1e7)
    assert server.network_fault == (NetworkFault(kind, 0.0 if kind == "reset" else 1e6), FIRST_US)  # one in a run


def test_without_pings_the_pc_can_cause_resets_alone() -> None:
    pcs = [pc_with(f"fault {kind}".encode()) for kind in ("reset", "restart", "cable")]
    errors = [pc.sessions()[0].error for pc, *_ in pcs]
    assert [answer for *_, answer in pcs] == [RESET] * 3
    cannot = "unsupported: this PC cannot cause this network fault:"
    assert errors == [None, f"{cannot} restart 1 s", f"{cannot} cable 1 s"]


def test_a_conversation_is_told_that_its_board_was_silent_for_too_long() -> None:
    pc, server, lan, _ = pc_with(b"silence")
    conversation: Any = server._open[1].conversation
    for at_us, lost in ((3_000_999.0, False), (3_001_000.0, True), (9e6, True)):
        assert looked(pc, lan, at_us) == [(3_001_000.0, "close", 1)] * lost and conversation.was_lost is lost


def test_patience_is_counted_from_the_boards_last_packet() -> None:
    pc, server, _, _ = pc_with(b"x")
    assert pc.given_up(5_000_999.0) is None
    assert pc.given_up(5_001_000.0) == "the board hangs: nothing came of it for 5 s of simulated time"
    server.receive(1, b"x", 2_000.0)
    assert pc.given_up(5_001_000.0) is None and pc.answered == 2
    hung = {"version": None, "messages": [["board", "ClientKeyExchange", 70, 1.0]]}
    tls: Any = {"cipher_suite": None, "server_name": None, "resumed": False, "board_bytes": 1, "pc_bytes": 1, **hung}
    server.sessions = lambda: [Session(0, "p", 0.0, None, 0, 0, None, None, tls=tls)]  # type: ignore[method-assign]
    assert (pc.given_up(1e9) or "").startswith(
        "the board's TLS does not end its handshake: after its ClientKeyExchange"
    )
    tls["messages"].append(["board", "Finished", 40, 2.0])
    assert (pc.given_up(1e9) or "").startswith("the board hangs: ")
    assert Part().patience_us is None and SimulatedPc(Lan(), None, 0.0, Part()).given_up(1e9) is None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (None, "closed"),
        (TimeoutError(110, "timed out"), "timed out"),
        (OSError(), "OSError"),
        (KeyError(1), "KeyError"),
    ],
)
def test_the_reason_of_an_end_is_the_systems_words_or_the_kind_of_error(error: Exception | None, reason: str) -> None:
    assert _reason(error) == reason


def test_a_real_pc_resets_and_says_that_it_can_cause_no_other_fault() -> None:
    ends: list[str | None] = []
    pc: Any = SimpleNamespace(abort=ends.append)
    for fault in (NetworkFault("reset"), NetworkFault("restart", 1e6), NetworkFault("cable", 2e6)):
        Connection._inject(pc, fault)
    only = "only a simulated PC can cause this network fault:"
    assert ends == [None, f"{only} restart 1 s", f"{only} cable 2 s"]
