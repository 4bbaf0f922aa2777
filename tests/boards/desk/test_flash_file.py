"""A board's flash that stays in a file."""

from dataclasses import replace
from pathlib import Path

import pytest

from portbench.boards import BoardUnavailable, board_definition
from portbench.boards.desk.flash_file import FlashFile

SMALL = replace(board_definition("RPI_PICO"), flash_bytes=1 << 16)
BLANK = b"\xff" * SMALL.flash_bytes
OTHER = bytes(SMALL.flash_bytes)


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "desk.bin"


def reopened(path: Path) -> bytes:
    file = FlashFile(path, SMALL)
    file.close()
    return file.contents


def test_a_file_is_made_and_comes_back(path: Path) -> None:
    file = FlashFile(path, SMALL)
    assert file.contents == b"" and not path.exists()
    file.save(OTHER)
    file.close()
    assert reopened(path) == OTHER
    assert sorted(each.name for each in path.parent.iterdir()) == ["desk.bin", "desk.bin.board"]


def test_it_is_written_once_the_board_has_done_writing(path: Path) -> None:
    clock = Clock()
    file = FlashFile(path, SMALL, clock=clock)
    looks = 0

    def contents() -> bytes:
        nonlocal looks
        looks += 1
        return OTHER[:-1] + bytes([looks])

    for generation in [5, *range(5, 35)]:  # for 3 s, ten times a second
        file.look(generation, contents)
        clock.now_s += 0.1
    assert looks == 0
    for _ in range(30):
        file.look(34, contents)
        clock.now_s += 0.1
    assert (looks, path.read_bytes()[-1]) == (1, 1)
    for generation in range(35, 300):  # a program that never stops
        file.look(generation, contents)
        clock.now_s += 0.1
    assert looks == 3
    file.restarted(BLANK)
    file.look(0, contents)
    assert (looks, path.read_bytes()) == (3, BLANK)


def test_another_size_another_board_and_a_file_in_use_are_refused_in_one_line(path: Path, tmp_path: Path) -> None:
    path.write_bytes(OTHER[:-1])
    with pytest.raises(BoardUnavailable) as caught:
        FlashFile(path, SMALL)
    assert str(caught.value) == (
        f"--flash: {path}: has 65535 bytes, and the flash of RPI_PICO 65536; name another file"
    )
    assert path.read_bytes() == OTHER[:-1]
    path.write_bytes(OTHER)
    file = FlashFile(path, SMALL)
    with pytest.raises(BoardUnavailable, match=r"another board that runs has it; name another file$"):
        FlashFile(path, SMALL)
    file.close()
    with pytest.raises(BoardUnavailable, match=r"is the flash of a RPI_PICO; use --board RPI_PICO or another file$"):
        FlashFile(path, replace(SMALL, id="W5500_EVB_PICO"))
    with pytest.raises(BoardUnavailable, match=r": is not a file; name one for the board's flash$"):
        FlashFile(tmp_path, SMALL)
    with pytest.raises(BoardUnavailable, match="No such file or directory"):
        FlashFile(tmp_path / "nowhere" / "desk.bin", SMALL)
