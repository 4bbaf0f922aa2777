"""Boards with an ATmega: found by their USB bridges, programmed by avrdude."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from portbench.boards import BoardUnavailable, Deadline, Deployment, board_definition
from portbench.boards.usb.avrdude import AvrdudeBoard
from portbench.boards.usb.bus import UsbDevice
from portbench.boards.usb.discovery import listing
from portbench.errors import BoardError
from portbench.firmware.identify import Uf2File
from tests.boards.usb.conftest import small_image

MEGA = board_definition("arduino-mega2560")
BRIDGE = UsbDevice(vid=0x2341, pid=0x0042, serial_number="95437313234351F0B1C1", port="/dev/ttyACM7", location="1-2")
HEX = b":020000000C945E\n:00000001FF\n"


@dataclass
class Bus:
    found: tuple[UsbDevice, ...] = (BRIDGE,)

    def devices(self) -> list[UsbDevice]:
        return list(self.found)


@pytest.fixture
def avrdude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An avrdude that notes its arguments, and fails where there is a script of what it says."""
    program = tmp_path / "bin" / "avrdude"
    program.parent.mkdir()
    said, noted = tmp_path / "says", tmp_path / "arguments"
    program.write_text(f'#!/bin/sh\necho "$@" >> "{noted}"\n[ ! -e "{said}" ] || {{ . "{said}"; exit 1; }}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return noted


def image(folder: Path) -> Uf2File:
    path = folder / "program.hex"
    path.write_bytes(HEX)
    return Uf2File.read(path)


def test_a_run_programs_the_image_once(avrdude: Path, deadline: Deadline, tmp_path: Path) -> None:
    file, log = image(tmp_path), list[str]()
    with AvrdudeBoard(MEGA, bus=Bus(), log=log.append, save_files_to=tmp_path / "saved") as board:
        board.flash(file, deadline)
        board.deploy(Deployment({}, "foreign"), deadline)
        board.run(deadline)  # programming has started it
        expected = f"-q -p atmega2560 -c wiring -P /dev/ttyACM7 -b 115200 -D -U flash:w:{file.path}:a\n"
        assert avrdude.read_text() == expected
        board.run(deadline)
        assert avrdude.read_text() == 2 * expected
        board.reset(deadline)
        assert avrdude.read_text() == 3 * expected and log == ["flash: program.hex by avrdude"] * 3


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo; echo ' avrdude: timeout'; echo done.", "avrdude: timeout"),
        ("echo unseen; echo avrdude: no device >&2", "avrdude: no device"),
        ("echo", "it says nothing"),
    ],
)
def test_what_avrdude_says_is_the_error(
    script: str, says: str, avrdude: Path, deadline: Deadline, tmp_path: Path
) -> None:
    avrdude.with_name("says").write_text(script)
    with AvrdudeBoard(MEGA, bus=Bus()) as board:
        with pytest.raises(BoardError, match=rf"avrdude cannot program program.hex: {says}$"):
            board.flash(image(tmp_path), deadline)
        with pytest.raises(BoardError, match=r"image.uf2 is a UF2 file; use Intel HEX or ELF$"):
            board.flash(Uf2File.read(small_image(tmp_path)), deadline)


def test_without_avrdude_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BoardUnavailable) as caught:
        AvrdudeBoard(MEGA, bus=Bus())
    assert str(caught.value) == (
        "Arduino Mega 2560 with a W5500 shield: avrdude, which programs it, is not installed;"
        " install it: apt-get install avrdude"
    )


def test_a_board_that_is_not_there(avrdude: Path) -> None:
    says = r"no board on USB; plug it in, or name its port, --device port:PATH \(boards seen: none\)$"
    with pytest.raises(BoardUnavailable, match=says):
        AvrdudeBoard(MEGA, bus=Bus(()))


def test_the_list_of_boards_shows_the_bridge() -> None:
    (found,) = listing(Bus())
    assert (found.board_id, found.state, found.selector) == ("ARDUINO_MEGA2560", "bridge", "id:95437313234351F0B1C1")
