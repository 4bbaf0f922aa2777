"""One process per board, and no lock that outlives its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from portbench.boards import BoardUnavailable
from portbench.boards.usb.bus import UsbDevice
from portbench.boards.usb.link import BoardLock, lock_name

DEVICE = UsbDevice(serial_number="E66A", location="1-1.2", port="/dev/ttyACM0")


def test_a_board_is_locked_once() -> None:
    lock = BoardLock(DEVICE, "board")
    with pytest.raises(BoardUnavailable, match=f"board: in use by another portbench .process {os.getpid()}."):
        BoardLock(DEVICE, "board")
    lock.release()
    lock.release()
    BoardLock(DEVICE, "board").release()


def test_the_lock_is_the_same_in_the_boot_loader_and_another_boards_is_not() -> None:
    assert lock_name(DEVICE) == lock_name(UsbDevice(location="1-1.2")) != lock_name(UsbDevice(location="1-1"))
    assert "/" not in lock_name(UsbDevice(port="/dev/ttyACM0"))


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
