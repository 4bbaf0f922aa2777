"""Pins and UARTs of the board that tests get."""

from collections.abc import Callable
from pathlib import Path

import pytest
from vcd.reader import TokenKind, tokenize

from portbench.firmware import uf2
from portbench.testing import Board, NothingCame
from tests.boards.emulated.guests import CHARACTER_US, uart_echo
from tests.ping_pong import NATIVE_IMAGE

pytestmark = pytest.mark.engine
Make = Callable[..., Board]
RSTN, CSN = "GP20", "GP17"


def test_edges_have_the_same_times_in_two_runs(make_emulated_board: Make) -> None:
    seen = []
    for board in (make_emulated_board(), make_emulated_board()):
        reset, select = board.pin(RSTN), board.pin(CSN)
        board.flash(NATIVE_IMAGE)
        assert not reset.level
        ended = reset.wait_for_edge("high", within_s=2)
        assert reset.level and reset.driven
        assert select.wait_for_edge("low").time_us > ended.time_us
        seen.append((ended, list(select.edges)))
    assert seen[0] == seen[1] and len(seen[0][1]) > 2


def test_an_edge_that_does_not_come_fails_with_those_that_did(emulated_board: Board) -> None:
    reset = emulated_board.pin(RSTN)
    emulated_board.flash(NATIVE_IMAGE)
    reset.wait_for_edge("high", within_s=2)
    with pytest.raises(
        NothingCame, match=r"(?s)an edge of GP20 to low did not come within 0\.1 s.*is high;.*\d s high"
    ):
        reset.wait_for_edge("low", within_s=0.1)
    with pytest.raises(ValueError, match="'up' is not a level; use low or high"):
        reset.wait_for("up")


def test_a_held_pin_and_its_wire_stay_over_power_cycles(emulated_board: Board) -> None:
    one, two = emulated_board.pin(2), emulated_board.pin("GP3")
    emulated_board.flash(NATIVE_IMAGE)
    one.hold("high")
    one.wire(two)
    emulated_board.run(0.01)
    assert two.level and not two.driven
    emulated_board.power_cycle()
    emulated_board.run(0.01)
    assert one.level and two.level
    one.hold(0.2)
    emulated_board.run(0.01)
    assert not two.level and not two.edges[-1].high
    one.hold("high")
    one.unwire(two)
    emulated_board.run(0.01)
    assert one.level and not two.level
    one.release()
    emulated_board.run(0.01)
    assert not one.level


def test_edges_are_saved_for_pulseview(emulated_board: Board, tmp_path: Path) -> None:
    path = tmp_path / "pins.vcd"
    with pytest.raises(NothingCame, match="no pin was recorded"):
        emulated_board.save_vcd(path)
    reset = emulated_board.pin(RSTN)
    emulated_board.flash(NATIVE_IMAGE)
    reset.wait_for_edge("high", within_s=2)
    emulated_board.run(0.01)
    emulated_board.save_vcd(path)
    time_ns, changes = 0, []
    with path.open("rb") as file:
        for token in tokenize(file):
            if token.kind is TokenKind.CHANGE_TIME:
                time_ns = token.time_change
            elif token.kind is TokenKind.CHANGE_SCALAR and time_ns:
                changes.append((time_ns, token.scalar_change.value == "1"))
    assert changes == [(round(edge.time_us * 1000), edge.high) for edge in reset.edges]


def test_a_uart_is_talked_to_at_the_boards_speed(make_emulated_board: Make) -> None:
    board = make_emulated_board("RPI_PICO")
    board.flash(uf2.build(uart_echo()))
    uart = board.uart(0)
    board.run(0.1)
    before_us = board.time_us
    uart.send(b"HAL")
    assert 3 * CHARACTER_US <= board.time_us - before_us < 3 * CHARACTER_US + 2000
    uart.expect("IBM")
    assert uart.received == b"IBM" and board.uart(0) is uart
    with pytest.raises(NothingCame, match=r"(?s)'X' on UART 0 did not come within 0\.01 s.*\n  IBM"):
        uart.expect("X", within_s=0.01)
    with pytest.raises(ValueError, match="2 is not a UART"):
        board.uart(2)
