"""Opening ports alone, and waits on them that end."""

import contextlib
import errno
import itertools
import os
import queue
import select
import socket
import subprocess
import sys
import tty
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock, call

import pytest
import serial

from portbench.boards import BoardError, BoardUnavailable, ConsoleLost, Deadline, DeadlineExceeded
from portbench.boards.usb import port as port_module
from portbench.boards.usb.port import (
    PortLost,
    Rfc2217Port,
    SerialWire,
    SocketPort,
    holders,
    open_port,
    permission_fix,
    remote_port,
)


@pytest.fixture
def terminal() -> Iterator[tuple[int, str]]:
    """A pseudo-terminal: the far end, and the path of the near one."""
    master, slave = os.openpty()
    tty.setraw(slave)
    yield master, os.ttyname(slave)
    for fd in (master, slave):
        with contextlib.suppress(OSError):
            os.close(fd)


def opened(path: str) -> serial.Serial:
    return open_port(path, "board", Deadline(5, "test"), settle_s=0.01)


def test_a_second_opening_is_refused(terminal: tuple[int, str]) -> None:
    first = opened(terminal[1])
    with pytest.raises(BoardUnavailable, match=r"board: /dev/\S+ is in use by another program; close it"):
        opened(terminal[1])
    first.close()
    opened(terminal[1]).close()


def test_a_port_that_a_program_holds_without_locking_is_left_alone(terminal: tuple[int, str]) -> None:
    code = (
        f"import os, sys; os.open({terminal[1]!r}, os.O_RDWR | os.O_NOCTTY)\n"
        "print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None and program.stdout.readline() == "open\n"
        assert program.pid in [pid for pid, _ in holders(terminal[1])]
        with pytest.raises(BoardUnavailable, match=rf"is in use by python\S* \(process {program.pid}\); close it"):
            opened(terminal[1])
        with pytest.raises(BoardUnavailable, match=rf"\(process {program.pid}\); close it"):
            open_port(terminal[1], "board", Deadline(5, "t"), provider_pid=1, settle_s=0.01)
        port = open_port(terminal[1], "board", Deadline(5, "t"), provider_pid=program.pid)
        port.close()
        program.communicate("")


def test_no_port_says_so() -> None:
    with pytest.raises(BoardUnavailable, match="/dev/ttyACM99 is not there; plug the board in"):
        opened("/dev/ttyACM99")


def test_no_permission_names_the_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refused(url: str, keep_input: bool) -> serial.Serial:
        raise serial.SerialException(errno.EACCES, "could not open port")

    monkeypatch.setattr(port_module, "_open", refused)
    node = tmp_path / "ttyACM0"
    node.touch()
    with pytest.raises(
        BoardUnavailable, match=r"no permission to open \S+; join its group .*or copy docs/60-portbench.rules"
    ):
        opened(str(node))
    rule = "copy docs/60-portbench.rules to /etc/udev/rules.d and plug the board in again"
    join = f"join its group (sudo usermod -aG {node.group()} $USER, then log in again)"
    assert [permission_fix(each) for each in ("/dev/gone", str(node))] == [rule, f"{join} or {rule}"]
    monkeypatch.setattr("grp.getgrgid", Mock(side_effect=KeyError("a group without a name")))
    assert permission_fix(str(node)) == rule
    monkeypatch.setattr(sys, "platform", "darwin")
    assert permission_fix(str(node)) == "close other programs that use it"


def test_a_new_port_is_tried_until_it_has_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, port = [0.0], Mock()
    opens = Mock(
        side_effect=[serial.SerialException(errno.EACCES, "x"), serial.SerialException(errno.EBUSY, "x"), port]
    )
    monkeypatch.setattr(port_module, "_open", opens)
    deadline = Deadline(9, "t", clock=lambda: now_s[0], sleep=lambda seconds: now_s.append(now_s.pop() + seconds))
    assert open_port("x", "board", deadline, keep_input=True) is port and now_s == [0.2]
    assert opens.mock_calls == [call("x", True)] * 3
    opens.side_effect = serial.SerialException(errno.EBUSY, "x")
    with pytest.raises(BoardUnavailable, match=r"^board: x is in use by another program; close it$"):
        open_port("x", "board", deadline)
    assert now_s == [pytest.approx(5.2)]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        *((OSError(code, "x"), "is in use by another program; close it") for code in (errno.EAGAIN, errno.EBUSY)),
        (serial.SerialException("Could not exclusively lock port x"), "is in use by another program; close it"),
        *((OSError(c, "x"), "is not there; plug the board in") for c in (errno.ENOENT, errno.ENODEV, errno.ENXIO)),
        (ValueError("odd"), "cannot be opened: odd"),
    ],
)
def test_why_a_port_cannot_be_opened(error: Exception, says: str) -> None:
    assert str(port_module._explain("COM3", "b", error)) == f"b: COM3 {says}"
    for code in (errno.EACCES, errno.EPERM):
        refused = port_module._explain("COM3", "b", serial.SerialException(code, "x"))
        assert str(refused).startswith("b: no permission to open COM3; ")


def test_bytes_of_a_network_port_are_read_to_the_last_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = cast(SocketPort, remote_port(f"socket://127.0.0.1:{listener.getsockname()[1]}", 115200))
        with pytest.raises(serial.PortNotOpenError):
            _ = near.in_waiting
        near.open()
        far, _ = listener.accept()
        assert near.in_waiting == 0
        with far:
            far.sendall(b"abc")
            Deadline(20, "test").poll(lambda: near.in_waiting == 3, 0.001, "three bytes")
            assert near.read(3) == b"abc"
        with pytest.raises(serial.SerialException, match="the server closed the connection"):
            Deadline(20, "test").poll(lambda: near.in_waiting > 0, 0.001, "the end")
        near.close()
    far_port = Rfc2217Port()
    with pytest.raises(serial.PortNotOpenError):
        far_port.read(1)
    far_port.is_open, far_port._read_buffer = True, queue.Queue()
    for each in (b"a", b"b", b"c", None):
        far_port._read_buffer.put(each)
    far_port.timeout = 20
    assert (far_port.read(2), far_port.read(2), far_port.timeout, far_port.write_timeout) == (b"ab", b"c", 20, None)
    for _ in range(2):  # its last word stays
        with pytest.raises(serial.SerialException, match="the server closed the connection"):
            far_port.read(1)
    far_port._read_buffer.get()
    far_port.timeout = 0
    assert far_port.read(1) == b""
    far_port.is_open = False
    for url, full in (("rfc2217://x:1", "?ign_set_control"), ("rfc2217://x:1?logging=debug", "&ign_set_control")):
        assert remote_port(url, 9600).port == url + full and remote_port(url + full, 9600).port == url + full
    with pytest.raises(ValueError, match=r"^http://x:1 is neither rfc2217:// nor socket://$"):
        remote_port("http://x:1", 9600)


def test_output_from_before_the_opening_can_be_kept(terminal: tuple[int, str]) -> None:
    os.write(terminal[0], b"early")
    port = open_port(terminal[1], "board", Deadline(5, "t"))
    assert (port.in_waiting, port.baudrate, port.timeout) == (0, 115200, 0)
    port.close()
    os.write(terminal[0], b"early")
    port = open_port(terminal[1], "board", Deadline(5, "t"), keep_input=True)
    wire = SerialWire(port, "board")
    wire.until(Deadline(5, "test"), "it")
    assert wire.read(5) == b"early" and wire.write(b"xyz") == 3 and os.read(terminal[0], 9) == b"xyz"
    wire.close()


def test_reading_waits_until_the_deadline_and_says_for_what(terminal: tuple[int, str]) -> None:
    wire = SerialWire(opened(terminal[1]), "board")
    wire.until(Deadline(0.1, "row 1"), "a prompt")
    os.write(terminal[0], b"ab")
    with pytest.raises(DeadlineExceeded, match=r"row 1: still waiting for a prompt after 0.1 s"):
        wire.read(3)
    wire.until(Deadline(1, "row 1"), "a prompt")
    assert wire.read(2) == b"ab"
    wire.close()


def test_a_port_that_goes_away_is_a_lost_console(terminal: tuple[int, str]) -> None:
    wire = SerialWire(opened(terminal[1]), "board")
    wire.until(Deadline(5, "test"), "a prompt")
    os.close(terminal[0])
    with pytest.raises(ConsoleLost, match="board: its console went away while waiting for a prompt"):
        wire.read(1)
    wire.close()


def test_writing_to_a_board_that_takes_nothing_ends(terminal: tuple[int, str]) -> None:
    wire = SerialWire(opened(terminal[1]), "board")
    wire.until(Deadline(0.2, "test"), "it")
    with pytest.raises(DeadlineExceeded, match="board to take the typed bytes"):
        wire.write(b"x" * 1_000_000)
    # Its time is up between two looks at the clock.
    times = itertools.chain([0.0, 0.5], itertools.repeat(2.0))
    wire.until(Deadline(1, "test", clock=lambda: next(times)), "it")
    with pytest.raises(DeadlineExceeded, match="board to take the typed bytes"):
        wire.write(b"x" * 1_000_000)
    wire.close()


def test_the_watcher_is_asked_while_waiting(terminal: tuple[int, str]) -> None:
    def watch() -> None:
        raise BoardError("the board stands still")

    wire = SerialWire(opened(terminal[1]), "board", watch)
    wire.until(Deadline(5, "test"), "it")
    for read in (lambda: wire.read(1), lambda: wire.read_some(0.01)):
        with pytest.raises(BoardError, match="stands still"):
            read()
    wire.close()


def test_a_port_that_only_reads_as_silent_once_it_has_gone() -> None:
    near, far = os.pipe()
    silent: Any = SimpleNamespace(port="x", fd=near, in_waiting=0, read=lambda size: b"")
    wire = SerialWire(silent, "board")
    wire.until(Deadline(5, "test"), "a prompt")
    assert (wire.read_some(0.01), wire.inWaiting()) == (b"", 0)
    os.close(far)
    for look in (wire.inWaiting, lambda: wire.read_some(0.01)):
        with pytest.raises(PortLost, match=r"^board: its console went away while .* a prompt: the port has hung up$"):
            look()
    os.close(near)


@pytest.mark.skipif(not hasattr(select, "poll"), reason="a system without poll")
@pytest.mark.parametrize("name", ["POLLIN", "POLLHUP", "POLLERR", "POLLNVAL"])
def test_a_port_that_poll_says_is_gone_has_hung_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    poll = Mock()
    poll.poll.return_value = [(7, getattr(select, name) | select.POLLIN)]
    monkeypatch.setattr(select, "poll", lambda: poll)
    wire = SerialWire(cast(Any, SimpleNamespace(port="x", fd=7)), "board")
    with contextlib.nullcontext() if name == "POLLIN" else pytest.raises(OSError, match=r"^the port has hung up$"):
        wire._notice_hangup()
    assert poll.mock_calls == [call.register(7, select.POLLIN), call.poll(0)]
