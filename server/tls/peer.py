"""The interface of the two TLS peers: rustls for the simulated PC, OpenSSL for real sockets.

rustls comes with the engine (`engine/tls`). Its random numbers come from a seed and its clock is its caller's, so a
simulated run repeats itself byte by byte. OpenSSL is Python's `ssl` and needs no Rust toolchain; its random numbers and
its clock are this machine's.
"""

from typing import Protocol


class TlsFault(Exception):
    """The connection is over: one line says why. `answer` holds the alert to send."""

    def __init__(self, text: str, answer: bytes = b"") -> None:
        super().__init__(text)
        self.answer = answer


class TlsConnection(Protocol):
    """One side of a connection."""

    def receive(self, data: bytes, unix_s: int) -> tuple[bytes, bytes, bool]:
        """Plaintext, bytes to send, and whether the other side has closed; of bytes cut anywhere. Raises TlsFault."""
        ...

    def send(self, plaintext: bytes) -> bytes:
        """The bytes to send for it. During the handshake the plaintext waits; a client's first call begins it."""
        ...

    def close(self) -> bytes:
        """The alert that ends this side."""
        ...

    @property
    def handshaking(self) -> bool: ...
    @property
    def version(self) -> str | None:
        """`TLSv1.2` or `TLSv1.3`, once agreed."""
        ...

    @property
    def cipher_suite(self) -> str | None:
        """Its standard name, once agreed."""
        ...

    @property
    def server_name(self) -> str | None:
        """The name that the client asked for (SNI)."""
        ...

    @property
    def resumed(self) -> bool:
        """An earlier session was resumed."""
        ...


class TlsPeer(Protocol):
    """Makes connections. A server has an identity for each name; sessions can be resumed within one peer."""

    def accept(self) -> TlsConnection:
        """The server's side of a new connection."""
        ...

    def connect(self, name: str, root: bytes, *, version: str = "") -> TlsConnection:
        """The client's side of a new connection to server `name`, whose certificate is checked against `root` (DER)."""
        ...
