"""A `requests` session that reaches the board that tests get."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.firmware import uf2
from portbench.testing import Board, NothingCame
from portbench.testing.http import BoardSession
from tests.conftest import Image

pytestmark = pytest.mark.engine
SERVER = Path(__file__).parents[1] / "boards" / "desk" / "forward" / "server" / "native.uf2"
ECHO = """
import network, socket
nic = network.WIZNET5K()
nic.active(True)
nic.ifconfig("dhcp")
listener = socket.socket()
listener.bind(("", 80))
listener.listen(1)
while True:
    client, _ = listener.accept()
    asked = client.recv(1024)
    while b"asked" not in asked:
        asked += client.recv(1024)
    client.send(b"HTTP/1.1 201 Created\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
    client.send(b"%x\\r\\n%s\\r\\n0\\r\\n\\r\\n" % (len(asked), asked))
    client.close()
"""


def test_a_page_of_the_board_is_a_response(emulated_board: Board) -> None:
    emulated_board.flash(SERVER)
    answer = emulated_board.http.get("/")
    assert (answer.status_code, answer.reason, len(answer.content)) == (200, "OK", 137)
    assert answer.ok and answer.headers["content-type"] == "text/html" and "<h1>portbench</h1>" in answer.text
    assert answer.content == emulated_board.http.get(f"http://{emulated_board.address}:80/").content


def test_what_is_no_http_fails_with_what_came(emulated_board: Board) -> None:
    emulated_board.flash(SERVER)
    emulated_board.http.get("/")
    with pytest.raises(NothingCame, match=r"(?s):19: the answer is not HTTP.*the connection's last lines"):
        emulated_board.http.get(f"http://{emulated_board.address}:19/")
    with pytest.raises(NothingCame, match=r"bytes, or its end did not come within 0\.2 s"):
        emulated_board.http.get(f"http://{emulated_board.address}:9/", timeout=0.2)
    with pytest.raises(NothingCame, match=r":81: refused for 0\.2 s"):
        emulated_board.http.get(f"http://{emulated_board.address}:81/", timeout=0.2)


def test_a_body_goes_out_and_chunks_come_back(emulated_board: Board, image: Image) -> None:
    emulated_board.flash(image("micropython-1.26.0"))
    emulated_board.copy({"main.py": ECHO})
    emulated_board.power_cycle()
    answer = emulated_board.http.post("/there?x=1", data="asked", headers={"X-Test": "yes"}, timeout=30)
    assert answer.status_code == 201
    head, _, body = answer.text.partition("\r\n\r\n")
    assert head.startswith("POST /there?x=1 HTTP/1.1\r\n") and "X-Test: yes" in head and "Connection: close" in head
    assert body == "asked"


class _Connection:
    """Gives `answer` in `pieces`, and then its end."""

    def __init__(self, answer: bytes, cuts: list[int]) -> None:
        edges = [0, *sorted(min(cut, len(answer)) for cut in cuts), len(answer)]
        self._pieces = [answer[a:b] for a, b in pairwise(edges) if b > a]
        self.sent = b""

    def send(self, data: bytes) -> None:
        self.sent += data

    def receive(self, within_s: float) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""

    def close(self) -> None:
        pass

    def report(self) -> str:
        return "nothing more"


@given(st.binary(max_size=300), st.lists(st.integers(0, 400), max_size=8), st.booleans())
def test_an_answer_may_come_in_any_pieces(content: bytes, cuts: list[int], counted: bool) -> None:
    length = f"Content-Length: {len(content)}\r\n" if counted else ""
    connection = _Connection(f"HTTP/1.1 200 OK\r\n{length}\r\n".encode() + content, cuts)
    answer = BoardSession(lambda port, host, within_s: connection).get("/")  # type: ignore[arg-type,return-value]
    assert answer.content == content and connection.sent.startswith(b"GET / HTTP/1.1\r\n")


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=4))
def test_any_other_bytes_fail_as_one_error(noise: bytes, cuts: list[int]) -> None:
    connection = _Connection(noise, cuts)
    session = BoardSession(lambda port, host, within_s: connection)  # type: ignore[arg-type,return-value]
    with pytest.raises(NothingCame):
        session.get("/")


def test_a_failed_wait_is_told_without_our_own_frames(make_emulated_board: Callable[..., Board]) -> None:
    board = make_emulated_board("RPI_PICO")
    board.flash(uf2.build(b"\xff" * 256))
    with pytest.raises(NothingCame) as failed:
        board.expect("never", within_s=0.01)
    shown = failed.traceback.filter(failed)
    assert [entry.path.name for entry in shown] == [Path(__file__).name]
