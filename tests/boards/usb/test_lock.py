"""One process per board, and no lock that outlives its process."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import platformdirs
import pytest

from portbench.boards import BoardUnavailable
from portbench.boards.usb.bus import UsbDevice
from portbench.boards.usb.link import LOCK_DIR_VARIABLE, BoardLock, lock_dir, lock_path

DEVICE = UsbDevice(serial_number="E66A", location="1-1.2", port="/dev/ttyACM0")


def test_a_board_is_locked_once() -> None:
    lock = BoardLock(DEVICE, "board")
    with pytest.raises(BoardUnavailable, match=f"board: in use by another portbench .process {os.getpid()}."):
        BoardLock(DEVICE, "board")
    owner = lock_path(DEVICE).with_suffix(".pid")
    owner.write_text("\n")
    with pytest.raises(BoardUnavailable, match=r"\(process unknown\)$"):
        BoardLock(DEVICE, "board")
    lock.release()
    assert not owner.exists()
    again = BoardLock(DEVICE, "board")
    lock.release()
    assert owner.exists()
    again.release()


def test_the_lock_is_the_same_in_the_boot_loader_and_another_boards_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    port = UsbDevice(port="/dev/ttyACM0")
    devices = (DEVICE, UsbDevice(location="1-1.2"), replace(DEVICE, location=None), port, UsbDevice("E0C9125B0D9B"))
    names = ["1-1.2", "1-1.2", "E66A", "dev_ttyACM0", "board"]
    assert [lock_path(each) for each in devices] == [lock_dir() / f"{name}.lock" for name in names]
    desk = UsbDevice(location="emulated:/tmp/a:b/desk")
    assert lock_path(replace(desk, emulated=True)) == Path("/tmp/a:b/desk/in-use.lock") != lock_path(desk)
    monkeypatch.delenv(LOCK_DIR_VARIABLE)
    assert lock_dir() == Path(platformdirs.user_cache_dir("portbench"), "locks")


def test_a_killed_process_leaves_no_lock() -> None:
    code = (
        "import sys; from portbench.boards.usb.bus import UsbDevice; from portbench.boards.usb.link import BoardLock\n"
        "lock = BoardLock(UsbDevice(location='1-1.2'), 'board'); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None and program.stdout.readline() == "held\n"
        with pytest.raises(BoardUnavailable, match=f"process {program.pid}"):
            BoardLock(DEVICE, "board")
        program.send_signal(signal.SIGKILL)
        program.wait(10)
    BoardLock(DEVICE, "board").release()
