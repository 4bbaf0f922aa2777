"""Both TLS peers beside CPython's ssl: identities, versions, refusals, resumption, bytes that repeat."""

import gc
import os
import random
import ssl

import pytest

from portbench.certificates import DATE_S, DOMAIN, FOLDER, KEY_KINDS, KeyKind, blocks, chain, root, server_name
from portbench.server.tls.handshake import Messages
from portbench.server.tls.openssl import OpensslPeer
from portbench.server.tls.openssl import peer as shared_peer
from portbench.server.tls.peer import TlsFault, TlsPeer
from tests.conftest import NO_ENGINE
from tests.server.tls.clients import Meeting, client_context

KIND: KeyKind = "ecdsa-p256"


def seeded(seed: int = 1) -> TlsPeer:
    pytest.importorskip("portbench_engine", reason=NO_ENGINE)
    from portbench.server.tls.seeded import SeededPeer

    return SeededPeer(seed)


@pytest.fixture(params=["rustls", "openssl"])
def peer(request: pytest.FixtureRequest) -> TlsPeer:
    return seeded() if request.param == "rustls" else OpensslPeer()


def met(
    peer: TlsPeer, name: str, kind: KeyKind | None = KIND, version: str = "", context: ssl.SSLContext | None = None
) -> Meeting:
    meeting = Meeting(context or client_context(kind, version), peer.accept(), name)
    meeting.shake()
    return meeting


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("kind", KEY_KINDS)
def test_a_client_verifies_each_certificate_and_exchanges_bytes(peer: TlsPeer, kind: KeyKind, version: str) -> None:
    meeting = met(peer, server_name(kind, version=version), kind, version)
    assert (meeting.fault, meeting.refusal) == (None, None)
    assert meeting.server.version == meeting.tls.version() == f"TLSv{version}"
    assert meeting.server.server_name == server_name(kind, version=version)
    assert (meeting.server.cipher_suite or "").startswith("TLS_")
    if version == "1.2":
        assert kind.partition("-")[0].upper() in (meeting.server.cipher_suite or "")
    else:
        suites = {f"TLS_{each}" for each in ("AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305_SHA256")}
        assert meeting.server.cipher_suite in suites
    meeting.write(b"up" * 30_000)
    assert meeting.heard == b"up" * 30_000
    meeting.hear(meeting.server.send(b"down" * 30_000))
    assert meeting.read(120_000) == b"down" * 30_000
    meeting.hear(meeting.server.close())
    assert meeting.tls.read(1) == b""
    meeting.tls.unwrap()
    assert meeting.server.receive(meeting._out.read(), DATE_S)[::2] == (b"", True)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_chain_has_as_many_certificates_as_the_name_says(peer: TlsPeer, length: int) -> None:
    meeting = met(peer, server_name(KIND, length, "1.2"))
    assert (meeting.fault, meeting.refusal) == (None, None)
    assert all(each in meeting.down for each in chain(KIND, length).certificates)
    assert sum(meeting.down.count(each) for each in chain(KIND, 3).certificates[1:]) == length - 1


def test_a_client_that_asks_for_no_name_gets_the_first_identity(peer: TlsPeer) -> None:
    meeting = met(peer, "", None, "1.2")
    assert meeting.server.server_name is None
    assert chain(KIND).certificates[0] in meeting.down
    assert met(peer, "", None, "1.3").server.version == "TLSv1.3"


def test_in_another_domain_a_server_shows_the_same_certificate_and_is_refused(peer: TlsPeer) -> None:
    elsewhere = server_name(KIND, 2, "1.2").replace(DOMAIN, "elsewhere.test")
    meeting = met(peer, elsewhere)
    assert "Hostname mismatch" in str(meeting.refusal)
    assert all(each in meeting.down for each in chain(KIND, 2).certificates)


@pytest.mark.parametrize(
    ("fault", "told"), [("expired", "certificate has expired"), ("wrong-name", "Hostname mismatch")]
)
def test_a_client_refuses_a_bad_certificate_and_the_peer_tells_its_alert(peer: TlsPeer, fault: str, told: str) -> None:
    meeting = met(peer, server_name(KIND, version="1.2", fault=fault))
    assert told in str(meeting.refusal)
    assert meeting.fault is not None
    assert "certificate" in str(meeting.fault).lower() and "alert" in str(meeting.fault).lower()


def test_a_client_without_the_root_refuses(peer: TlsPeer) -> None:
    meeting = met(peer, server_name(KIND), "rsa-2048")
    assert "unable to get local issuer certificate" in str(meeting.refusal)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_a_server_that_asks_for_a_certificate_refuses_a_client_without_one(peer: TlsPeer, version: str) -> None:
    meeting = met(peer, server_name(KIND, version=version, fault="asks"), version=version)
    meeting.exchange()
    assert meeting.fault is not None
    with pytest.raises(ssl.SSLError, match=r"(?i)alert"):
        meeting.tls.read(1)
        raise AssertionError("the client has heard no alert")


def test_a_server_that_asks_for_a_certificate_takes_a_client_with_one(
    peer: TlsPeer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = chain(KIND, 1, "client")
    file = tmp_path_factory.mktemp("client") / "client.pem"
    key = ssl.DER_cert_to_PEM_cert(found.key).replace("CERTIFICATE", "PRIVATE KEY")
    file.write_text(ssl.DER_cert_to_PEM_cert(found.certificates[0]) + key)
    context = client_context(KIND)
    context.load_cert_chain(file)
    meeting = met(peer, server_name(KIND, fault="asks"), context=context)
    meeting.write(b"known")
    assert (meeting.fault, meeting.refusal, bytes(meeting.heard)) == (None, None, b"known")


def test_versions_that_do_not_meet_are_told_by_an_alert(peer: TlsPeer) -> None:
    meeting = met(peer, server_name(KIND, version="1.3"), version="1.2")
    assert meeting.fault is not None
    assert "protocol version" in str(meeting.refusal) or meeting.fault.answer[-1] == 70  # protocol_version


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_a_session_is_resumed(peer: TlsPeer, version: str) -> None:
    context = client_context(KIND)
    name = server_name(KIND, version=version)
    first = met(peer, name, context=context)
    first.write(b"1")
    first.hear(first.server.send(b"2"))
    assert first.read(1) == b"2"  # TLS 1.3 tells its tickets after the handshake
    second = Meeting(context, peer.accept(), name, first.tls.session)
    second.shake()
    assert not first.server.resumed
    assert second.server.resumed and second.tls.session_reused
    assert len(second.down) < len(first.down)


def test_bytes_cut_anywhere_give_the_same(peer: TlsPeer) -> None:
    meeting = Meeting(client_context(KIND), peer.accept(), server_name(KIND), cut=1)
    meeting.shake()
    meeting.write(b"cut")
    assert (meeting.fault, meeting.refusal, bytes(meeting.heard)) == (None, None, b"cut")


def test_what_is_no_tls_is_refused_and_further_bytes_too(peer: TlsPeer) -> None:
    connection = peer.accept()
    with pytest.raises(TlsFault, match=r"^(http request|received corrupt message of type InvalidContentType)$"):
        connection.receive(b"GET / HTTP/1.1\r\nHost: board\r\n\r\n" * 20, DATE_S)
    with pytest.raises(TlsFault):
        connection.receive(b"\x16\x03\x01\x00\x05hello", DATE_S)


def test_a_client_was_asked_for_no_name() -> None:
    assert OpensslPeer().connect(server_name(KIND), root(KIND)).server_name is None


def test_connections_leave_no_context_behind() -> None:
    """One for each took 104 KB of memory that was never freed."""

    def contexts() -> list[ssl.SSLContext]:
        gc.collect()
        return [each for each in gc.get_objects() if isinstance(each, ssl.SSLContext)]

    peer = OpensslPeer()
    met(peer, server_name(KIND))
    before = contexts()
    for _ in range(3):
        met(peer, server_name(KIND))
    # Contexts of other tests are in `before`, and may be gone.
    assert [each for each in contexts() if not any(each is known for known in before)] == []


@pytest.mark.parametrize("kind", KEY_KINDS)
def test_the_peers_meet_each_other_and_the_seeded_one_repeats_its_bytes(kind: KeyKind) -> None:
    """OpenSSL draws random numbers, so the seeded peer is on both sides."""

    def run(seed: int = 1) -> list[bytes]:
        server, client = seeded(seed).accept(), seeded(2).connect(server_name(kind), root(kind))
        sent, shaking = [client.send(b"early")], list[bool]()
        for _ in range(4):
            _, answer, _ = server.receive(sent[-1], DATE_S)
            shaking.append(server.handshaking)
            _, answered, _ = client.receive(answer, DATE_S)
            sent += [answer, answered]
        assert shaking == [True, False, False, False] and not client.handshaking
        return sent

    if kind == KIND:
        assert run() == run() != run(3) and shared_peer() is shared_peer()
    for calls in (seeded(2), OpensslPeer()):
        server, client = OpensslPeer().accept(), calls.connect(server_name(kind), root(kind))
        said, heard = client.send(b"early"), b""
        for _ in range(4):
            plaintext, answer, _ = server.receive(said, DATE_S)
            assert (server.version is None) is (server.cipher_suite is None) is server.handshaking
            heard += plaintext
            said = client.receive(answer, DATE_S)[1]
        assert heard == b"early"
        for version in ("1.2", "1.3"):
            limited = calls.connect(server_name(kind), root(kind), version=version)
            limited.receive(OpensslPeer().accept().receive(limited.send(b""), DATE_S)[1], DATE_S)
            assert limited.version in (f"TLSv{version}", None)
        server, client = OpensslPeer().accept(), calls.connect("elsewhere.test", root(kind))
        with pytest.raises(TlsFault, match=r"(?i)cert|name"):
            client.receive(server.receive(client.send(b""), DATE_S)[1], DATE_S)


# ssl decodes a name beyond ASCII where no caller can catch its complaint.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
def test_hostile_records_end_the_connection_or_wait_for_more(peer: TlsPeer) -> None:
    """PORTBENCH_TLS_FUZZ_RECORDS=1000000 by hand."""
    count = int(os.environ.get("PORTBENCH_TLS_FUZZ_RECORDS", "400"))
    draw = random.Random(int(os.environ.get("PORTBENCH_TLS_FUZZ_SEED", "1")))
    good = Meeting(client_context(KIND, "1.2"), peer.accept(), server_name(KIND, version="1.2"))
    good.shake()
    whole = bytes(good.up)
    messages = Messages()
    tried = refused = 0
    while tried < count:
        connection, told = peer.accept(), 0
        hostile = bytearray(whole[: draw.randrange(1, len(whole))])
        for _ in range(draw.randrange(4)):
            place = draw.randrange(len(hostile) + 1)
            hostile[place : place + draw.randrange(3)] = draw.randbytes(draw.randrange(3))
        hostile += draw.choice([20, 21, 22, 23, draw.randrange(256)]).to_bytes() + b"\x03\x03"
        hostile += draw.choice([0, 1, 64, 300, 65535]).to_bytes(2) + draw.randbytes(draw.randrange(400))
        try:
            while hostile:
                step = draw.randrange(1, 700)
                _, answer, _ = connection.receive(bytes(hostile[:step]), DATE_S)
                del hostile[:step]
                told += len(answer)
        except TlsFault as fault:
            told += len(fault.answer)
            refused += 1
            assert "\n" not in str(fault) and str(fault)
            with pytest.raises(TlsFault):
                connection.receive(b"\x16\x03\x03\x00\x01\x00", DATE_S)
        assert told < 10_000
        messages.receive(whole[: draw.randrange(len(whole))])
        tried += 1
    print(f"{type(peer).__name__}: {tried} hostile records, {refused} refused, the others wait for more")


@pytest.mark.parametrize("kind", KEY_KINDS)
def test_the_script_makes_the_same_again(kind: KeyKind) -> None:
    pytest.importorskip("cryptography", reason="needs cryptography: pip install cryptography")
    from portbench.certificates.make import made

    assert made(kind, blocks(kind)) == (FOLDER / f"{kind}.pem").read_text(encoding="ascii")
