"""The UARTs and pins of an emulated board, from Python, as terminals, and by the control channel."""

import os
import select
import signal
from pathlib import Path

import pytest
from portbench_engine import Board

from portbench.boards import BoardError, Deadline, board_definition
from portbench.boards.desk.config import DeskConfig
from portbench.boards.desk.control import ControlClient, Controls
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import ps
from tests.boards.desk.conftest import desk
from tests.boards.emulated.guests import CHARACTER_US, uart_echo

pytestmark = pytest.mark.engine
LIMIT_S = 60
PICO = board_definition("RPI_PICO")
SET_UP_US = 100_000.0


def booted(flash: bytes, config: EmulatedConfig | None = None) -> Board:
    board = Board(flash, **(config or EmulatedConfig()).settings(PICO))
    board.run_until(ps(SET_UP_US))
    return board


@pytest.mark.parametrize(("number", "tx", "rx"), [(0, 0, 1), (0, 12, 13), (1, 4, 5), (1, 8, 9)])
def test_characters_go_both_ways_at_the_boards_own_speed(number: int, tx: int, rx: int) -> None:
    board = booted(uart_echo(number, tx, rx))
    uart = board.uarts[number]
    assert uart.write(b"HAL") == 3
    board.run_until(ps(SET_UP_US + 4 * CHARACTER_US - 1))
    assert (uart.read(), uart.unsent) == (b"IB", 0)
    board.run_until(ps(SET_UP_US + 4.5 * CHARACTER_US))
    assert uart.read() == b"M"
    assert ps(4 * CHARACTER_US) < uart.received_ps - ps(SET_UP_US) < ps(4.5 * CHARACTER_US)
    assert board.uarts[1 - number].read() == b""


def test_a_wire_from_tx_to_rx_is_heard() -> None:
    """Each character goes round and round, one more each time."""
    board = booted(uart_echo(), EmulatedConfig(wires=((0, 5),)))
    uart, tx, rx = board.uarts[0], board.pin(0), board.pin(1)
    uart.write(b"A")
    board.run_until(ps(SET_UP_US + 3 * CHARACTER_US))
    assert uart.read() == b"B"
    tx.wire(rx)
    board.pin(5).hold(0.0)  # weaker than the UART: heard all the same
    uart.write(b"!")  # which is lost: the wire has RX
    board.run(ps(5 * CHARACTER_US))
    assert uart.read() == b""
    tx.unwire(rx)
    uart.write(b"A")
    board.run(ps(1.5 * CHARACTER_US))
    tx.wire(rx)
    board.run(ps(20 * CHARACTER_US))
    round_and_round = uart.read()
    assert round_and_round[:1] == b"B" and len(round_and_round) > 10


def answer(port: Path, sent: bytes) -> bytes:
    """The terminal's answer, as many bytes as went there; sent until the board listens."""
    deadline, came = Deadline(LIMIT_S, "test"), b""
    terminal = os.open(port, os.O_RDWR | os.O_NOCTTY)
    try:
        while len(came) < len(sent):
            deadline.check("an answer")
            os.write(terminal, sent[len(came) : len(came) + 1])
            if select.select([terminal], [], [], 0.5)[0]:
                came += os.read(terminal, 100)
    finally:
        os.close(terminal)
    return came


def test_a_desks_uarts_are_terminals_with_names_that_stay(root: Path, tmp_path: Path) -> None:
    flash = tmp_path / "flash.bin"
    flash.write_bytes(uart_echo())
    for _ in range(2):
        with desk(flash, DeskConfig(uart_ports=True, wall_clock=True), "--links") as board:
            link = root / "desk.uart0"
            assert [str(link.readlink()), str((root / "desk.uart1").readlink())] == board.wait().uarts
            assert answer(link, b"HAL") == b"IBM"
            client = ControlClient(board.folder, "desk")
            client.call("power_cycle", Deadline(LIMIT_S, "test"))
            assert answer(link, b"HAL") == b"IBM"
            client.close()
        assert list(root.iterdir()) == []
    assert flash.read_bytes() == uart_echo()


def test_a_killed_boards_links_go_when_the_next_one_starts(root: Path, tmp_path: Path) -> None:
    flash = tmp_path / "flash.bin"
    flash.write_bytes(uart_echo())
    with desk(flash, DeskConfig(uart_ports=True), "--links") as killed:
        os.kill(killed.wait().pid, signal.SIGKILL)
        assert killed.ended()
    assert (root / "desk.uart0").is_symlink()
    with desk(flash, DeskConfig(), "--links"):
        assert [path.name for path in root.iterdir()] == ["desk"]


def test_a_hand_reaches_the_pins_of_a_running_board(root: Path, tmp_path: Path) -> None:
    flash = tmp_path / "flash.bin"
    flash.write_bytes(uart_echo())
    with desk(flash, DeskConfig(pins={15: 0.0})) as board:
        client = ControlClient(board.folder, "desk")
        controls = Controls(client.call, "desk")
        assert (controls.voltage("GP15"), controls.pin(15), controls.voltage(24)) == (0.0, False, 3.3)
        controls.set_pin("GP15", True)
        controls.set_voltage(26, 1.65)
        controls.wire("GP15", "GP14")
        assert (controls.pin(14), controls.voltage(26), controls.wires()) == (True, 1.65, [(14, 15)])
        client.call("power_cycle", Deadline(LIMIT_S, "test"))
        assert (controls.pin(14), controls.voltage(26), controls.wires()) == (True, 1.65, [(14, 15)])
        controls.unwire(14, 15)
        controls.set_pin(15, None)
        assert (controls.pin(14), controls.voltage(15), controls.wires()) == (False, None, [])
        with pytest.raises(BoardError, match=r"^desk: pins: no wire joins GP1 and GP2$"):
            controls.unwire(1, 2)
        deadline, came = Deadline(LIMIT_S, "test"), b""
        while not came:
            deadline.check("an answer")
            controls.uart_write(0, b"A")
            came = controls.uart_read(0)
        assert came.startswith(b"B")
        client.close()
