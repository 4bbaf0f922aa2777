"""The UARTs and pins of an emulated board, from Python, as terminals, and by the control channel."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import NO_ENGINE

pytest.importorskip("portbench_engine", reason=NO_ENGINE)

from portbench_engine import Machine, bootrom

from portbench.boards import BoardError, Deadline, board_definition
from portbench.boards.desk.config import CONFIG, DeskConfig
from portbench.boards.desk.control import ControlClient, Controls
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import ps
from portbench.boards.registry import RUNTIME_DIR_VARIABLE, EmulatedState, read_state
from tests.emulated.guests import CHARACTER_US, uart_echo

pytestmark = pytest.mark.engine
LIMIT_S = 60
PICO = board_definition("RPI_PICO")
SET_UP_US = 100_000.0


def booted(flash: bytes, config: EmulatedConfig | None = None) -> Machine:
    machine = Machine(bootrom(), flash, (config or EmulatedConfig()).settings(PICO))
    run_to(machine, SET_UP_US)
    return machine


def run_to(machine: Machine, until_us: float) -> None:
    while machine.time_us < until_us - 0.001:  # which need be no whole number of picoseconds
        machine.run_until_ps(ps(until_us))


@pytest.mark.parametrize(("uart", "tx", "rx"), [(0, 0, 1), (0, 12, 13), (1, 4, 5), (1, 8, 9)])
def test_characters_go_both_ways_at_the_boards_own_speed(uart: int, tx: int, rx: int) -> None:
    machine = booted(uart_echo(uart, tx, rx))
    assert machine.uart_write(uart, b"HAL") == 3
    run_to(machine, SET_UP_US + 4 * CHARACTER_US - 1)
    assert (machine.uart_read(uart), machine.uart_unsent(uart)) == (b"IB", 0)
    run_to(machine, SET_UP_US + 4.5 * CHARACTER_US)
    assert machine.uart_read(uart) == b"M"
    assert 4 * CHARACTER_US < machine.uart_time_us(uart) - SET_UP_US < 4.5 * CHARACTER_US
    assert machine.uart_read(1 - uart) == b""


def test_a_wire_from_tx_to_rx_is_heard() -> None:
    """Each character goes round and round, one more each time."""
    machine = booted(uart_echo(), EmulatedConfig(wires=((0, 5),)))
    machine.uart_write(0, b"A")
    run_to(machine, SET_UP_US + 3 * CHARACTER_US)
    assert machine.uart_read(0) == b"B"
    machine.wire(0, 1)
    machine.set_pin(5, False)  # weaker than the UART: heard all the same
    machine.uart_write(0, b"!")  # which is lost: the wire has RX
    run_to(machine, machine.time_us + 5 * CHARACTER_US)
    assert machine.uart_read(0) == b""
    machine.unwire(0, 1)
    machine.uart_write(0, b"A")
    run_to(machine, machine.time_us + 1.5 * CHARACTER_US)
    machine.wire(0, 1)
    run_to(machine, machine.time_us + 20 * CHARACTER_US)
    round_and_round = machine.uart_read(0)
    assert round_and_round[:1] == b"B" and len(round_and_round) > 10


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pbu-") as folder:  # short, as sockets' names are
        monkeypatch.setenv(RUNTIME_DIR_VARIABLE, folder)
        yield Path(folder)


def start(flash: Path, config: DeskConfig) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "portbench.boards.desk", "--name", "desk", "--board", "RPI_PICO", "--links"]
    command += ["--keep-flash", str(flash), "--log", os.devnull, "--config", CONFIG.dump_json(config).decode()]
    return subprocess.Popen(command)


def started(folder: Path) -> EmulatedState:
    return Deadline(LIMIT_S, "test").poll(lambda: read_state(folder / "desk"), 0.01, "the board")


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


def test_a_desks_uarts_are_terminals_with_names_that_stay(folder: Path, tmp_path: Path) -> None:
    flash = tmp_path / "flash.bin"
    flash.write_bytes(uart_echo())
    for _ in range(2):
        board = start(flash, DeskConfig(uart_ports=True, wall_clock=True))
        try:
            state = started(folder)
            link = folder / "desk.uart0"
            assert [str(link.readlink()), str((folder / "desk.uart1").readlink())] == state.uarts
            assert answer(link, b"HAL") == b"IBM"
            client = ControlClient(folder / "desk", "desk")
            client.call("power_cycle", Deadline(LIMIT_S, "test"))
            assert answer(link, b"HAL") == b"IBM"
            client.close()
        finally:
            board.terminate()
            assert board.wait(LIMIT_S) == 0
        assert list(folder.iterdir()) == []
    assert flash.read_bytes() == uart_echo()


def test_a_killed_boards_links_go_when_the_next_one_starts(folder: Path, tmp_path: Path) -> None:
    flash = tmp_path / "flash.bin"
    flash.write_bytes(uart_echo())
    killed = start(flash, DeskConfig(uart_ports=True))
    started(folder)
    killed.kill()
    killed.wait(LIMIT_S)
    assert (folder / "desk.uart0").is_symlink()
    board = start(flash, DeskConfig())
    try:
        started(folder)
        assert [path.name for path in folder.iterdir()] == ["desk"]
    finally:
        board.terminate()
        board.wait(LIMIT_S)


def test_a_hand_reaches_the_pins_of_a_running_board(folder: Path, tmp_path: Path) -> None:
    flash = tmp_path / "flash.bin"
    flash.write_bytes(uart_echo())
    board = start(flash, DeskConfig(pins={15: 0.0}))
    try:
        started(folder)
        client = ControlClient(folder / "desk", "desk")
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
    finally:
        board.terminate()
        board.wait(LIMIT_S)
