"""A board of which only the console is here."""

import json
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import serial

from portbench.boards import BoardUnavailable, ConsoleLost, Deadline, Deployment, kinds
from portbench.boards.remote import remote_board
from portbench.boards.remote.remote_board import RemoteBoard
from portbench.boards.remote.serial_server import Protocol, SerialServer
from portbench.boards.usb.port import SerialWire, remote_port
from portbench.errors import BoardError
from portbench.firmware.identify import Uf2File
from portbench.runner.boards_for import open_board, where_for
from portbench.runner.options import read_options
from portbench.runner.plan import plan
from tests.boards.usb.conftest import CIRCUITPYTHON, DEFINITION, MICROPYTHON, small_image
from tests.boards.usb.fake_board import FakeBoard

pytestmark = pytest.mark.slow

Boards = Callable[..., FakeBoard]
Show = Callable[[str], None]
RESULT = {"messages": 2, "total_us": 10}
LINE = "PORTBENCH " + json.dumps(RESULT) + "\r\n"
FILES = {"main.py": b"print(1)\n", "lib/a/b.py": bytes(range(256)) * 3}
SCRIPT = Deployment(FILES, "micropython")


@contextmanager
def served(fake: FakeBoard, protocol: Protocol = "rfc2217") -> Iterator[SerialServer]:
    with SerialServer(lambda: fake.devices()[0], protocol=protocol) as server:
        yield server


@pytest.fixture(params=["rfc2217", "raw"])
def protocol(request: pytest.FixtureRequest) -> Protocol:
    chosen: Protocol = request.param
    return chosen


def test_files_and_runs_through_the_console(boards: Boards, deadline: Deadline, protocol: Protocol) -> None:
    fake = boards(on_boot=lambda show: (show("hello\r\n"), show(LINE)))
    printed: list[str] = []
    with served(fake, protocol) as server, RemoteBoard(DEFINITION, device=server.url) as board:
        assert board.where == "silicon" and server.url in board.name
        board.wait_console(deadline)
        assert board.identify(deadline).version == "1.26.0"
        board.deploy(SCRIPT, deadline)
        assert {name: (fake.root / name).read_bytes() for name in FILES} == FILES
        for number in (1, 2):
            assert board.run(deadline, printed.append).result == RESULT
            assert fake.boots == number
    assert "hello" in printed


def test_a_kind_of_board_is_added_by_the_one_file_that_the_page_shows(
    boards: Boards, deadline: Deadline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "adding-a-board.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"`lab\.py` in that folder.*?^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "lab.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    with served(boards(), "raw") as server:
        options = read_options({"device": f"lab:{server.port}", "runtime": "micropython-1.26.0"})
        row = plan(options)[0]
        where = where_for(row)
        unknown = kinds.Wanted(row.board, device="what", where="silicon")
        with pytest.raises(BoardUnavailable, match=r"is not one of auto, .*, labgrid:PLACE, lab:PORT$"):
            kinds.kind_of(unknown).open(unknown)
        with open_board(row, where, deadline, kinds.SILENT) as board:
            assert isinstance(board, RemoteBoard) and where == "silicon"
            assert board.identify(deadline).version == "1.26.0"
    sys.modules.pop("portbench.boards.kinds.lab")


def test_a_result_that_came_before_the_connection_is_asked_for(boards: Boards, deadline: Deadline) -> None:
    fake = boards(on_boot=lambda show: fake._globals.update(RESULT=RESULT))
    with served(fake) as server, RemoteBoard(DEFINITION, device=server.url) as board:
        board.deploy(SCRIPT, deadline)
        assert board.run(deadline).result == RESULT


def test_a_client_that_ends_without_a_result_is_told_at_once(boards: Boards, deadline: Deadline) -> None:
    fake = boards(on_boot=lambda show: show("MemoryError: no luck\r\n"))
    with served(fake) as server, RemoteBoard(DEFINITION, device=server.url) as board:
        board.deploy(SCRIPT, deadline)
        with pytest.raises(ConsoleLost, match="ended without a result line"):
            board.run(deadline)


def test_a_server_that_keeps_its_connections(
    boards: Boards, deadline: Deadline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bridge from a serial line to a network does so: it knows of no USB."""
    monkeypatch.setattr(remote_board, "_RESTART_S", 1.0)
    fake = boards(on_boot=lambda show: fake._globals.update(RESULT=RESULT))
    log: list[str] = []
    with bridge(fake) as url, RemoteBoard(DEFINITION, device=url, log=log.append) as board:
        board.deploy(SCRIPT, deadline)
        assert board.run(deadline).result == RESULT
    assert "restart: the server kept the connection" in log


@contextmanager
def bridge(fake: FakeBoard) -> Iterator[str]:
    """Relays to whatever port the board has, and never closes a connection by itself."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve() -> None:
        listener.settimeout(0.05)
        while not ended.is_set():
            try:
                client, _ = listener.accept()
            except TimeoutError:
                continue
            with client:
                relay(client)

    def relay(client: socket.socket) -> None:
        client.settimeout(0.01)
        path, port = None, None
        while not ended.is_set():
            if fake.port != path:
                path = fake.port
                port = serial.Serial(path, timeout=0) if path else None
            try:
                typed: bytes | None = client.recv(4096)
                if not typed:
                    break
            except TimeoutError:
                typed = None
            try:
                if port is not None and typed:
                    port.write(typed)
                printed = port.read(4096) if port is not None else b""
            except OSError:
                continue
            if printed:
                client.sendall(printed)
        if port is not None:
            port.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"socket://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        thread.join(5)
        listener.close()


def test_an_image_that_runs_already_counts_as_flashed(boards: Boards, deadline: Deadline, tmp_path: Path) -> None:
    log: list[str] = []
    with served(boards()) as server, RemoteBoard(DEFINITION, device=server.url, log=log.append) as board:
        board.flash(Uf2File.read(small_image(tmp_path, MICROPYTHON)), deadline)
    assert log == [
        "flash: nothing can be flashed through a console; it runs MicroPython v1.26.0 on 2025-08-09"
        " of image.uf2 already"
    ]


@pytest.mark.parametrize("content", [CIRCUITPYTHON, MICROPYTHON.replace(b"2025", b"2024"), b""])
def test_any_other_image_is_refused_with_both_names(
    boards: Boards, deadline: Deadline, tmp_path: Path, content: bytes
) -> None:
    says = "runs 'MicroPython v1.26.0 on 2025-08-09', which image.uf2 does not hold, and a console cannot flash it"
    with (
        served(boards()) as server,
        RemoteBoard(DEFINITION, device=server.url) as board,
        pytest.raises(BoardError, match=says),
    ):
        board.flash(Uf2File.read(small_image(tmp_path, content)), deadline)


@pytest.mark.parametrize(("family", "needs"), [("circuitpython", "its drive"), ("native", "its boot loader")])
def test_what_needs_more_than_a_console_is_refused(boards: Boards, deadline: Deadline, family: str, needs: str) -> None:
    with (
        served(boards()) as server,
        RemoteBoard(DEFINITION, device=server.url) as board,
        pytest.raises(BoardError, match=f"{family} needs {needs}, and only its console is here"),
    ):
        board.deploy(Deployment({}, family), deadline)


def test_rshell_is_refused(boards: Boards, deadline: Deadline) -> None:
    with (
        served(boards()) as server,
        RemoteBoard(DEFINITION, device=server.url, deployer="rshell") as board,
        pytest.raises(BoardUnavailable, match="rshell knows no network ports; use --deploy mpremote"),
    ):
        board.deploy(Deployment({"main.py": b"pass\n"}, "micropython"), deadline)


@pytest.mark.parametrize("scheme", ["rfc2217", "socket"])
def test_nobody_there_is_one_line(scheme: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    with (
        RemoteBoard(DEFINITION, device=f"{scheme}://127.0.0.1:{port}") as board,
        pytest.raises(BoardUnavailable, match=r"cannot be opened: Could not open port .*refused") as caught,
    ):
        board.wait_console(Deadline(1, "test"))
    assert "\n" not in str(caught.value)


def test_one_harness_per_remote_board(boards: Boards) -> None:
    with (
        served(boards()) as server,
        RemoteBoard(DEFINITION, device=server.url),
        pytest.raises(BoardUnavailable, match="in use by another portbench"),
    ):
        RemoteBoard(DEFINITION, device=server.url)


def test_what_a_server_sent_before_it_went_is_not_lost(deadline: Deadline) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _ = listener.accept()
        with client:
            client.sendall(b"last words")

    thread = threading.Thread(target=serve)
    thread.start()
    port = remote_port(f"socket://127.0.0.1:{listener.getsockname()[1]}", 115200)
    port.reset_input_buffer = lambda: None  # type: ignore[method-assign]
    port.open()
    thread.join(5)
    with closing(listener), closing(SerialWire(port, "test")) as wire:
        wire.until(deadline, "last words")
        assert wire.read(10) == b"last words"
        with pytest.raises(ConsoleLost, match="the server closed the connection"):
            wire.read(1)


def test_only_network_ports_are_remote() -> None:
    with pytest.raises(ValueError, match="neither rfc2217:// nor socket://"):
        remote_port("loop://", 115200)
