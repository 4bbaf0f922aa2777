"""The process of an emulated board, as a person or a program starts it: who ends it, and what it leaves."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import Client
from pathlib import Path

import psutil
import pytest

from portbench.boards import Deadline
from portbench.boards.desk import operations
from portbench.boards.desk.control import ControlClient, Watch
from portbench.boards.desk.operations import OPERATIONS
from portbench.boards.registry import CONTROL_SOCKET, read_state
from portbench.errors import BoardError, DeadlineExceeded
from tests import patience

pytestmark = pytest.mark.engine
LIMIT_S = 60
BOARD = [sys.executable, "-m", "portbench.boards.desk"]
START_AND_END = """
import json, subprocess, sys
child = subprocess.Popen(json.loads(sys.argv[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
sys.stdin.readline()
"""
"""A parent that starts a board and ends when it is told to."""
ARGUMENTS = re.findall(r'arguments(?:\.get\(|\[)"(\w+)"', Path(operations.__file__).read_text(encoding="utf-8"))


def started(folder: Path) -> None:
    Deadline(LIMIT_S, "test").poll(lambda: read_state(folder), 0.01, f"{folder} to be a board")


def goes_on(folder: Path) -> None:
    """It has simulated on, and looked again whether to end, between two answers."""
    client, deadline = ControlClient(folder, "desk"), Deadline(LIMIT_S, "test")
    times_us = [client.call("status", deadline)["time_us"] for _ in range(5)]
    client.close()
    assert times_us == sorted(times_us) and times_us[0] < times_us[-1]


def parent_of(*arguments: str, wrapper: tuple[str, ...] = ()) -> tuple[subprocess.Popen[str], psutil.Process]:
    """A process, and the board that it has started."""
    command = [sys.executable, "-c", START_AND_END, json.dumps([*wrapper, *BOARD, *arguments])]
    parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    return parent, psutil.Process(int(parent.stdout.readline()))


@pytest.mark.parametrize("wrapper", [(), ("nohup",), ("setsid",)])
def test_a_board_outlives_whoever_started_it(wrapper: tuple[str, ...], root: Path) -> None:
    parent, board = parent_of("--name", "desk", "--log", os.devnull, wrapper=wrapper)
    try:
        started(root / "desk")
        parent.communicate("")
        goes_on(root / "desk")
    finally:
        board.terminate()
        board.wait(LIMIT_S)
    assert list(root.iterdir()) == []


def test_a_board_ends_with_the_process_it_was_started_for(root: Path) -> None:
    """Which need not be its parent, and may have ended without a word."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as owner:
        board = subprocess.Popen([*BOARD, "--name", "desk", "--log", os.devnull, "--end-with", str(owner.pid)])
        started(root / "desk")
        owner.kill()
        assert board.wait(LIMIT_S) == 0  # before its status is asked for
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_board_that_is_ended_twice_leaves_nothing(number: signal.Signals, root: Path) -> None:
    board = subprocess.Popen([*BOARD, "--name", "desk", "--log", os.devnull], stderr=subprocess.PIPE, text=True)
    started(root / "desk")
    for _ in range(3):
        board.send_signal(number)
    _, said = patience.communicate(board, LIMIT_S)
    assert board.returncode == (130 if number == signal.SIGINT else 0)
    # It may end before it says where it is.
    assert said in ("", f"desk: {root}/desk\n") and list(root.iterdir()) == []


def test_a_board_stays_when_nobody_reads_its_log(root: Path) -> None:
    read, write = os.pipe()
    board = subprocess.Popen([*BOARD, "--name", "desk"], stderr=write)
    os.close(write)
    os.close(read)
    try:
        started(root / "desk")
        goes_on(root / "desk")
    finally:
        board.terminate()
        assert board.wait(LIMIT_S) == 0


@pytest.fixture
def orphan(root: Path) -> Iterator[psutil.Process]:
    """A board whose parent has ended, as on a desk that another terminal started."""
    parent, board = parent_of("--name", "desk", "--log", os.devnull)
    try:
        started(root / "desk")
        parent.communicate("")
        yield board
    finally:
        board.resume()
        board.terminate()
        board.wait(LIMIT_S)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="Linux tells how long processes waited")
def test_a_board_that_has_no_processor_for_longer_than_the_deadline_answers_all_the_same(
    orphan: psutil.Process, root: Path
) -> None:
    client = ControlClient(root / "desk", "desk")
    goes_on = threading.Timer(3, orphan.resume)
    orphan.suspend()
    goes_on.start()
    try:
        assert client.call("status", Deadline(1, "test"))["time_us"] > 0
    finally:
        goes_on.join()
        client.close()


REQUESTS = [
    *(b"", b"5", b"[]", b"{}", b"[" * 100_000, b'{"op": ["a"]}', b'{"op": {}}'),
    *(
        json.dumps({"op": op, **dict.fromkeys(ARGUMENTS, value)}).encode()
        for op in sorted(OPERATIONS)
        for value in (None, -1, 1 << 70, 0.5, "x", "\0", [], [[]], {}, {"x": -1})
    ),
]


def test_no_request_ends_a_board(orphan: psutil.Process, root: Path) -> None:
    for request in REQUESTS:
        with Client(str(root / "desk" / CONTROL_SOCKET)) as connection, contextlib.suppress(EOFError):
            connection.send_bytes(request)
            assert connection.poll(LIMIT_S), request
            assert json.loads(connection.recv_bytes()) is not None
    goes_on(root / "desk")


def test_a_board_that_hangs_is_told_as_such(orphan: psutil.Process, root: Path) -> None:
    """It is not a DeadlineExceeded of the caller, who would name what it waits for."""
    client = ControlClient(root / "desk", "desk")
    watch = Watch(client, "desk", lambda: False, answer_s=0.05)
    orphan.suspend()
    with pytest.raises(BoardError, match=r"has not answered for 0\.05 s; it hangs") as told:
        watch()
    assert not isinstance(told.value, DeadlineExceeded)
    client.close()
