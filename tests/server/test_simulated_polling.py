"""The search for an unannounced server: exact times, on a LAN of the test's own."""

from ipaddress import IPv4Address
from typing import Any

from portbench.server.calls import Listening
from portbench.server.simulated_load_generator import NOTHING, RESET, Line, SimulatedLoadGenerator
from portbench.server.simulated_polling import ANSWER_US, POLL_US, SETTLE_US, SILENT_US, SimulatedPolling
from tests.server.asking import ANSWER, QUESTION, asking

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


def test_a_board_that_has_settled_is_called_soon_and_at_another_address_from_the_beginning() -> None:
    lan, now_us = Lan(), 1e9
    poll = SimulatedPolling(lan, SimulatedLoadGenerator(asking(1), 200.0), 80, STATIC, DELAY_US, now_us)
    poll.look(now_us)
    assert lan.times_us == [now_us + POLL_US] and poll.refusals == 0
    lan.calls[0][1].closed(1, True, now_us + POLL_US)
    poll.look(now_us + POLL_US)
    assert poll.refusals == 1
    lan.calls[1][1].closed(2, True, 2e9)
    lan.board_address = "10.0.0.3"
    poll.look(2e9)
    assert (poll.refusals, poll.board, lan.times_us[2]) == (0, Listening(IPv4Address("10.0.0.3"), 80), 2e9 + POLL_US)


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


def test_refusals_before_silence_do_not_count() -> None:
    lan = Lan()
    poll, _ = polling(lan)
    poll.look(LEASED_US)
    lan.calls[0][1].closed(1, True, FIRST_US)
    poll.look(FIRST_US)
    assert poll.refusals == 1
    poll.look(FIRST_US + POLL_US + ANSWER_US)
    assert (poll.refusals, len(lan.calls)) == (0, 3)


def test_what_is_taken_is_the_first_connection_and_the_others_follow() -> None:
    lan = Lan()
    poll, load = polling(lan, connections=3, at_once=2)
    poll.look(LEASED_US)
    line = lan.calls[0][1]
    taken_us = FIRST_US + 4000.0
    assert line.accept(1, "10.0.0.2:80", taken_us) == (QUESTION, False, False, None)
    for now_us in (taken_us + LOOK_US, taken_us + 2 * LOOK_US):
        poll.look(now_us)
    assert poll.taken and lan.times_us == [FIRST_US, taken_us + DELAY_US]
    assert line.receive(1, ANSWER, taken_us + 5000.0) == (b"", True, False, 0.0)
    line.accept(3, "10.0.0.2:80", taken_us + 6000.0)
    line.receive(3, ANSWER, taken_us + 7000.0)
    other = lan.calls[1][1]
    other.accept(2, "10.0.0.2:80", taken_us + 11_000.0)
    other.receive(2, ANSWER, taken_us + 12_000.0)
    sessions = load.calls.sessions()
    assert [each.started_us for each in sessions] == [FIRST_US, taken_us + DELAY_US, taken_us + 5200.0]
    assert all(each.ok and each.attempts == 1 for each in sessions) and load.calls.load.over


def test_a_connection_that_is_lost_once_it_was_taken_is_a_failure() -> None:
    lan = Lan()
    poll, load = polling(lan)
    poll.look(LEASED_US)
    lan.calls[0][1].accept(1, "10.0.0.2:80", FIRST_US + 4000.0)
    lan.calls[0][1].closed(1, True, FIRST_US + 5000.0)
    assert load.calls.fault == "connection 1 of 1 to 10.0.0.2:80: connection lost after 0 exchanges (reset)"


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


def test_a_board_that_asks_for_an_address_is_not_looked_for_elsewhere() -> None:
    lan = Lan(None, frames=1)
    poll, _ = polling(lan)
    poll.look(SILENT_US + LOOK_US)
    assert lan.calls == []
