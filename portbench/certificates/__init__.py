"""Keys and certificates of the PC's TLS server, for tests and measurements: everybody knows these keys.

`make.py` makes the files, one for each kind of key: private keys, then certificates. A chain of N has the server's
certificate and N - 1 of authorities below the root. All certificates of one file have keys of its kind.
"""

import base64
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, get_args

KeyKind = Literal["rsa-2048", "rsa-4096", "ecdsa-p256", "ecdsa-p384"]
KEY_KINDS: Final[tuple[KeyKind, ...]] = get_args(KeyKind)
LONGEST_CHAIN: Final = 3
DOMAIN: Final = "portbench.test"
"""The certificates are for all names directly below it."""
DATE_S: Final = 1_767_225_600
"""The date of simulated time 0, in seconds since 1970: 2026-01-01. A board's clock that was never set is before it, and
before the certificates begin to be valid."""
FOLDER: Final = Path(__file__).parent
_BLOCK: Final = re.compile(r"^# (\S+)\n-----BEGIN [A-Z ]+-----\n([A-Za-z0-9+/=\n]+)-----END", re.MULTILINE)


@dataclass(frozen=True)
class Chain:
    """A server's certificates, its own first, and its private key (PKCS #8); all in DER."""

    certificates: tuple[bytes, ...]
    key: bytes


def server_name(kind: KeyKind, chain: int = 1, version: str = "", fault: str = "") -> str:
    """The name by which a client chooses the server's identity (SNI).

    `version`: `1.2`, `1.3`, or both. `fault`: the server is `expired`, has the `wrong-name`, or `asks` for a client's
    certificate.
    """
    label = f"{kind}-{fault}" if fault else f"{kind}-chain{chain}"
    return label + (f"-tls{version.replace('.', '')}" if version else "") + f".{DOMAIN}"


@cache
def blocks(kind: KeyKind) -> dict[str, bytes]:
    """The DER of everything in the file of `kind`, by name, such as `root`, `root.key`, `server-1`."""
    text = (FOLDER / f"{kind}.pem").read_text(encoding="ascii")
    return {found[1]: base64.b64decode(found[2]) for found in _BLOCK.finditer(text)}


def root(kind: KeyKind) -> bytes:
    """The root's certificate in DER, which a client needs to check the others."""
    return blocks(kind)["root"]


def chain(kind: KeyKind, length: int = 1, server: str = "server") -> Chain:
    """`server`: `server`, `expired`, `wrong-name`, or `client` for a client's certificate, all but the first of
    chain 1."""
    found = blocks(kind)
    authorities = [found[f"authority-{number}"] for number in range(length - 1, 0, -1)]
    return Chain((found[f"{server}-{length}"], *authorities), found["server.key"])
