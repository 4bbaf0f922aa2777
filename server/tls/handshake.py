"""Names the messages of a handshake from the bytes on the network (RFC 5246, RFC 8446), without any key."""

from typing import Final

RECORD_HANDSHAKE: Final = 22
_HEADER_BYTES: Final = 5
_RECORDS: Final = {20: "ChangeCipherSpec", 21: "Alert", 23: "encrypted"}
_MESSAGES: Final = {
    0: "HelloRequest",
    1: "ClientHello",
    2: "ServerHello",
    4: "NewSessionTicket",
    11: "Certificate",
    12: "ServerKeyExchange",
    13: "CertificateRequest",
    14: "ServerHelloDone",
    15: "CertificateVerify",
    16: "ClientKeyExchange",
    22: "CertificateStatus",
}


class Messages:
    """One direction of a connection, cut anywhere. A message has the name that the standards give it.

    An encrypted Finished is `Finished` in TLS 1.2, where ChangeCipherSpec comes before it; in TLS 1.3 every encrypted
    message is `encrypted`.
    """

    def __init__(self) -> None:
        self._record = bytearray()
        self._message = bytearray()
        self._changed = False

    def receive(self, data: bytes) -> list[tuple[str, int]]:
        """The messages that `data` completes: name, and bytes without the headers of records."""
        found: list[tuple[str, int]] = []
        self._record += data
        while len(self._record) >= _HEADER_BYTES:
            length = int.from_bytes(self._record[3:5])
            if len(self._record) < _HEADER_BYTES + length:
                break
            kind, fragment = self._record[0], bytes(self._record[_HEADER_BYTES : _HEADER_BYTES + length])
            del self._record[: _HEADER_BYTES + length]
            found += self._took(kind, fragment)
        return found

    def _took(self, kind: int, fragment: bytes) -> list[tuple[str, int]]:
        if kind != RECORD_HANDSHAKE:
            self._changed = self._changed or kind == 20
            return [(_RECORDS.get(kind, f"record {kind}"), len(fragment))]
        if self._changed:
            return [("Finished", len(fragment))]
        found: list[tuple[str, int]] = []
        self._message += fragment
        while len(self._message) >= 4 and len(self._message) >= (size := 4 + int.from_bytes(self._message[1:4])):
            found.append((_MESSAGES.get(self._message[0], f"message {self._message[0]}"), size))
            del self._message[:size]
        return found
