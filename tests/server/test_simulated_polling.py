"""The search for an unannounced server: exact times, on a LAN of the test's own."""

from ipaddress import IPv4Address
from typing import Any

from portbench.server.calls import Listening
from portbench.server.simulated_load_generator import NOTHING, RESET, Line, SimulatedLoadGenerator
from portbench.server.simulated_polling import ANSWER_US, POLL_US, SETTLE_US, SILENT_US, SimulatedPolling
from tests.server.asking import asking

STATIC = IPv4Address("10.0.0.10")
LEASED_US = 1_234_567.25
FIRST_US = LEASED_US + SETTLE_US
DELAY_US = 10_000.0
LOOK_US = 2_000.0


class Lan:
    """A board that got `board_address` at LEASED_US, unless that is None."""

    def __init__(self, board_address: str | None = "10.0.0.2", frames: int = 5) -> None:
        self.board_address = board_address
        self.leased_us = None if board_address is None else LEASED_US
        self.link_up = True
        self.frames = frames
        self.calls: list[tuple[str, Line, float]] = []
        self.closed: list[int] = []

    def connect(self, peer: str, app: Line, at_us: float) -> int:
        self.calls.append((peer, app, at_us))
        return len(self.calls)

    def lan_close(self, conn: int) -> bool:
        self.closed.append(conn)
        return True

    def stats(self) -> dict[str, Any]:
        return {"frames_from_board": self.frames}

    @property
    def times_us(self) -> list[float]:
        return [at_us for _, _, at_us in self.calls]


def polling(lan: Lan, *, connections: int = 1, at_once: int = 1) -> tuple[SimulatedPolling, SimulatedLoadGenerator]:
    load = SimulatedLoadGenerator(asking(connections, at_once=at_once), 200.0)
    return SimulatedPolling(lan, load, 80, STATIC, DELAY_US, 0.0), load


def test_a_board_has_time_to_settle_and_is_called_at_its_address() -> None:
    lan = Lan()
    poll, _ = polling(lan)
    poll.look(LEASED_US + 900.0)
    poll.look(LEASED_US + 2900.0)
    ((peer, _, at_us),) = lan.calls
    assert (peer, at_us, poll.taken, poll.has_address) == ("10.0.0.2:80", FIRST_US, False, True)


def test_refusals_are_no_failures_and_looks_do_not_move_the_next_attempt() -> None:
    lan = Lan()
    poll, load = polling(lan)
    poll.look(LEASED_US)
    for number in range(3):
        at_us = FIRST_US + number * (POLL_US + 500.0)
        assert lan.times_us[number:] == [at_us]
        assert lan.calls[number][1].closed(number + 1, True, at_us + 500.0) == NOTHING
        poll.look(at_us + 500.0 + 300.0 * (number + 1))
    assert poll.refusals == 3 and load.calls.sessions() == [] and load.calls.fault is None and lan.closed == []


def test_the_other_connections_follow_the_accepted_one_whenever_the_pc_looks() -> None:
    lan = Lan()
    poll, _ = polling(lan, connections=3, at_once=2)
    poll.look(LEASED_US)
    lan.calls[0][1].accept(1, "10.0.0.2:80", FIRST_US + 400.0)
    for late_us in (500.0, 1900.0):
        poll.look(FIRST_US + late_us)
        assert lan.times_us == [FIRST_US, FIRST_US + 400.0 + DELAY_US]


def test_silence_is_waited_for_until_the_pc_would_ask_again() -> None:
    lan = Lan()
    poll, load = polling(lan)
    poll.look(LEASED_US)
    poll.look(FIRST_US + ANSWER_US - 1.0)
    assert len(lan.calls) == 1
    poll.look(FIRST_US + ANSWER_US + 700.0)
    assert lan.closed == [1] and lan.times_us == [FIRST_US, FIRST_US + ANSWER_US + POLL_US]
    late = lan.calls[0][1]
    assert late.accept(1, "10.0.0.2:80", FIRST_US + ANSWER_US + 800.0) == RESET
    assert late.receive(1, b"x", FIRST_US + ANSWER_US + 900.0) == RESET
    assert not poll.taken and load.calls.sessions() == []


def test_a_board_that_says_nothing_at_all_is_looked_for_where_it_has_to_be() -> None:
    lan = Lan(None, frames=0)
    poll, _ = polling(lan)
    poll.look(SILENT_US - 1.0)
    lan.link_up = False
    poll.look(SILENT_US)
    assert lan.calls == [] and poll.board is None
    lan.link_up = True
    poll.look(SILENT_US + LOOK_US)
    assert [(peer, at_us) for peer, _, at_us in lan.calls] == [("10.0.0.10:80", SILENT_US + LOOK_US)]
    lan.frames = 1  # its answer
    poll.look(SILENT_US + LOOK_US + ANSWER_US)
    assert len(lan.calls) == 2 and poll.board == Listening(STATIC, 80) and not poll.has_address
