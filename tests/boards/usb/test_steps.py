"""Single steps with a board: into its boot loader, onto its drive, and what each says where it fails."""

import errno
import io
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, call

import pytest

from portbench.boards import BoardUnavailable, Deadline, DeadlineExceeded
from portbench.boards.usb import files as files_module
from portbench.boards.usb import flash as flash_module
from portbench.boards.usb import link as link_module
from portbench.boards.usb import port as port_module
from portbench.boards.usb import volume as volume_module
from portbench.boards.usb.bus import Target, UsbDevice
from portbench.boards.usb.files import _reason
from portbench.boards.usb.flash import enter_bootloader
from portbench.boards.usb.port import SerialWire
from portbench.boards.usb.volume import VolumeInfo, check_own, wait_volume
from portbench.errors import BoardError
from tests.boards.usb.conftest import DEFINITION, link_to
from tests.boards.usb.fake_board import FakeBoard

Boards = Callable[..., FakeBoard]
ENDED = subprocess.CompletedProcess


@pytest.mark.parametrize("works", [True, False])
def test_picotool_finds_the_board_by_its_serial_number(
    boards: Boards, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    for name in ("_REPL_S", "_TOUCH_S"):
        monkeypatch.setattr(flash_module, name, 0.05)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    board, log, called = boards(deaf_to=1_000_000), list[str](), list[list[str]]()

    def program(command: list[str], deadline: Deadline, waiting_for: str) -> ENDED[str]:
        called.append(command)
        assert 0 < deadline.remaining <= 10 and waiting_for == "picotool"
        if works:
            board.press_bootsel()
        return ENDED(command, int(not works), "no  board", "")

    monkeypatch.setattr(flash_module, "run_program", program)
    link = link_to(board, log)
    if works:
        assert enter_bootloader(link, Deadline(10, "test")).pid == 3
        assert log[-1] == "boot loader: by picotool" and link.ask_bootsel is None
    else:
        with pytest.raises(DeadlineExceeded, match="tried: REPL, 1200-baud touch, picotool, power; hold"):
            enter_bootloader(link, Deadline(0.5, "test"))
        assert "boot loader: picotool: picotool: no board" in log
        link.ask_bootsel = lambda left_s: board.press_bootsel()
        assert enter_bootloader(link, Deadline(30, "test")).pid == 3
    assert called == [["/bin/picotool", "reboot", "-f", "-u", "--ser", "E6605838833A552C"]] * (1 if works else 2)


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EROFS, "/drive is read-only: its file system is damaged or boot.py took it; reset the board"),
        (errno.ENOSPC, "/drive is full at lib/a.py; remove files from it"),
        (errno.EIO, "lib/a.py cannot be written to /drive: Input/output error"),
    ],
)
def test_why_a_drive_does_not_take_a_file(number: int, says: str) -> None:
    assert _reason(OSError(number, os.strerror(number)), Path("/drive"), "lib/a.py") == says


@pytest.mark.parametrize(("kind", "drive"), [("bootloader", "boot loader's"), ("circuitpython", "CIRCUITPY")])
def test_the_drive_that_is_waited_for_is_named(boards: Boards, kind: Any, drive: str) -> None:
    board = boards(runtime=None if kind == "bootloader" else "circuitpython")
    for folder in (board.volume, board.root):  # a drive that does not say yet what it is
        for path in folder.glob("*.[Tt]*"):
            path.unlink()
    with pytest.raises(DeadlineExceeded, match=rf"^t: still waiting for fake board to show its {drive} drive after"):
        wait_volume(link_to(board), kind, Deadline(0.05, "t"))


def test_a_drive_is_the_boards_own_by_kind_id_and_serial_number(boards: Boards) -> None:
    link = link_to(boards())
    right = VolumeInfo("circuitpython", DEFINITION.circuitpython_id or "", "9", uid="e6605838833a552c")
    loader = VolumeInfo("bootloader", DEFINITION.volumes.bootloader_board_id, "2")

    def says(info: VolumeInfo, kind: Any) -> str:
        try:
            check_own(info, kind, link, Path("/drive"))
        except BoardError as error:
            return str(error)
        return ""

    other = replace(right, uid="AB")
    assert [says(right, "circuitpython"), says(loader, "bootloader"), says(other, "circuitpython")] == [""] * 3
    link.device()  # its serial number is known from here on
    assert [says(right, "circuitpython"), says(replace(right, uid=""), "circuitpython")] == ["", ""]
    assert says(other, "circuitpython") == ("fake board: /drive is of board AB, not E6605838833A552C; not written to")
    assert says(right, "bootloader").startswith(f"fake board: /drive says it is {right.board_id} (circuitpython), not")
    link.target.known = replace(link.target.known or UsbDevice(), serial_number=None)
    assert says(other, "circuitpython") == ""
    for wrong in (loader, replace(right, board_id="x"), replace(right, kind="bootloader")):
        assert says(wrong, "circuitpython").endswith(f", not {right.board_id}; not written to")


def test_a_port_is_waited_for_outside_the_boot_loader_and_after_the_last_enumeration(
    boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: Any = Mock(return_value=SimpleNamespace(port="x"))
    monkeypatch.setattr(link_module, "open_port", opened)
    (device,) = boards().devices()
    loader, last = replace(device, pid=3, enumeration="1:8"), replace(device, enumeration="1:9")
    unknown = replace(last, enumeration=None)
    looks = iter([device, None, loader, replace(last, port=None), last, unknown, unknown, device, last])
    target = Target(SimpleNamespace(devices=lambda: [each for each in (next(looks),) if each]), lambda found: device)
    link = replace(link_to(boards()), target=target)
    link.watch = Mock()
    link.device()
    deadline = Deadline(20, "t")
    afters = (device, device, replace(device, enumeration=None))
    assert [link.wait_port(deadline, after) for after in afters] == [last, unknown, unknown]
    link.open_repl(deadline, device, keep_input=True)
    told = {"provider_pid": last.provider_pid, "keep_input": True}
    assert link.watch.call_count == 9 and opened.mock_calls == [call(last.port, link.name, deadline, **told)]


@pytest.mark.parametrize(
    ("status", "said", "refused"), [(0, "", False), (1, "Error:  AlreadyMounted", False), (1, "not  you", True)]
)
def test_a_drive_that_no_desktop_mounts(status: int, said: str, refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def program(command: list[str], *_: object) -> ENDED[str]:
        commands.append(command)
        return ENDED(command, status, "", said)

    monkeypatch.setattr(volume_module, "run_program", program)
    monkeypatch.setattr("shutil.which", lambda name: name)
    try:
        volume_module._mount("/dev/sdx", "a board", Deadline(1, "t"))
    except BoardUnavailable as error:
        assert refused and str(error) == "a board: /dev/sdx cannot be mounted: not you"
    else:
        assert not refused
    assert commands == [["udisksctl", "mount", "--no-user-interaction", "--block-device", "/dev/sdx"]]


def test_reading_ends_with_silence_or_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, waits = [0.0], list[float]()

    def some(wait_s: float) -> bytes:
        waits.append(wait_s)
        now_s[0] += 0.5
        return b"" if len(waits) == 3 else b"a"

    monkeypatch.setattr(port_module, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    port: Any = SimpleNamespace(port="x")
    wire = SerialWire(port, "board")
    monkeypatch.setattr(wire, "read_some", some)
    assert wire.read_until_quiet(0.2, 2.0) == b"aa" and waits == [0.2] * 3
    assert wire.read_until_quiet(0.3, 2.0) == b"aaaa" and waits[3:] == [0.3] * 4


@pytest.mark.parametrize(
    ("waiting", "wait_s", "reads"),
    [
        ([0, 2], 9.0, [(1, port_module._LOOK_S), (2, 0)]),
        ([0, 0], 0.01, [(1, 0.01)]),
        ([3], 9.0, [(3, 0)]),
        ([0], 0.0, []),
    ],
)
def test_a_port_is_asked_for_what_has_come_and_waited_for_one_byte_alone(
    waiting: list[int], wait_s: float, reads: list[tuple[int, float]]
) -> None:
    found: list[tuple[int, float]] = []
    left = iter(waiting)

    class Port:
        port = "x"
        timeout = -1.0
        in_waiting = property(lambda self: next(left))

        def read(self, size: int) -> bytes:
            found.append((size, self.timeout))
            return b"x" * size

    wire = SerialWire(Port(), "board")  # type: ignore[arg-type]
    assert wire.read_some(wait_s) == b"x" * sum(size for size, _ in reads) and found == reads


@pytest.mark.parametrize(
    ("status", "out", "err", "says"),
    [
        (0, "Connected\n", "", None),
        (0, "Unable to create a\n", "", None),
        (0, "Connected\n", " Unable to open b \n", "Unable to open b"),
        (1, "\nhello\nmore\n", "", "hello"),
        (2, "", "", "no message"),
    ],
)
def test_what_rshell_says_is_told(
    status: int, out: str, err: str, says: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_module, "run_program", lambda command, *_: ENDED(command, status, out, err))
    told = None
    try:
        files_module.copy_with_rshell("/dev/x", "b", {"main.py": b""}, Deadline(1, "t"))
    except BoardError as error:
        told = str(error)
    assert told == (says and f"b: rshell (status {status}): {says}")


def test_a_drive_that_takes_a_few_bytes_at_a_time_gets_all(tmp_path: Path) -> None:
    class Slow(io.FileIO):
        def write(self, data: Any) -> int:
            return super().write(data[:3])

    path: Any = SimpleNamespace(open=lambda *_, **__: Slow(tmp_path / "a", "wb"))
    volume_module.write_file(path, bytes(range(200)) * 500, Deadline(30, "t"), "it")
    assert (tmp_path / "a").read_bytes() == bytes(range(200)) * 500
    opened = list(Path("/proc/self/fd").iterdir())
    for folder in (tmp_path, tmp_path / "gone"):
        volume_module.sync_folder(folder)
    assert list(Path("/proc/self/fd").iterdir()) == opened
