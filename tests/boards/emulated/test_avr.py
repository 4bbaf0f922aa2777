"""Rows of boards with an ATmega, whose images are Intel HEX and ELF."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from portbench.boards import Deadline, Deployment, Unattended, board_definition
from portbench.boards.emulated.board import EmulatedBoard
from portbench.boards.emulated.config import EmulatedConfig
from portbench.clients.arduino import compile_sketch
from portbench.errors import BoardError, PortbenchError
from portbench.firmware.identify import Uf2File
from portbench.runner.cli import portbench
from portbench.testing.board import Board

ROOT = Path(__file__).parents[3]
PING_PONG = ROOT / "firmware" / "avr" / "ping_pong.hex"
SKETCH = ROOT / "docs" / "how-to-play" / "arduino-avr" / "play" / "play.ino"


def run(*words: object) -> Result:
    return CliRunner(catch_exceptions=False).invoke(portbench, ["run", *map(str, words)])


def test_the_c_client_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("--board=arduino-mega2560", "--runtime=avr-c", "--messages=50", "-s", "phy_link_delay_s=0.1")
    assert done.exit_code == 0, done.output
    assert re.search(r"1 +avr-c +as-built +2\d\d\d ", done.output), done.output


@pytest.mark.slow
def test_the_arduino_client_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PORTBENCH_OFFLINE", "1")
    try:
        compile_sketch(SKETCH, tmp_path / "play.hex")
    except PortbenchError as error:
        pytest.skip(str(error))
    done = run("--board=arduino-mega2560", "--runtime=play.hex", "--messages=20", "--runs=1")
    assert re.search(r"1 +play +as-built +1[23]\d\d ", done.output), done.output


def test_without_the_sketchs_image_its_row_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = run("--board=arduino-mega2560", "--runtime=arduino-ethernet-2.0.2", "--runs=1")
    command = "python -m portbench.clients.arduino docs/how-to-play/arduino-avr/play/play.ino"
    assert f'{command} "$PORTBENCH_FIRMWARE_DIR"/arduino-ethernet-2.0.2.hex' in done.output


def test_the_fixtures_board_takes_the_image() -> None:
    board = Board("ARDUINO_MEGA2560")
    board.flash(PING_PONG)
    board.listen(5000).accept(within_s=5).expect(b"1")
    assert "PB4" in board.driven_pins
    with pytest.raises(PortbenchError, match=r"^image: is neither Intel HEX nor ELF; the ATmega2560 takes these$"):
        board.flash(b"\xff\xfe")


def test_a_file_needs_a_board_that_takes_it(tmp_path: Path) -> None:
    done = run(f"--runtime={PING_PONG}", "--dry-run")
    assert done.exit_code == 2
    named = "name another board: --board ARDUINO_MEGA2560"
    assert f"{PING_PONG}: is not an image for W5500_EVB_PICO; {named}" in done.output
    cut = tmp_path / "cut.hex"
    cut.write_bytes(b"no image")
    assert "cut.hex: is neither Intel HEX nor ELF; get the file again" in run(f"--runtime={cut}", "--dry-run").output


def unattended(exchanges: int, ready_s: float = 2.0) -> EmulatedBoard:
    board = EmulatedBoard(board_definition("arduino-mega2560"), EmulatedConfig(phy_link_delay_us=100_000))
    board.serve("ping_pong", {"messages": exchanges}, Deadline(60, "test"), Unattended(exchanges, ready_s))
    return board


def test_an_image_of_the_wrong_size_or_form_reaches_no_board(tmp_path: Path) -> None:
    path = tmp_path / "program.hex"
    path.write_bytes(b":020000000C945E\n")
    with unattended(5) as board, pytest.raises(BoardError, match=r"has no end record of Intel HEX: it was cut off$"):
        board.flash(Uf2File.read(path), Deadline(60, "test"))


def test_a_program_that_calls_no_pc_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "loop.hex"
    path.write_bytes(b":02000000FFCF30\n:00000001FF\n")  # rjmp .-2
    deadline = Deadline(60, "test")
    with unattended(5) as board:
        board.flash(Uf2File.read(path), deadline)
        board.deploy(Deployment({}, "foreign"), deadline)
        with pytest.raises(
            BoardError, match=r"no frame from the board in 1 s of simulated time: the image calls no PC"
        ):
            board.run(deadline)
