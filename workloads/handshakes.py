"""Figures of TLS handshakes, for workloads whose connections are secured."""

from collections.abc import Iterator, Sequence
from typing import Final

from portbench.workloads.figures import Column, Timed
from portbench.workloads.session import Handshake, Session

KEY_LABELS: Final = (b"master secret", b"c hs traffic")
"""A program that speaks TLS holds one: they make the keys of TLS 1.2 (RFC 5246, 8.1) and 1.3 (RFC 8446, 7.1)."""
SIZES = (Column("bytes in", "handshake_in_bytes"), Column("bytes out", "handshake_out_bytes"))


def shaken(sessions: Sequence[Session]) -> Iterator[tuple[Session, Handshake, float]]:
    """Each TLS connection that carried an exchange: its handshake, and when its TCP connection stood."""
    for session in sessions:
        if session.exchanges and session.handshake is not None and session.established_us is not None:
            yield session, session.handshake, session.established_us


def sizes(handshake: Handshake) -> dict[str, float]:
    """Bytes to and from the board, with the headers of records."""
    return {
        "handshake_in_bytes": float(handshake.pc_bytes),
        "handshake_out_bytes": float(handshake.board_bytes),
    }


def until_finished_us(handshake: Handshake, established_us: float) -> float:
    """From the open TCP connection to the board's Finished.

    TLS 1.3 hides the Finished: there it is until the board's last message of the handshake.
    """
    return [at for by, _, _, at in handshake.messages if by == "board"][-1] - established_us


def spans(sessions: Sequence[Session]) -> list[Timed]:
    """The handshakes, for an attribution."""
    return [
        Timed("handshake", until_finished_us(handshake, start_us), start_us=start_us)
        for _, handshake, start_us in shaken(sessions)
    ]


def client_stages(sessions: Sequence[Session]) -> dict[str, float]:
    """The stages of the board's first handshake as a client, on the PC's clock, from one arrival to the next.

    From the ClientHello to the ClientKeyExchange the network is silent. A later connection that the board refuses for
    the server's name tells the certificate's part of it: its alert comes when the certificate is checked. TLS 1.3
    encrypts all that follows the ServerHello; then there is the first stage alone.
    """
    handshake, before = next(((handshake, at) for _, handshake, at in shaken(sessions)), (None, 0.0))
    if handshake is None:
        return {}
    figures = {"round_trips": float(len({at for by, _, _, at in handshake.messages if by == "pc"}))}
    for name, message in (
        ("hello_us", "ClientHello"),
        ("certificate_and_key_exchange_us", "ClientKeyExchange"),
        ("finished_us", "Finished"),
    ):
        at = handshake.when(message)
        if at is None:
            break
        figures[name] = at - before
        before = at
    whole_us, certificate_us = figures.get("certificate_and_key_exchange_us"), _certificate_us(sessions)
    if whole_us is not None and certificate_us is not None:
        figures |= {"certificate_us": certificate_us, "key_exchange_us": whole_us - certificate_us}
    return figures


def refused_us(sessions: Sequence[Session]) -> float | None:
    """From the open TCP connection to the alert of a board that refused the handshake; None where none did."""
    for session in sessions:
        handshake, began_us = session.handshake, session.established_us
        alert_us = None if session.exchanges or handshake is None else handshake.when("Alert")
        if alert_us is not None and began_us is not None:
            return alert_us - began_us
    return None


def _certificate_us(sessions: Sequence[Session]) -> float | None:
    for session in sessions:
        if not session.exchanges and (handshake := session.handshake) is not None:
            hello, alert = handshake.when("ClientHello"), handshake.when("Alert")
            if hello is not None and alert is not None:
                return alert - hello
    return None
