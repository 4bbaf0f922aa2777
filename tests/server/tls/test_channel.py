"""TLS in a recorded connection and in the server: plain clients, messages and their times, OpenSSL's own programs."""

import json
import socket
import ssl
import subprocess
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.certificates import DATE_S, KEY_KINDS, KeyKind, chain, root, server_name
from portbench.server.recording import Recording
from portbench.server.tcp import WorkloadServer
from portbench.server.tls.channel import Channel
from portbench.server.tls.handshake import Messages
from portbench.server.tls.openssl import OpensslPeer
from portbench.server.tls.peer import TlsPeer
from portbench.workloads import Session, workload
from tests.patience import run
from tests.server.test_recording import Loud
from tests.server.tls.clients import Meeting, client_context
from tests.server.tls.openssl import needs_openssl, pem, s_server
from tests.server.tls.test_peer import seeded

TLS = workload("tls")
KIND: KeyKind = "ecdsa-p256"
ASKED = b"down 1024 2048\n"


def recording(peer: TlsPeer) -> Recording:
    return Recording(0, "192.0.2.1:7", 10.0, TLS.conversation(1000), channel=Channel(peer, lambda us: DATE_S))


def test_a_plain_connection_passes_as_it_is() -> None:
    subject = recording(OpensslPeer())
    answer = subject.receive(ASKED, 20.0)
    assert answer == bytes(range(256)) * 8
    session = subject.session()
    assert session.ok and session.tls is None and session.handshake is None


def test_a_handshake_is_recorded_message_by_message() -> None:
    subject, client = (
        recording(OpensslPeer()),
        Meeting(client_context(KIND, "1.2"), OpensslPeer().accept(), server_name(KIND)),
    )
    now_us = 100.0
    for _ in range(3):
        try:
            client.tls.do_handshake()
        except ssl.SSLWantReadError:
            client.hear(subject.receive(client._out.read(), now_us))
            now_us += 100
    client.tls.write(ASKED)
    client.hear(subject.receive(client._out.read(), now_us))
    assert client.read(2048) == bytes(range(256)) * 8
    session = Session(**json.loads(json.dumps(asdict(subject.session()))))
    found = session.handshake
    assert found is not None and session.ok and session.exchanges == 1
    assert (found.version, found.server_name, found.resumed) == ("TLSv1.2", server_name(KIND), False)
    assert found.cipher_suite == "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    names = [(by, name) for by, name, _, _ in found.messages]
    flight = ["ServerHello", "Certificate", "ServerKeyExchange", "ServerHelloDone"]
    assert names[:5] == [("board", "ClientHello"), *(("pc", each) for each in flight)]
    assert names[5:8] == [("board", each) for each in ("ClientKeyExchange", "ChangeCipherSpec", "Finished")]
    assert names[-2:] == [("pc", "ChangeCipherSpec"), ("pc", "Finished")]
    assert found.when("ClientHello") == 100 and found.when("Finished", "pc") == 200
    assert found.when("CertificateRequest", "pc") is None
    assert found.pc_bytes > len(chain(KIND).certificates[0]) and found.board_bytes > 200


def test_a_fault_of_the_board_is_the_sessions_error_and_its_alert_the_answer() -> None:
    subject = recording(OpensslPeer())
    assert subject.receive(b"\x16\x03\x01\x00\x05hello", 20.0)[:1] == b"\x15"
    assert subject.session().error == "TLS: unexpected message"


@given(st.lists(st.integers(1, 120), max_size=6))
def test_messages_have_their_names_however_records_and_pieces_cut_them(cuts: list[int]) -> None:
    def record(kind: int, data: bytes) -> bytes:
        return bytes((kind, 3, 3)) + len(data).to_bytes(2) + data

    def message(kind: int, size: int) -> bytes:
        return bytes((kind,)) + size.to_bytes(3) + bytes(size)

    hello, stream = message(1, 30), record(22, message(2, 5) + message(11, 0) + message(99, 1))
    stream += record(22, hello[:3]) + record(22, hello[3:20]) + record(22, hello[20:])
    stream += record(20, b"\1") + record(21, b"ab") + record(22, bytes(40)) + record(77, b"") + record(23, bytes(9))
    subject, found = Messages(), list[tuple[str, int]]()
    for low, high in pairwise([0, *sorted(cuts), len(stream)]):
        found += subject.receive(stream[low:high])
    assert found == [
        *(("ServerHello", 9), ("Certificate", 4), ("message 99", 5), ("ClientHello", 34)),
        *(("ChangeCipherSpec", 1), ("Alert", 2), ("Finished", 40), ("record 77", 0), ("encrypted", 9)),
    ]


@pytest.fixture(params=["rustls", "openssl"])
def peer(request: pytest.FixtureRequest) -> TlsPeer:
    return seeded() if request.param == "rustls" else OpensslPeer()


def s_client(port: int, folder: Path, kind: KeyKind, *options: str) -> subprocess.CompletedProcess[str]:
    file = folder / "root.pem"
    file.write_text(pem(root(kind)))
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-CAfile", str(file), "-verify_return_error"]
    return run([*command, *options], 60, stdin=subprocess.DEVNULL)


@needs_openssl
@pytest.mark.slow
def test_s_client_agrees_on_each_version_and_cipher(peer: TlsPeer, tmp_path: Path) -> None:
    """The peer agrees on each modern one, and refuses old versions; testssl looks for the same."""
    with WorkloadServer(TLS, port=0, tls_peer=peer) as server:
        for kind in KEY_KINDS:
            name = ("-servername", server_name(kind))
            for version in ("1_2", "1_3"):
                done = s_client(server.port, tmp_path, kind, f"-tls{version}", *name)
                assert done.returncode == 0 and "Verify return code: 0 (ok)" in done.stdout, done.stderr
                assert "TLSv" + version.replace("_", ".") in done.stdout
        sign = {"rsa": ("-servername", server_name("rsa-2048")), "ecdsa": ("-servername", server_name(KIND))}
        for cipher in ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"):
            for each, name in sign.items():
                kind = "rsa-2048" if each == "rsa" else KIND
                wanted = f"ECDHE-{each.upper()}-{cipher}"
                done = s_client(server.port, tmp_path, kind, "-tls1_2", "-cipher", wanted, *name)
                assert done.returncode == 0 and wanted in done.stdout, (wanted, done.stderr)
        for old in ("-tls1", "-tls1_1"):
            assert s_client(server.port, tmp_path, KIND, old, "-cipher", "ALL:@SECLEVEL=0").returncode != 0
        assert s_client(server.port, tmp_path, "rsa-2048", *sign["ecdsa"]).returncode != 0  # another root


@needs_openssl
@pytest.mark.slow
def test_the_peers_client_meets_s_server(peer: TlsPeer, tmp_path: Path) -> None:
    heard = b""
    client = peer.connect(server_name(KIND), root(KIND))
    with s_server(tmp_path, KIND) as port, socket.create_connection(("127.0.0.1", port), timeout=120) as sock:
        sock.sendall(client.send(b"portbench\n"))
        while b"\n" not in heard:
            plaintext, answer, _ = client.receive(sock.recv(65536), DATE_S)
            heard += plaintext
            sock.sendall(answer)
    assert heard == b"hcnebtrop\n"
    assert client.version == "TLSv1.3"


class Shaking(Loud):
    """A peer whose handshake goes on, with these answers."""

    handshaking = True

    def __init__(self, *answers: bytes) -> None:
        super().__init__()
        self.answers = iter(answers)

    def receive(self, data: bytes, unix_s: int) -> tuple[bytes, bytes, bool]:
        return b"", next(self.answers), False


def test_each_side_has_its_own_records_and_messages() -> None:
    changed, hello = b"\x14\3\3\0\1\1", b"\x16\3\3\0\5\2\0\0\1x"
    channel = Channel(Shaking(hello[:7], hello[7:], changed), int)
    for now_us, data in enumerate((hello[:3], hello[3:] + changed, hello), 1):
        assert channel.receive(data, now_us)[0] == b""
    assert channel.messages == [
        *(("board", "ServerHello", 5, 2), ("board", "ChangeCipherSpec", 1, 2), ("pc", "ServerHello", 5, 2)),
        *(("board", "Finished", 5, 3), ("pc", "ChangeCipherSpec", 1, 3)),
    ]
    assert channel.handshake_bytes == {"board": 26, "pc": 16}
