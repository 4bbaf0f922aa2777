"""The PC's client against CPython's ssl as the server, faults of pages, figures, and rows."""

import ssl
from pathlib import Path

import pytest

from portbench.certificates import DATE_S, chain, root, server_name
from portbench.server.recording import Recording
from portbench.server.simulated_pc import SimulatedPc, part_in
from portbench.server.tls.channel import Channel
from portbench.server.tls.openssl import OpensslPeer
from portbench.server.tls.peer import TlsPeer
from portbench.workloads import BadResult, ConversationError, Session, workload
from portbench.workloads.https_server.workload import GetsPage, Settings
from portbench.workloads.transfer import block
from tests.server.tls.test_peer import seeded

SERVER = workload("https_server")
PAGE = b"HTTP/1.0 200 OK\r\nContent-Length: 300\r\n\r\n" + block(300)


class Board:
    """A server by CPython's ssl, on the other end of a recorded connection."""

    def __init__(self, recording: Recording, folder: Path) -> None:
        files = SERVER.files("circuitpython", Settings())
        for name, content in files.items():
            (folder / name).write_bytes(content)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(folder / "server.pem", folder / "server.key")
        self.recording = recording
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_side=True)

    def serve(self, page: bytes) -> bytes:
        """The PC's request, which this server answers by `page`."""
        self._in.write(self.recording.established(1000.0))
        for now_us in (2000.0, 3000.0, 4000.0):
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                self._in.write(self.recording.receive(self._out.read(), now_us))
        self._in.write(self.recording.receive(self._out.read(), 5000.0))
        request = self.tls.read(1000)
        self.tls.write(page)
        self._in.write(self.recording.receive(self._out.read(), 9000.0))
        return request


@pytest.fixture(params=["rustls", "openssl"])
def peer(request: pytest.FixtureRequest) -> TlsPeer:
    return seeded() if request.param == "rustls" else OpensslPeer()


def recorded(peer: TlsPeer) -> Recording:
    server = (server_name("ecdsa-p256"), root("ecdsa-p256"))
    return Recording(0, "board", 0.0, GetsPage(300), channel=Channel(peer, lambda _: DATE_S, server))


def test_the_pc_shakes_hands_checks_the_certificate_and_takes_the_page(peer: TlsPeer, tmp_path: Path) -> None:
    recording = recorded(peer)
    request = Board(recording, tmp_path).serve(PAGE)
    assert request.startswith(b"GET / HTTP/1.1\r\n") and recording.finished and recording.error is None
    session = recording.session()
    assert session.handshake is not None and session.exchanges == 1
    assert session.handshake.when("ClientHello", "pc") == 1000.0
    figures = SERVER.check({"served": 1}, Settings(connections=1, page_bytes=300), [session]).figures
    assert (figures["page_ms"], figures["handshake_ms"]) == (8.0, 4.0)
    assert figures["handshake_out_bytes"] > len(chain("ecdsa-p256").certificates[0])
    (span,) = SERVER.timed({"served": 1}, [session])
    assert (span.name, span.start_us, span.duration_us) == ("handshake", 1000.0, 4000.0)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n", "status 404"),
        (PAGE[:-1] + b"x", "is not that of 300"),
        (b"nonsense\r\n\r\n", "the board's answer is wrong"),
    ],
)
def test_a_wrong_page_is_told(said: bytes, told: str) -> None:
    page = GetsPage(300)
    page.opened()
    with pytest.raises(ConversationError, match=told):
        page.receive(said)


def test_a_page_that_ends_early_is_told() -> None:
    page = GetsPage(300)
    page.opened()
    page.receive(PAGE[:-100])
    with pytest.raises(ConversationError, match="after 200 of 300 bytes"):
        page.eof()


def test_a_board_that_served_fewer_pages_has_no_figures() -> None:
    with pytest.raises(BadResult, match="sent 1 pages and the PC has 0, not 2"):
        SERVER.check({"served": 1}, Settings(), [])


def test_microcontrollers_get_the_key_in_the_form_of_their_port() -> None:
    assert SERVER.files("micropython", Settings())["server.key"] == chain("ecdsa-p256").key
    assert b"BEGIN PRIVATE KEY" in SERVER.files("circuitpython", Settings())["server.key"]


def test_sessions_without_tls_are_no_pages() -> None:
    plain = Session(0, "", 0.0, 9e6, 1, 10, None, established_us=1.0)
    with pytest.raises(BadResult):
        SERVER.check({"served": 1}, Settings(connections=1), [plain])


@pytest.mark.engine
def test_a_board_may_compute_its_handshake_without_a_look_at_its_network() -> None:
    """10 s without an SPI frame are a hang elsewhere; micropython-1.28.0 takes 26.6 s with an RSA-4096 key."""

    class Lan:
        def listen(self, port: int, app: object) -> None: ...

    part = part_in("https_server", {"key": "rsa-4096"})
    assert SimulatedPc(Lan(), None, 200.0, part).pause_us == 30e6  # type: ignore[arg-type]
