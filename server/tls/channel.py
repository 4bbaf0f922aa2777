"""TLS between the bytes of a connection and its conversation."""

from collections.abc import Callable
from typing import Literal

from portbench.server.tls.handshake import RECORD_HANDSHAKE, Messages
from portbench.server.tls.peer import TlsConnection, TlsPeer

Sender = Literal["board", "pc"]


class Channel:
    """One side of a connection. As the server, one that does not begin with a TLS handshake is passed on as it is.

    `date_s`: the date, in seconds since 1970, of a time of the driver's clock, in microseconds. `server`: this is the
    client of a server with that name, whose certificate is checked against that root (DER).
    """

    def __init__(self, peer: TlsPeer, date_s: Callable[[float], int], server: tuple[str, bytes] | None = None) -> None:
        self._peer = peer
        self._date_s = date_s
        self._server = server
        self._begun = False
        self._observed: dict[Sender, Messages] | None = {"board": Messages(), "pc": Messages()}
        self.tls: TlsConnection | None = None
        """None before the first byte, and where the connection is plain."""
        self.messages: list[tuple[Sender, str, int, float]] = []
        """Messages of the handshake: sender, name, bytes, and when it came, or when what it answers came."""
        self.handshake_bytes: dict[Sender, int] = {"board": 0, "pc": 0}

    def opened(self, plaintext: bytes, now_us: float) -> bytes:
        """The first bytes to send, and of the client the handshake's, after which the plaintext follows."""
        if self._server is None:
            return plaintext
        self._begun = True
        self.tls = self._peer.connect(*self._server)
        said = self.tls.send(plaintext)
        self._observe("pc", said, now_us)
        return said

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
