"""The peer of the simulated PC: rustls in the engine, with seeded random numbers and the clock of its caller."""

from typing import Final

from portbench_engine import TlsConnection as Rustls
from portbench_engine import TlsError
from portbench_engine import TlsPeer as RustlsPeer

from portbench.server.tls.identities import identities
from portbench.server.tls.peer import TlsConnection, TlsFault

_VERSIONS: Final = {"TLSv1_2": "TLSv1.2", "TLSv1_3": "TLSv1.3"}


class SeededPeer:
    """A peer of which two with the same `seed` send the same bytes, if they get the same at the same times."""

    def __init__(self, seed: int = 1) -> None:
        self._peer = RustlsPeer(seed)
        for each in identities():
            certificates = list(each.chain.certificates)
            self._peer.add(each.name, certificates, each.chain.key, version=each.version, client_root=each.client_root)

    def accept(self) -> TlsConnection:
        return _Connection(self._peer.accept())

    def connect(self, name: str, root: bytes, *, version: str = "") -> TlsConnection:
        return _Connection(self._peer.connect(name, root, version=version))


class _Connection:
    def __init__(self, connection: Rustls) -> None:
        self._connection = connection
        self.send = connection.send
        self.close = connection.close

    def receive(self, data: bytes, unix_s: int) -> tuple[bytes, bytes, bool]:
        try:
            return self._connection.receive(data, unix_s)
        except TlsError as error:
            raise TlsFault(str(error), error.answer) from None

    @property
    def handshaking(self) -> bool:
        return self._connection.handshaking

    @property
    def version(self) -> str | None:
        version = self._connection.version
        return None if version is None else _VERSIONS.get(version, version)

    @property
    def cipher_suite(self) -> str | None:
        # rustls puts the version of a TLS 1.3 suite into its name.
        suite = self._connection.cipher_suite
        return None if suite is None else suite.replace("TLS13_", "TLS_")

    @property
    def server_name(self) -> str | None:
        return self._connection.server_name

    @property
    def resumed(self) -> bool:
        return self._connection.resumed
