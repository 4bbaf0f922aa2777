"""Two boards on one switch, as run-multitests.py finds them: a serial port each, and a network between them."""

from __future__ import annotations

import sys

import pytest

from portbench.boards import Deadline, board_definition
from portbench.boards.emulated.simulation import PS_PER_S, Step
from portbench.errors import BoardError
from portbench.firmware.uf2 import flash_content
from portbench.runner.checks.peers.two_boards import OnPort, two_boards
from tests import patience
from tests.conftest import Image
from tests.ping_pong import NATIVE_IMAGE

pytestmark = pytest.mark.engine
BOARD = board_definition("W5500_EVB_PICO")
_LIMIT_S = 120.0
_NETWORK = """
import network, socket
nic = network.WIZNET5K()
nic.active(True)
nic.ifconfig(("192.168.50.{0}", "255.255.255.0", "192.168.50.1", "192.168.50.1"))
while not nic.isconnected(): pass
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 7))
"""


def python(port: str, code: str) -> str:
    command = [sys.executable, "-m", "mpremote", "connect", port, "resume", "exec", code]
    done = patience.run(command, _LIMIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_board_hears_the_other(image: Image) -> None:
    with two_boards(BOARD, flash_content(image("micropython-1.28.0"), BOARD.flash_bytes)) as boards:
        Deadline(_LIMIT_S, "boards").poll(lambda: boards.consoles_open, 0.05, "their consoles")
        one, other = boards.ports
        for number, port in enumerate(boards.ports, 11):
            python(port, _NETWORK.format(number))
        python(one, "s.settimeout(20); s.sendto(b'hello', ('192.168.50.12', 7))")
        assert python(other, "s.settimeout(20); print(s.recvfrom(9))") == "(b'hello', ('192.168.50.11', 7))\n"


def test_another_thread_asks_for_the_time_while_the_pair_runs() -> None:
    """It has the interpreter and waits for the board, whose thread waits for the interpreter."""
    with two_boards(BOARD, flash_content(NATIVE_IMAGE, BOARD.flash_bytes)) as boards:
        deadline = Deadline(_LIMIT_S, "boards")
        while boards.time_ps < PS_PER_S // 50:
            deadline.check("20 ms of simulated time")


def test_a_board_that_stops_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def ran(self: OnPort, stop: str) -> Step:
        self.fault = "core 0 locked up"
        return Step(stop, [], b"")

    monkeypatch.setattr(OnPort, "ran", ran)
    flash = flash_content(NATIVE_IMAGE, BOARD.flash_bytes)
    with two_boards(BOARD, flash) as boards, pytest.raises(BoardError, match="core 0 locked up"):
        Deadline(_LIMIT_S, "boards").poll(boards.check, 0.01, "a fault")
