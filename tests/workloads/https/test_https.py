"""The PC's pages, and rows of the workload https."""

import ssl
from unittest.mock import Mock

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.certificates import server_name
from portbench.server.simulated_pc import SimulatedPc, part_in
from portbench.workloads import BadResult, ConversationError, Session, workload
from tests.server.tls.clients import client_context

HTTPS = workload("https")
SETTINGS = HTTPS.settings_type.model_validate({"pages": "1024,2000"})
SAID = {"pages": [[1024, 900_000, 800_000], [2000, 950_000, 850_000]]}


def asked(data: bytes, cut: int = 1 << 20) -> tuple[bytes, int, bool]:
    """Answer, exchanges, and whether the PC closes."""
    pages, answer = HTTPS.conversation(1000), b""
    for start in range(0, len(data), cut):
        answer += pages.receive(data[start : start + cut])
    pages.eof()
    return answer, pages.exchanges, pages.finished


def get(path: str, *lines: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: a", *lines, "", ""]).encode()


@given(sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=3), cut=st.integers(1, 200))
def test_kept_connections_serve_each_page_however_it_is_cut(sizes: list[int], cut: int) -> None:
    answer, exchanges, finished = asked(b"".join(get(f"/{size}") for size in sizes), cut)
    assert exchanges == len(sizes) and not finished
    client = h11.Connection(h11.CLIENT)
    client.receive_data(answer)
    for size in sizes:
        client.send(h11.Request(method="GET", target="/", headers=[("Host", "a")]))
        client.send(h11.EndOfMessage())
        body = b""
        while not isinstance(event := client.next_event(), h11.EndOfMessage):
            body += bytes(event.data) if isinstance(event, h11.Data) else b""
        assert body == (bytes(range(256)) * 20)[:size]
        client.start_next_cycle()


def test_the_pc_closes_where_the_board_asks_for_it() -> None:
    answer, exchanges, finished = asked(get("/5", "Connection: close"))
    assert answer.endswith(b"\r\n\r\n\x00\x01\x02\x03\x04") and (exchanges, finished) == (1, True)


@pytest.mark.parametrize(
    "data", [get("/x"), get("/0"), get("/9999999"), b"POST /5 HTTP/1.1\r\nHost: a\r\n\r\n", b"\0\r\n\r\n"]
)
def test_other_requests_are_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(ConversationError) as refused:
        asked(data)
    assert "\n" not in str(refused.value)


def test_a_row_has_the_first_and_the_second_time_of_each_page() -> None:
    figures = HTTPS.check(SAID, SETTINGS).figures
    assert (figures["first_ms"], figures["again_ms"], figures["page_2000_again_us"]) == (900, 800, 850_000)
    with pytest.raises(BadResult, match="fetched pages of"):
        HTTPS.check({"pages": SAID["pages"][:1]}, SETTINGS)


def served(**fields: object) -> Session:
    tls = {"version": "TLSv1.2", "cipher_suite": "TLS", "server_name": "rsa-2048-chain1.portbench.test"}
    messages = [["board", "ClientHello", 200, 3e3], ["board", "ClientKeyExchange", 70, 9e5]]
    messages += [["board", "Finished", 40, 9.1e5], ["pc", "Finished", 40, 9.1e5]]
    tls |= {"resumed": False, "board_bytes": 300, "pc_bytes": 900, "messages": messages}
    made: dict[str, object] = {"number": 0, "peer": "", "started_us": 0.0, "ended_us": 1.2e6, "exchanges": 1}
    made |= {"received_bytes": 0, "error": None, "established_us": 1e3, "received_us": [9.2e5], "tls": tls}
    return Session(**made | fields)  # type: ignore[arg-type]


def test_a_foreign_images_page_ends_when_it_closes() -> None:
    settings = HTTPS.settings_type.model_validate({"key": "rsa-2048"})
    figures = HTTPS.measure_session(served(), settings).figures
    assert (figures["first_ms"], figures["handshake_ms"]) == (1199, 909)
    assert figures["certificate_and_key_exchange_us"] == 897_000
    assert HTTPS.foreign_exchanges(settings) == 1 and HTTPS.exchanges(settings) == 4
    with pytest.raises(BadResult, match="asked for rsa-2048-chain1"):
        HTTPS.measure_session(served(), SETTINGS)
    with pytest.raises(BadResult, match=r"asked for a page by http$"):
        HTTPS.measure_session(served(tls=None), SETTINGS)
    with pytest.raises(BadResult, match="did not close"):
        HTTPS.measure_session(served(ended_us=None), settings)


def test_an_attribution_is_of_the_handshakes_and_without_tls_of_the_pages() -> None:
    shaken = HTTPS.timed(SAID, [served(), served(established_us=2e3)])
    assert [(each.name, each.start_us, each.duration_us) for each in shaken] == [
        ("handshake", 1e3, 909_000),
        ("handshake", 2e3, 908_000),
    ]
    plain = HTTPS.timed(SAID, [served(tls=None)])
    assert [(each.name, each.duration_us, each.exchange) for each in plain][:2] == [
        ("page", 900_000, 0),
        ("page", 800_000, 1),
    ]


@pytest.mark.engine
def test_a_board_whose_handshake_never_ends_is_told() -> None:
    """A hardwired build of WIZnet's loses what follows its ClientKeyExchange while that is not acknowledged."""
    pc = SimulatedPc(Mock(), 5000, 200.0, part_in("https", {}))
    came, said = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context("ecdsa-p256", "1.2").wrap_bio(came, said, server_hostname=server_name("ecdsa-p256"))
    pc._server.accept(1, "10.0.0.2:4000", 100.0)
    for at_us in (200.0, 300.0):
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        flight = said.read()
        record = flight[: 5 + int.from_bytes(flight[3:5], "big")]
        came.write(pc._server.receive(1, record, at_us)[0])
    assert pc.given_up(300.0 + 29e6) is None
    assert pc.given_up(300.0 + 30e6) == (
        "the board's TLS does not end its handshake: after its ClientKeyExchange nothing came of it for 30 s of"
        " simulated time"
    )


def test_what_if_tries_the_other_keys_and_no_tls() -> None:
    assert list(HTTPS.alternatives(SETTINGS)) == ["key_rsa-2048", "key_rsa-4096", "key_ecdsa-p384", "http"]
    assert HTTPS.alternatives(HTTPS.settings_type.model_validate({"scheme": "http"})) == {}
