"""The identities of the PC's server. A client chooses one by the first label of its name (SNI).

In another domain than the certificates' it gets the same one, which then has the wrong name.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from portbench.certificates import KEY_KINDS, LONGEST_CHAIN, Chain, chain, root, server_name


@dataclass(frozen=True)
class ServerIdentity:
    """`version`: `1.2`, `1.3`, or both. `client_root`: of the certificates that clients need; None: they need none."""

    name: str
    chain: Chain
    version: str = ""
    client_root: bytes | None = None


def identities() -> Iterator[ServerIdentity]:
    """The one of clients that choose none comes first: ECDSA P-256, a chain of 1, both versions."""
    for kind in sorted(KEY_KINDS, key=lambda each: each != "ecdsa-p256"):
        for version in ("", "1.2", "1.3"):
            for length in range(1, LONGEST_CHAIN + 1):
                yield ServerIdentity(server_name(kind, length, version), chain(kind, length), version)
            for fault in ("expired", "wrong-name"):
                yield ServerIdentity(server_name(kind, 1, version, fault), chain(kind, 1, fault), version)
            yield ServerIdentity(server_name(kind, 1, version, "asks"), chain(kind), version, root(kind))
