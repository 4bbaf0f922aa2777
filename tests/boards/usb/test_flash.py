"""Into the boot loader, programming, and the new runtime."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from portbench.boards import BoardUnavailable, Deadline, DeadlineExceeded
from portbench.boards.usb import flash as flash_module
from portbench.boards.usb import volume as volume_module
from portbench.boards.usb.bus import Target, UsbDevice
from portbench.boards.usb.flash import enter_bootloader, flash
from portbench.boards.usb.volume import wait_volume, write_file, write_until_gone
from portbench.errors import BoardError, Unsupported
from portbench.firmware.identify import Uf2File
from portbench.firmware.uf2 import Uf2Error
from tests.boards.usb.conftest import CIRCUITPYTHON, MICROPYTHON, link_to, small_image
from tests.boards.usb.fake_board import FakeBoard

Boards = Callable[..., FakeBoard]


@pytest.mark.parametrize("before", ["micropython", "circuitpython", None])
def test_from_any_runtime_to_the_image(boards: Boards, deadline: Deadline, tmp_path: Path, before: str | None) -> None:
    board = boards(runtime=before)
    image, link = small_image(tmp_path, MICROPYTHON), link_to(board)
    flash(link, Uf2File.read(image), deadline)
    assert board.flashed == image.read_bytes() and link.image_has_usb
    assert board.devices()[0].pid == 5
    board.becomes, had_usb = "circuitpython", list[bool]()
    link.watch = lambda: had_usb.append(link.image_has_usb)
    without_usb = small_image(tmp_path)
    flash(link, Uf2File.read(without_usb), deadline)  # whatever comes back is not waited for
    assert board.flashed == without_usb.read_bytes() and not any(had_usb)


@pytest.mark.parametrize(
    ("becomes", "says"),
    [
        ("micropython", "should be USB 2e8a:1029, but 2e8a:0005 came back"),
        (None, "after image.uf2 was programmed the boot loader came back, not circuitpython"),
    ],
)
def test_another_runtime_than_flashed_is_noticed(
    boards: Boards, tmp_path: Path, becomes: str | None, says: str
) -> None:
    board = boards(runtime=None, becomes=becomes)
    with pytest.raises(BoardError, match=says):
        flash(link_to(board), Uf2File.read(small_image(tmp_path, CIRCUITPYTHON)), Deadline(20, "test"))


def test_an_image_may_end_in_the_boot_loader_again(boards: Boards, deadline: Deadline, tmp_path: Path) -> None:
    """The native client does so: its drive is there again, and is another."""
    board = boards(runtime=None)
    link = link_to(board)
    found = board.devices()[0]
    looks = iter([found, found, found, replace(found, enumeration="1:9")])
    link.target = Target(SimpleNamespace(devices=lambda: [next(looks)]), lambda devices: devices[0])
    flash(link, Uf2File.read(small_image(tmp_path)), deadline)


def test_an_image_for_a_board_without_a_definition_is_unsupported(
    boards: Boards, deadline: Deadline, tmp_path: Path
) -> None:
    board = boards(runtime=None, becomes="micropython")
    badge = CIRCUITPYTHON.replace(b"W5500-EVB-Pico", b"Badge 2023")
    says = (
        r"^image\.uf2 is for Badge 2023 with rp2040, and 2e8a:0005 came back on USB: no definition of a board names it"
    )
    with pytest.raises(Unsupported, match=says):
        flash(link_to(board), Uf2File.read(small_image(tmp_path, badge)), deadline)


def test_a_drive_that_ignores_the_image(
    boards: Boards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deadline: Deadline
) -> None:
    monkeypatch.setattr("portbench.boards.usb.flash._GONE_S", 0.2)
    board = boards(runtime=None, accepts_images=False)
    with pytest.raises(
        BoardError, match=r"still waiting for the boot loader to start the image after 0.2 s; the drive"
    ):
        flash(link_to(board), Uf2File.read(small_image(tmp_path, MICROPYTHON)), deadline)


def test_what_is_no_image_reaches_no_board(boards: Boards, deadline: Deadline, tmp_path: Path) -> None:
    board = boards()
    bad = tmp_path / "bad.uf2"
    bad.write_bytes(b"not a UF2")
    with pytest.raises(Uf2Error, match=r"bad.uf2: is not a UF2 file"):
        flash(link_to(board), Uf2File.read(bad), deadline)
    assert board.typed == b"" and board.flashed is None


def test_a_full_drive_is_named(
    boards: Boards, deadline: Deadline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(volume_module, "write_file", full)
    with pytest.raises(BoardError, match=r"does not take image.uf2: No space left on device"):
        flash(link_to(boards(runtime=None)), Uf2File.read(small_image(tmp_path, MICROPYTHON)), deadline)


def test_a_person_is_told_once_a_second(boards: Boards) -> None:
    left_s, asked, log, board = iter((5.4, 5.0, 4.5, 4.0, 3.5, 2.99, 2.9)), list[float](), list[str](), boards()

    class Clock:
        remaining = property(lambda _: next(left_s))

        def poll(self, look: Callable[[], object], poll_s: float, waiting_for: str) -> None:
            assert [look() for _ in range(5)] == [None] * 5
            board.press_bootsel()
            assert look() == board.devices()[0]
            raise DeadlineExceeded(f"waited for {waiting_for}")

    link = replace(link_to(board, log), ask_bootsel=asked.append)
    says = "waited for fake board in its boot loader; tried: a, b; hold BOOTSEL while plugging the board in, then run"
    with pytest.raises(DeadlineExceeded, match=rf"^{says} again$"):
        flash_module._by_person(link, Clock(), ["a", "b"])  # type: ignore[arg-type]
    assert asked == [5.0, 4.0, 2.99] and log == ["fake board: hold BOOTSEL while plugging it in, within 5 s"]


def test_a_hand_on_the_power_comes_before_a_person(boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_REPL_S", "_TOUCH_S"):
        monkeypatch.setattr(f"portbench.boards.usb.flash.{name}", 0.1)
    board, log = boards(deaf_to=1_000_000), list[str]()

    class Hand:
        def cycle(self, deadline: Deadline, *, bootsel: bool = False, measured: bool = False) -> None:
            assert bootsel and not measured
            board.press_bootsel()

    assert enter_bootloader(link_to(board, log, power=Hand()), Deadline(10, "test")).pid == 3
    assert log[-1] == "boot loader: by power"


@pytest.mark.parametrize("takes", [True, False])
def test_an_interrupted_copy_ends_with_the_image_on_the_board(
    takes: bool, boards: Boards, deadline: Deadline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flash_module, "_INTERRUPTED_S", 30 if takes else 0.1)

    def interrupted(path: Path, content: bytes, *_: object) -> None:
        path.write_bytes(content)
        raise KeyboardInterrupt

    monkeypatch.setattr(flash_module, "write_until_gone", interrupted)
    board = boards(runtime=None, accepts_images=takes)
    with pytest.raises(KeyboardInterrupt):
        flash(link_to(board), Uf2File.read(small_image(tmp_path, MICROPYTHON)), deadline)
    assert (board.devices()[0].pid, board.flashed is not None) == ((5, True) if takes else (3, False))


@pytest.mark.parametrize("text", ["Board-ID: RPI-RP2350\n", "Board-ID: FEATHER\n"])
def test_another_chips_drive_is_not_written_to(boards: Boards, deadline: Deadline, text: str, tmp_path: Path) -> None:
    board = boards(runtime=None)
    (board.volume / "INFO_UF2.TXT").write_text(text)
    with pytest.raises(BoardError, match=r"not RPI-RP2; not written to"):
        flash(link_to(board), Uf2File.read(small_image(tmp_path, MICROPYTHON)), deadline)
    assert [path.name for path in board.volume.iterdir()] == ["INFO_UF2.TXT"]


def test_a_drive_that_vanishes_under_the_copy_is_no_fault(tmp_path: Path, deadline: Deadline) -> None:
    write_until_gone(tmp_path / "gone" / "firmware.uf2", b"x", deadline, "it")


def test_a_copy_that_fails_on_a_drive_that_stays_is_one(tmp_path: Path, deadline: Deadline) -> None:
    (tmp_path / "INFO_UF2.TXT").write_text("Board-ID: RPI-RP2\n")
    (tmp_path / "firmware.uf2").mkdir()
    with pytest.raises(IsADirectoryError):
        write_until_gone(tmp_path / "firmware.uf2", b"x", deadline, "it")


def test_a_stuck_drive_ends_at_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr("os.fsync", lambda fd: release.wait(10))
    with pytest.raises(DeadlineExceeded, match="still waiting for board to take it"):
        write_file(tmp_path / "a", b"x", Deadline(0.1, "test"), "board to take it")
    (stuck,) = (each for each in threading.enumerate() if each.name == "board to take it")
    assert stuck.daemon  # it does not keep the process
    release.set()


def program(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a program in front of the search path."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_picotool_programs_where_it_is_installed(
    boards: Boards, deadline: Deadline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = boards(runtime=None)
    image = small_image(tmp_path, MICROPYTHON)
    script = f'echo "$@" > {tmp_path}/called; cp "$4" {board.volume}/firmware.uf2'
    program(tmp_path, "picotool", script, monkeypatch)
    log = list[str]()
    flash(link_to(board, log), Uf2File.read(image), deadline)
    assert log == ["flash: image.uf2 by picotool"]
    assert (tmp_path / "called").read_text() == f"load --verify --execute {image} --bus 1 --address 1\n"
    assert board.flashed == image.read_bytes()


def test_picotool_without_rights_leaves_it_to_the_drive(
    boards: Boards, deadline: Deadline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "picotool", "echo ERROR: no access >&2; exit 1", monkeypatch)
    board = boards(runtime=None)
    log: list[str] = []
    flash(link_to(board, log), Uf2File.read(small_image(tmp_path, MICROPYTHON)), deadline)
    assert "flash: picotool: ERROR: no access; using the drive instead" in log
    assert board.flashed is not None


def test_picotool_is_asked_for_no_emulated_board_and_for_none_without_an_address(
    boards: Boards, deadline: Deadline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "picotool", f"touch {tmp_path}/called", monkeypatch)
    board = boards(runtime=None)
    (device,) = board.devices()
    for each in (replace(device, emulated=True), replace(device, enumeration=None)):
        assert not flash_module._flash_by_picotool(link_to(board), each, tmp_path / "image.uf2", deadline)
        link = link_to(board)
        link.target = Target(SimpleNamespace(devices=lambda each=each: [each]), lambda devices: devices[0])
        assert flash_module._by_picotool(link, deadline) is None
    assert not (tmp_path / "called").exists()


class Unmounted:
    """The drive is there, but not mounted yet."""

    def __init__(self, board: FakeBoard, marker: Path) -> None:
        self.board = board
        self.marker = marker

    def devices(self) -> list[UsbDevice]:
        found = self.board.devices()
        if self.marker.exists():
            return found
        return [replace(device, volume=None, block_device="/dev/sdz1") for device in found]


def test_a_drive_that_no_desktop_mounts_is_mounted(
    boards: Boards, deadline: Deadline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "mounted"
    program(tmp_path, "udisksctl", f'echo "$@" > {marker}', monkeypatch)
    board = boards(runtime=None)
    link = link_to(board)
    link.target = Target(Unmounted(board, marker), lambda devices: devices[0])
    looks = iter(range(3))
    link.watch = lambda: next(looks)  # type: ignore[assignment, return-value]
    monkeypatch.setattr(volume_module, "_DESKTOP_S", 60)
    with pytest.raises(StopIteration):
        wait_volume(link, "bootloader", deadline)
    assert not marker.exists()  # a desktop has the first try
    link.watch = None
    monkeypatch.setattr(volume_module, "_DESKTOP_S", 0.05)
    assert wait_volume(link, "bootloader", deadline) == board.volume
    assert marker.read_text() == "mount --no-user-interaction --block-device /dev/sdz1\n"


def test_a_drive_that_cannot_be_mounted_says_why(
    boards: Boards, deadline: Deadline, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(volume_module, "_DESKTOP_S", 0.05)
    monkeypatch.setattr("shutil.which", lambda name: None)
    board = boards(runtime=None)
    link = link_to(board)
    link.target = Target(Unmounted(board, tmp_path / "never"), lambda devices: devices[0])
    says = "/dev/sdz1 is not mounted and udisksctl is not installed; install udisks2 or mount it"
    with pytest.raises(BoardUnavailable, match=says):
        wait_volume(link, "bootloader", deadline)
