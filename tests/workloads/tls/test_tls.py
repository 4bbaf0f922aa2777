"""Rows of the workload tls on this PC and on emulated boards, and its figures."""

import pytest

from portbench.certificates import DATE_S, root
from portbench.results.model import Status
from portbench.workloads import BadResult, Session, workload
from tests.measuring import Measure

TLS = workload("tls")
SAID = {"tcp_us": 900, "handshake_us": 1_000_000, "heap_before_bytes": 1000, "heap_after_bytes": 23_000}
SAID |= {"up_us": 200_000, "down_us": 100_000, "cipher": "TLS"}
SETTINGS = TLS.settings_type.model_validate({"transfer_bytes": 3000})


def session(**fields: object) -> Session:
    made = {"number": 0, "peer": "", "started_us": 0.0, "ended_us": 9e6, "exchanges": 2, "received_bytes": 0}
    return Session(**{**made, "error": None, "established_us": 1000.0, **fields})  # type: ignore[arg-type]


HANDSHAKE = {
    "version": "TLSv1.2",
    "cipher_suite": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "server_name": "a",
    "resumed": False,
    "board_bytes": 300,
    "pc_bytes": 900,
    "messages": [
        ["board", "ClientHello", 200, 3000.0],
        ["pc", "ServerHello", 80, 3000.0],
        ["pc", "ServerHelloDone", 4, 3000.0],
        ["board", "ClientKeyExchange", 70, 903_000.0],
        ["board", "Finished", 40, 913_000.0],
        ["pc", "Finished", 40, 913_000.0],
    ],
}


def test_the_stages_go_from_one_arrival_to_the_next() -> None:
    figures = TLS.check(SAID, SETTINGS, [session(), session(tls=HANDSHAKE)]).figures
    assert figures["handshake_ms"] == 1000 and figures["heap_kept_bytes"] == 22_000
    stages = [figures[f"{name}_us"] for name in ("hello", "certificate_and_key_exchange", "finished")]
    assert stages == [2000, 900_000, 10_000] and "certificate_us" not in figures
    assert (figures["handshake_in_bytes"], figures["handshake_out_bytes"], figures["round_trips"]) == (900, 300, 2)
    assert figures["up_kbit_s"] == 2048 * 8000 / 200_000  # whole writes of 1024


def test_a_refused_name_tells_the_certificate_from_the_key_exchange() -> None:
    messages = [["board", "ClientHello", 200, 5e6], ["pc", "Certificate", 500, 5e6], ["board", "Alert", 2, 5.3e6]]
    refused = session(exchanges=0, tls={**HANDSHAKE, "messages": messages})
    figures = TLS.check(SAID, SETTINGS, [session(), session(tls=HANDSHAKE), refused]).figures
    assert (figures["certificate_us"], figures["key_exchange_us"]) == (300_000, 600_000)
    assert figures["handshake_in_bytes"] == 900
    (span,) = TLS.timed(SAID, [session(tls=HANDSHAKE), refused])
    assert (span.start_us, span.duration_us) == (1000, 912_000)


def test_an_encrypted_handshake_has_fewer_stages() -> None:
    messages = [*HANDSHAKE["messages"][:2], ["board", "encrypted", 70, 903_000.0]]  # type: ignore[index]
    figures = TLS.check(SAID, SETTINGS, [session(tls={**HANDSHAKE, "messages": messages})]).figures
    assert "hello_us" in figures and "certificate_and_key_exchange_us" not in figures


def test_a_row_without_a_tls_connection_is_refused() -> None:
    with pytest.raises(BadResult, match="no TLS connection"):
        TLS.check(SAID, SETTINGS, [session()])


def test_a_board_gets_the_root_and_a_time_server_only_if_it_verifies() -> None:
    off = TLS.settings_type.model_validate({"verify": False})
    assert TLS.files("micropython", SETTINGS)["root.der"] == root("ecdsa-p256")
    assert TLS.equipment(SETTINGS) == {"ntp_start_s": DATE_S}
    assert list(TLS.files("micropython", off)) == ["board_tls.py"] and TLS.files("circuitpython", off) == {}
    assert TLS.equipment(off) == {}


@pytest.mark.engine
@pytest.mark.slow
def test_an_emulated_row_repeats_exactly(measured_row: Measure) -> None:
    first, second = (measured_row(TLS, "micropython-1.28.0", "tuned", transfer_bytes=2048) for _ in range(2))
    assert first.status is Status.MEASURED, first.reason
    assert first.figures == second.figures
    assert first.figures["round_trips"] == 2 and first.figures["heap_touched_bytes"] > 10_000
    assert 100_000 < first.figures["certificate_us"] < first.figures["key_exchange_us"]


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize(
    ("runtime", "profile", "fault", "refused"),
    [
        ("micropython-1.28.0", "tuned", "expired", 1),
        ("micropython-1.28.0", "tuned", "wrong-name", 1),
        ("circuitpython-9.1.4", "as-published", "expired", 0),
        ("circuitpython-9.1.4", "as-published", "wrong-name", 1),
    ],
)
def test_a_wrong_certificate_is_refused_or_taken(
    runtime: str, profile: str, fault: str, refused: int, measured_row: Measure
) -> None:
    row = measured_row(TLS, runtime, profile, fault=fault)
    assert (row.status, row.reason) == (Status.MEASURED, None)
    assert row.figures["refused"] == refused and row.figures["handshake_ms"] > 100


@pytest.mark.engine
@pytest.mark.slow
def test_the_clients_own_error_is_the_reason(measured_row: Measure) -> None:
    row = measured_row(TLS, "micropython-1.28.0", "tuned", version="1.3")
    assert row.status is Status.UNSUPPORTED and "the server speaks TLS 1.3 only" in (row.reason or "")


def test_only_an_alert_after_a_wrong_certificate_is_a_refusal() -> None:
    failed = {"stage": "handshake", "error": "ValueError('expired')", "tcp_us": 900}
    wrong = TLS.settings_type.model_validate({"fault": "expired"})
    assert TLS.expected(failed, SETTINGS) == failed
    lacking = {**failed, "error": "OSError('unsupported: TLS 1.3')"}
    assert TLS.expected(lacking, wrong) == lacking
    result = TLS.expected(failed, wrong)
    messages = [["board", "ClientHello", 200, 5000.0], ["board", "Alert", 2, 301_000.0]]
    refused = session(exchanges=0, error="TLS: alert", tls={**HANDSHAKE, "messages": messages})
    assert TLS.check(result, wrong, [session(), refused]).figures == {"refused": 1, "handshake_ms": 300}
    with pytest.raises(BadResult, match=r"^the client failed in stage handshake: ValueError\('expired'\)$"):
        TLS.check(result, wrong, [session()])
    assert TLS.check(SAID, wrong, [session(tls=HANDSHAKE)]).figures["refused"] == 0
    assert "refused" not in TLS.check(SAID, SETTINGS, [session(tls=HANDSHAKE)]).figures


def test_what_if_tries_the_other_keys_and_no_check() -> None:
    settings = TLS.settings_type.model_validate({"key": "rsa-4096", "chain": 3})
    found = TLS.alternatives(settings)
    assert list(found) == ["key_rsa-2048", "key_ecdsa-p256", "key_ecdsa-p384", "chain_1", "no_verify"]
    assert found["chain_1"][1] == TLS.settings_type.model_validate({"key": "rsa-4096"})
