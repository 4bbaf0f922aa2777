"""The serial ports that a board has beside its console, and what the PC has no driver for."""

import os
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from portbench.boards.desk.usb_side import UsbSide
from portbench.boards.registry import EmulatedState, PortLinks, read_state
from portbench.runner.cli.verbs.desk import _lines
from tests.boards.desk.conftest import Started
from tests.boards.emulated.conftest import within

pytestmark = pytest.mark.engine

KEYBOARD = "HID keyboard (interface 5, class 03:01:01)"
CONFIGURED = {
    "generation": 1,
    "configured": True,
    "console": True,
    "storage_ready": False,
    "units_ready": [],
    "unused": [KEYBOARD],
}


class Board:
    """A machine for `UsbSide` that echoes at its serial ports, each with its own mark; and its owner."""

    def __init__(self, ports: int) -> None:
        self.state: dict[str, Any] = {**CONFIGURED, "serial_ports": ports}
        self.console_unsent = 0
        self.came: dict[int, bytes] = {}
        self.calls: list[tuple[str, int, int | bytes]] = []
        self.disturbances = 0

    def usb(self) -> dict[str, Any]:
        return self.state

    def serial_unsent(self, place: int) -> int:
        return 0

    def serial_read(self, place: int) -> bytes:
        return self.came.pop(place, b"")

    def serial_write(self, place: int, data: bytes) -> int:
        self.came[place] = b"%d:%s" % (place, data)
        return len(data)

    def serial_set_baud(self, place: int, baud: int) -> bool:
        self.calls.append(("baud", place, baud))
        return True

    def serial_close(self, place: int) -> bool:
        self.calls.append(("close", place, 0))
        return True

    def console_write(self, data: bytes) -> int:
        self.calls.append(("console", 0, data))
        return len(data)

    def disturbed(self) -> None:
        self.disturbances += 1

    def publish(self) -> None: ...
    def lose_power(self) -> None: ...
    def drive_gone(self) -> None: ...

    def enumerated(self) -> int:
        return 0

    def typing(self, data: bytes) -> bytes:
        return data


@pytest.fixture
def board() -> Board:
    return Board(3)


@pytest.fixture
def side(board: Board, tmp_path: Path) -> Iterator[UsbSide]:
    side = UsbSide(cast(Any, board), tmp_path, cast(Any, board), cast(Any, board), lambda line: None)
    side.changed(board.state)
    yield side
    side.close()


def say(port: str, data: bytes) -> int:
    client = os.open(port, os.O_RDWR | os.O_NOCTTY)
    os.write(client, data)
    return client


def test_each_function_is_a_port_of_its_own(board: Board, side: UsbSide) -> None:
    seen = side.seen()
    assert len({seen["port"], *seen["further_ports"]}) == 3
    assert [port.path for port in side.ports] == [seen["port"], *seen["further_ports"]]
    clients = [say(path, b"to %d" % place) for place, path in enumerate([seen["port"], *seen["further_ports"]])]
    side.type()
    side.show_rest()
    assert board.calls == [("console", 0, b"to 0")] and board.disturbances == 2
    assert [os.read(client, 100) for client in clients[1:]] == [b"1:to 1", b"2:to 2"]
    for client in clients:
        os.close(client)


def test_they_go_with_the_device_and_what_nobody_saw_is_lost(board: Board, side: UsbSide) -> None:
    side.changed({**board.state, "configured": False, "console": False, "serial_ports": 0})
    assert side.ports == () and side.seen()["further_ports"] == []
    board.came = {1: b"old", 2: b"old"}
    side.changed({**board.state, "generation": 2, "serial_ports": 2})
    assert len(side.ports) == 2 and board.came == {2: b"old"}


def test_the_boot_loaders_speed_reaches_the_function_that_it_was_set_at(board: Board, side: UsbSide) -> None:
    client = os.open(side.seen()["further_ports"][1], os.O_RDWR | os.O_NOCTTY)
    settings = termios.tcgetattr(client)
    settings[4] = settings[5] = termios.B1200
    termios.tcsetattr(client, termios.TCSANOW, settings)
    side.type()
    side.type()
    os.close(client)
    assert board.calls == [("baud", 2, 1200), ("close", 2, 0)]


def test_the_desk_names_them_and_what_has_no_driver(side: UsbSide, tmp_path: Path) -> None:
    state = EmulatedState("desk", os.getpid(), "RPI_PICO", **side.seen())
    console, second, third = (port.path for port in side.ports)
    folder = tmp_path / "desk"
    assert _lines(state, PortLinks(folder)) == [
        f"port {console}: mpremote connect {folder}.port",
        f"port 2 {second}: {folder}.port2",
        f"port 3 {third}: {folder}.port3",
        f"no driver for {KEYBOARD}",
    ]


BOOT = b"import usb_cdc\nusb_cdc.enable(console=True, data=True)\n"
ECHO = b"""
import supervisor, usb_cdc
while not supervisor.runtime.serial_connected:
    pass
print('PORTBENCH {"ports": %d}' % (1 + (usb_cdc.data is not None)))
while True:
    if usb_cdc.data.in_waiting:
        usb_cdc.data.write(usb_cdc.data.read(usb_cdc.data.in_waiting).upper())
"""


def test_circuitpythons_data_port_answers(started: Started) -> None:
    board = started("circuitpython-9.1.4", "circuitpython", {"boot.py": BOOT, "code.py": ECHO})
    board.control("sync", within(120))
    assert board.run(within(120)).result == {"ports": 2}
    state = read_state(board.folder)
    assert state is not None and len(state.further_ports) == 1
    assert [name.partition(" (")[0] for name in state.unused] == ["HID", "MIDI"]
    client = say(state.further_ports[0], b"hello")
    os.set_blocking(client, False)
    came = bytearray()

    def echoed() -> bool:
        try:
            came.extend(os.read(client, 100))
        except BlockingIOError:
            return False
        return len(came) >= 5

    try:
        within(60).poll(echoed, 0.01, "the data port's echo")
    finally:
        os.close(client)
    assert bytes(came) == b"HELLO"
