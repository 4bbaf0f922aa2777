"""TLS clients and servers of CPython without sockets, and what runs them against a peer."""

import ssl
from dataclasses import dataclass, field

from portbench.certificates import DATE_S, KeyKind, root
from portbench.server.tls.peer import TlsConnection, TlsFault


def client_context(kind: KeyKind | None, version: str = "") -> ssl.SSLContext:
    """Checks certificates against the root of `kind`; None: it checks nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if kind is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_verify_locations(cadata=root(kind))
    if version:
        only = ssl.TLSVersion.TLSv1_2 if version == "1.2" else ssl.TLSVersion.TLSv1_3
        context.minimum_version = context.maximum_version = only
    return context


@dataclass
class Meeting:
    """A client in CPython and the server's side of a peer; every byte is kept, by direction."""

    context: ssl.SSLContext
    server: TlsConnection
    name: str
    session: ssl.SSLSession | None = None
    cut: int = 1 << 20
    """The most bytes that the server gets at once."""
    up: bytearray = field(default_factory=bytearray)
    down: bytearray = field(default_factory=bytearray)
    heard: bytearray = field(default_factory=bytearray)
    fault: TlsFault | None = None
    """Fault of the server."""
    refusal: ssl.SSLError | None = None
    """Refusal of the client."""

    def __post_init__(self) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        host = self.name or None
        self.tls = self.context.wrap_bio(self._in, self._out, server_hostname=host, session=self.session)

    def shake(self) -> None:
        """Run the handshake to its end, or to the first fault on either side."""
        for _ in range(20):
            try:
                self.tls.do_handshake()
                done = True
            except ssl.SSLWantReadError:
                done = False
            except ssl.SSLError as error:
                self.refusal, done = error, True
            if not self.exchange() or (done and not self.server.handshaking) or self.fault or self.refusal:
                return

    def exchange(self) -> bool:
        """Carry the client's bytes over, and the server's back. Returns False if there were none."""
        said = self._out.read()
        self.up += said
        for start in range(0, len(said), self.cut):
            try:
                plaintext, answer, _ = self.server.receive(said[start : start + self.cut], DATE_S)
            except TlsFault as fault:
                self.fault, plaintext, answer = fault, b"", fault.answer
            self.heard += plaintext
            self.hear(answer)
            if self.fault:
                break
        return bool(said)

    def hear(self, data: bytes) -> None:
        self.down += data
        self._in.write(data)

    def write(self, plaintext: bytes) -> None:
        self.tls.write(plaintext)
        self.exchange()

    def read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            data += self.tls.read(count - len(data))
        return bytes(data)
