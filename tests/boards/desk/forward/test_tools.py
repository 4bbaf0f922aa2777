"""The tools that people have, against servers on an emulated board."""

import re
import shutil
import socket
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from portbench.boards import Deadline
from tests.boards.desk.forward.conftest import DISCARD, ECHO, HTTP, LIMIT_S, PAGE, STREAM, Serve, Served

pytestmark = [pytest.mark.engine, pytest.mark.slow]

RULES = (f"tcp:0:{HTTP}", f"tcp:0:{ECHO}", f"tcp:0:{DISCARD}", f"tcp:0:{STREAM}", f"udp:0:{ECHO}", "tcp:0:81")


@pytest.fixture(scope="module")
def board(serve: Serve) -> Served:
    return serve(*RULES)


def run(*command: str, says: bytes = b"") -> str:
    if shutil.which(command[0]) is None:
        pytest.skip(
            f"{command[0]} is not installed; install what the tests want with: sudo .ci/install-system-packages"
        )
    done = subprocess.run(command, input=says, capture_output=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), LIMIT_S)
    connection.settimeout(LIMIT_S)
    return connection


def all_of(connection: socket.socket) -> bytes:
    data = b""
    while part := connection.recv(65536):
        data += part
    return data


def first_of(port: int) -> bytes:
    """Return a server's first bytes; nothing if it refuses."""
    try:
        with connected(port) as connection:
            return connection.recv(1)
    except ConnectionError:
        return b""


def test_curl_gets_the_page(board: Served) -> None:
    assert run(*"curl http://127.0.0.1:8080/".replace("8080", str(board.tcp(HTTP))).split()).encode() == PAGE


@pytest.mark.parametrize("words", [["-n", "1000", "-c", "1"], ["-n", "100", "-c", "2"], ["-n", "200", "-c", "1", "-k"]])
def test_ab_completes_all_and_none_fails(board: Served, words: list[str]) -> None:
    before = board.call("forwards")["forwards"][0]
    said = run("ab", "-q", *words, f"http://127.0.0.1:{board.tcp(HTTP)}/")
    figures = dict(re.findall(r"^([A-Z][\w ()-]+):\s+(\d+)", said, re.MULTILINE))
    requests = int(words[1])
    assert (int(figures["Complete requests"]), int(figures["Failed requests"])) == (requests, 0), said
    assert int(figures["HTML transferred"]) == requests * len(PAGE) and int(figures["Document Length"]) == len(PAGE)
    if "-k" in words:
        assert int(figures["Keep-Alive requests"]) == requests
    after = board.call("forwards")["forwards"][0]
    connections = after["connections"] - before["connections"]
    assert connections == 1 if "-k" in words else connections >= requests


def test_nc_sends_ends_its_half_and_gets_all_of_it_back(board: Served) -> None:
    text = b"".join(b"%d\n" % number for number in range(5000))
    assert run("nc", "-N", "127.0.0.1", str(board.tcp(ECHO)), says=text).encode() == text


def test_a_browser_shows_the_page(board: Served, tmp_path: Path) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("chromium is not installed; install it with: sudo apt-get install chromium")
    page = f"http://127.0.0.1:{board.tcp(HTTP)}/"
    shown = run("chromium", "--headless", "--no-sandbox", f"--user-data-dir={tmp_path}", "--dump-dom", page)
    assert "".join(shown.split()) == "".join(PAGE.decode().split()), shown


def test_iperf_sends_for_a_while(board: Served) -> None:
    said = run("iperf", "-c", "127.0.0.1", "-p", str(board.tcp(DISCARD)), "-n", "200K")
    assert re.search(r"\b200 KBytes\b", said), said


def test_an_endless_stream_waits_for_its_reader(board: Served) -> None:
    with connected(board.tcp(STREAM)) as connection:
        data = b""
        while len(data) < 20_000:
            data += connection.recv(1024)
        lines = bytes(ord(" ") + index % 64 for index in range(len(data)))
        assert data == lines
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    Deadline(LIMIT_S, "test").poll(lambda: first_of(board.tcp(STREAM)) == b" ", 0.01, "its only socket to listen again")


def test_datagrams_come_back_to_whom_they_are_from(board: Served) -> None:
    programs = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3)]
    for index, program in enumerate(programs):
        program.settimeout(LIMIT_S)
        program.sendto(bytes([index]) * (1 + 700 * index), ("127.0.0.1", board.udp(ECHO)))
        assert program.recv(2000) == bytes([index]) * (1 + 700 * index)
        program.close()


def test_a_port_that_the_board_refuses_is_a_reset(board: Served) -> None:
    with (
        pytest.raises(ConnectionResetError),
        connected(board.tcp(81)) as connection,
    ):  # which may be reset before it is had
        connection.recv(1)


def test_more_connections_at_once_than_the_board_has_sockets(board: Served) -> None:
    """Four are served; a fifth is refused, as by the chip, and none waits for ever."""

    def ask(_: int) -> bytes:
        try:
            with connected(board.tcp(HTTP)) as connection:
                connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
                return all_of(connection).partition(b"\r\n\r\n")[2]
        except ConnectionError:
            return b""

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(ask, range(36)))
    assert set(answers) <= {PAGE, b""} and PAGE in answers
    # The board may still close the last ones' sockets.
    Deadline(LIMIT_S, "test").poll(lambda: ask(0) == PAGE, 0.01, "a free socket")


def test_rules_come_and_go_and_outlive_the_power(board: Served) -> None:
    added = board.call("forward", rule=f"tcp:0:{HTTP}")
    assert added["host"] == "127.0.0.1" and added["host_port"] > 0
    with connected(added["host_port"]) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n")

        def is_carried() -> bool:
            rules = board.call("forwards")["forwards"]
            return any(each["host_port"] == added["host_port"] and each["connections"] for each in rules)

        Deadline(LIMIT_S, "test").poll(is_carried, 0.01, "the board to have the connection")
        board.call("power_cycle")
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    said = run("curl", "--silent", "--fail", f"http://127.0.0.1:{added['host_port']}/")
    assert said.encode() == PAGE
    board.call("end_forward", protocol="tcp", host_port=added["host_port"])
    with pytest.raises(ConnectionRefusedError):
        connected(added["host_port"])
