"""The program that `portbench advise` shows runs on the firmware that it is shown for."""

import ast
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from portbench.boards import BoardDefinition, known_boards
from portbench.boards.wifi import AccessPoint
from portbench.clients.example import example
from portbench.clients.families import FAMILIES
from portbench.clients.libraries import library_files
from portbench.results.shipped import all_shipped
from portbench.testing.board import Board

IMAGES = [
    "micropython-1.28.0",
    "wiznet-hardwired",
    "wiznet-hardwired-w5100s",
    "circuitpython-9.1.4",
    "micropython-pico-w-1.26.1",
    "circuitpython-pico-w-8.0.5",
]
ADDRESS = "192.168.50.100"
"""The address that the simulated DHCP server gives."""
LINES = {row.runtime: row.line for _, run in all_shipped() for row in run.rows if row.line is not None}
"""Lines of the figures that ship, of the last profile."""


@pytest.mark.parametrize("family", ["micropython", "wiznet", "circuitpython"])
@pytest.mark.parametrize(
    "board", [board for board in known_boards().values() if board.avr is None], ids=lambda board: board.id
)
def test_each_board_has_a_whole_program(family: str, board: BoardDefinition) -> None:
    program = example(family, board, "network.WIZNET5K()")
    ast.parse(program)
    assert "NIC_LINE" not in program and "BOARD_" not in program and "GP_" not in program


def test_a_line_without_pins_imports_none() -> None:
    board = known_boards()["W5500_EVB_PICO"]
    assert "import SPI, Pin" not in example("micropython", board, "network.WIZNET5K()")
    assert "import SPI, Pin" in example("micropython", board, "network.WIZNET5K(SPI(0), Pin(17), Pin(20))")


@pytest.mark.engine
@pytest.mark.timeout(600)
@pytest.mark.parametrize("runtime", IMAGES)
def test_the_program_serves_its_page(runtime: str, image: Callable[[str], Path]) -> None:
    path = image(runtime)
    kind = next(name.removesuffix(".json") for name, run in all_shipped() for row in run.rows if row.runtime == runtime)
    definition = known_boards()[kind]
    family = "circuitpython" if runtime.startswith("circuitpython") else "micropython"
    program = example(family, definition, LINES[runtime])
    credentials = AccessPoint().credentials
    program = program.replace("YOUR-NETWORK", credentials.ssid).replace("YOUR-PASSWORD", credentials.passphrase or "")
    board = Board(kind)
    board.flash(path)
    files: dict[str, Path | str | bytes] = {FAMILIES[family].script: program}
    if family == "circuitpython" and kind == "W5500_EVB_PICO":
        files |= library_files(9, 120.0)
    board.copy(files)
    board.power_cycle()
    for _ in range(2):
        caller = board.connect(80, ADDRESS, within_s=60)
        caller.send(b"GET / HTTP/1.0\r\n\r\n")
        caller.expect(r"Content-Length: 10\r\n\r\nIt works.\n", within_s=20)
        caller.close()
    if family == "micropython":  # CircuitPython's prints before a console is open are lost
        assert f"http://{ADDRESS}/" in board.console


@pytest.mark.engine
@pytest.mark.parametrize("runtime", ["micropython-pico-1.26.1", "circuitpython-pico-9.1.4"])
def test_the_program_blinks_without_a_network(runtime: str, image: Callable[[str], Path]) -> None:
    path, definition = image(runtime), known_boards()["RPI_PICO"]
    client = FAMILIES[runtime.partition("-")[0]]
    board = Board(definition.id)
    board.flash(path)
    board.copy({client.script: example(runtime.partition("-")[0], definition, None)})
    led = board.pin("GP25")
    board.power_cycle()
    board.run(10)  # CircuitPython blinks its state before
    times = [edge.time_us for edge in led.edges][-4:]
    assert [round((end - begin) / 10_000) for begin, end in itertools.pairwise(times)] == [25, 25, 25]
