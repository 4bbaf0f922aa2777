"""The peer of real sockets: OpenSSL through Python's `ssl`, which reads and writes memory."""

import contextlib
import ssl
import tempfile
from functools import cache
from pathlib import Path
from weakref import WeakKeyDictionary

from portbench.server.tls.identities import ServerIdentity, identities
from portbench.server.tls.peer import TlsConnection, TlsFault

_READ_BYTES = 1 << 16


class OpensslPeer:
    """A server with all identities, and a client."""

    def __init__(self) -> None:
        self._identities = {_label(each.name): each for each in identities()}
        self._first = next(iter(self._identities.values()))
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._asked: WeakKeyDictionary[ssl.SSLObject, str | None] = WeakKeyDictionary()
        self._reader = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._reader.sni_callback = self._named

    def accept(self) -> TlsConnection:
        return _Accepting(self)

    def connect(self, name: str, root: bytes, *, version: str = "") -> TlsConnection:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=root)
        _limit(context, version)
        return _Open(context, name, server_side=False)

    def reader(self, received: ssl.MemoryBIO) -> ssl.SSLObject:
        """An object whose handshake fails once it has read the name in the ClientHello: `asked` returns that.

        All are of one context: OpenSSL's reference to a callback keeps its context for ever.
        """
        return self._reader.wrap_bio(received, ssl.MemoryBIO(), server_side=True)

    def asked(self, reader: ssl.SSLObject) -> str | None:
        return self._asked.get(reader)

    def _named(self, reader: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> int:
        self._asked[reader] = name
        return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR  # it has read what it is for

    def context(self, name: str | None) -> ssl.SSLContext:
        """That of the identity for clients which ask for `name`."""
        identity = self._identities.get(_label(name or ""), self._first)
        if identity.name not in self._contexts:
            self._contexts[identity.name] = _server(identity)
        return self._contexts[identity.name]


@cache
def peer() -> OpensslPeer:
    """The one of this process, so that sessions can be resumed from row to row as well."""
    return OpensslPeer()


def _label(name: str) -> str:
    """Return the label by which a client chooses an identity."""
    return name.partition(".")[0]


def _server(identity: ServerIdentity) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pem = "".join(ssl.DER_cert_to_PEM_cert(each) for each in identity.chain.certificates)
    key = ssl.DER_cert_to_PEM_cert(identity.chain.key).replace("CERTIFICATE", "PRIVATE KEY")
    with tempfile.TemporaryDirectory(prefix="portbench-tls-") as folder:  # ssl reads keys from files only
        file = Path(folder, "identity.pem")
        file.write_text(pem + key, encoding="ascii")
        context.load_cert_chain(file)
    if identity.client_root is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=identity.client_root)
    _limit(context, identity.version)
    return context


def _limit(context: ssl.SSLContext, version: str) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_3 if version == "1.3" else ssl.TLSVersion.TLSv1_2
    context.maximum_version = ssl.TLSVersion.TLSv1_2 if version == "1.2" else ssl.TLSVersion.TLSv1_3


class _Open:
    """A connection whose context is known."""

    def __init__(self, context: ssl.SSLContext, name: str | None, *, server_side: bool) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        host = None if server_side else name
        self._tls = context.wrap_bio(self._in, self._out, server_side=server_side, server_hostname=host)
        self._waiting = bytearray()
        self.server_name = name if server_side else None
        self.handshaking = True

    def receive(self, data: bytes, unix_s: int) -> tuple[bytes, bytes, bool]:
        self._in.write(data)
        try:
            plaintext, closed = self._read() if self._shaken() else (b"", False)
        except ssl.SSLError as error:
            raise TlsFault(_reason(error), self._out.read()) from None
        return plaintext, self._out.read(), closed

    def send(self, plaintext: bytes) -> bytes:
        self._waiting += plaintext
        try:
            self._shaken()
        except ssl.SSLError:
            return b""  # `receive` has reported it, or will
        return self._out.read()

    def close(self) -> bytes:
        with contextlib.suppress(ssl.SSLError):  # it waits for the other side's alert, or is over
            self._tls.unwrap()
        return self._out.read()

    @property
    def version(self) -> str | None:
        return None if self.handshaking else self._tls.version()

    @property
    def cipher_suite(self) -> str | None:
        cipher = None if self.handshaking else self._tls.cipher()
        return None if cipher is None else _standard_name(cipher[0])

    @property
    def resumed(self) -> bool:
        return not self.handshaking and bool(self._tls.session_reused)

    def _shaken(self) -> bool:
        """Go on with the handshake; send what waits for its end."""
        if self.handshaking:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                return False
            self.handshaking = False
        if self._waiting:
            self._tls.write(bytes(self._waiting))
            self._waiting.clear()
        return True

    def _read(self) -> tuple[bytes, bool]:
        plaintext = bytearray()
        while True:
            try:
                some = self._tls.read(_READ_BYTES)
            except ssl.SSLWantReadError:
                return bytes(plaintext), False
            except ssl.SSLZeroReturnError:
                return bytes(plaintext), True
            if not some:
                return bytes(plaintext), True
            plaintext += some


class _Accepting:
    """A server's connection, whose context depends on the name in the ClientHello.

    A first object of OpenSSL's only reads the name. Python can exchange the certificate of a handshake that has begun,
    but neither its versions nor whether it asks for a client's certificate.
    """

    def __init__(self, peer: OpensslPeer) -> None:
        self._peer = peer
        self._came = b""
        self._in = ssl.MemoryBIO()
        self._reader = peer.reader(self._in)
        self._open: _Open | None = None

    def receive(self, data: bytes, unix_s: int) -> tuple[bytes, bytes, bool]:
        if self._open is not None:
            return self._open.receive(data, unix_s)
        self._came += data
        self._in.write(data)
        try:
            self._reader.do_handshake()
        except ssl.SSLWantReadError:
            return b"", b"", False
        except (ssl.SSLError, UnicodeDecodeError):
            pass  # the connection itself finds the same fault; ssl raises the second one for a name beyond ASCII
        name = self._peer.asked(self._reader)
        self._open = _Open(self._peer.context(name), name, server_side=True)
        return self._open.receive(self._came, unix_s)

    def send(self, plaintext: bytes) -> bytes:
        return b"" if self._open is None else self._open.send(plaintext)

    def close(self) -> bytes:
        return b"" if self._open is None else self._open.close()

    @property
    def handshaking(self) -> bool:
        return self._open is None or self._open.handshaking

    @property
    def version(self) -> str | None:
        return None if self._open is None else self._open.version

    @property
    def cipher_suite(self) -> str | None:
        return None if self._open is None else self._open.cipher_suite

    @property
    def server_name(self) -> str | None:
        return None if self._open is None else self._open.server_name

    @property
    def resumed(self) -> bool:
        return self._open is not None and self._open.resumed


def _standard_name(name: str) -> str:
    """OpenSSL's own name of a TLS 1.2 suite as the standard has it."""
    if name.startswith("TLS_"):
        return name
    for short, long in (("AES128", "AES_128"), ("AES256", "AES_256")):
        name = name.replace(short, long)
    exchange, _, cipher = name.replace("-", "_").partition("_AES_")
    if cipher:
        return f"TLS_{exchange}_WITH_AES_{cipher}"
    exchange, _, _ = name.replace("-", "_").partition("_CHACHA20")
    return f"TLS_{exchange}_WITH_CHACHA20_POLY1305_SHA256"


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or type(error).__name__).lower().replace("_", " ")
