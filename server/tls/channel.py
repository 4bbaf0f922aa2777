"""TLS between the bytes of a connection and its conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from portbench.server.tls.handshake import RECORD_HANDSHAKE, Messages
from portbench.server.tls.peer import TlsConnection, TlsPeer

Sender = Literal["board", "pc"]


class Channel:
    """The server's side of a connection. One that does not begin with a TLS handshake is passed on as it is.

    `date_s`: the date, in seconds since 1970, of a time of the driver's clock, in microseconds.
    """

    def __init__(self, peer: TlsPeer, date_s: Callable[[float], int]) -> None:
        self._peer = peer
        self._date_s = date_s
        self._begun = False
        self._observed: dict[Sender, Messages] | None = {"board": Messages(), "pc": Messages()}
        self.tls: TlsConnection | None = None
        """None before the first byte, and where the connection is plain."""
        self.messages: list[tuple[Sender, str, int, float]] = []
        """Of the handshake: sender, name, bytes, and when it came, or when what it answers came."""
        self.handshake_bytes: dict[Sender, int] = {"board": 0, "pc": 0}

    def receive(self, data: bytes, now_us: float) -> tuple[bytes, bytes]:
        """Plaintext, and bytes to send before what answers it. Raises TlsFault."""
        if not self._begun and data:
            self._begun = True
            if data[0] == RECORD_HANDSHAKE:
                self.tls = self._peer.accept()
        if self.tls is None:
            return data, b""
        self._observe("board", data, now_us)
        plaintext, answer, _ = self.tls.receive(data, self._date_s(now_us))
        self._observe("pc", answer, now_us)
        if not self.tls.handshaking:
            self._observed = None
        return plaintext, answer

    def send(self, plaintext: bytes) -> bytes:
        return plaintext if self.tls is None else self.tls.send(plaintext)

    def close(self) -> bytes:
        return b"" if self.tls is None else self.tls.close()

    def _observe(self, sender: Sender, data: bytes, now_us: float) -> None:
        if self._observed is not None:
            self.handshake_bytes[sender] += len(data)
            found = self._observed[sender].receive(data)
            self.messages += [(sender, name, size, now_us) for name, size in found]
