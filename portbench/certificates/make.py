"""`python -m portbench.certificates.make`: writes the files of keys and certificates beside it.

Keys that are there already are kept, so the certificates come out the same: serial numbers are counted, dates are
fixed, and ECDSA's nonces follow from key and message (RFC 6979). Without a file, new keys are drawn. Needs the package
`cryptography`.
"""

import datetime
import textwrap
from base64 import b64encode
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from portbench.certificates import DOMAIN, FOLDER, KEY_KINDS, LONGEST_CHAIN, KeyKind, blocks

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

_FROM: Final = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
_EXPIRED: Final = datetime.datetime(2025, 2, 1, tzinfo=datetime.UTC)
_TO: Final = datetime.datetime(2049, 12, 31, tzinfo=datetime.UTC)
"""The last year of UTCTime, so that every certificate has dates of the same form."""


class _Maker:
    """Makes what one file holds; `pem` is its text."""

    def __init__(self, kind: KeyKind, known: dict[str, bytes]) -> None:
        self._kind = kind
        self._known = known
        self._serial = 0
        self.pem = f"Public keys and public private keys, made by {Path(__file__).name}: for tests only.\n\n"

    def key(self, name: str) -> Key:
        der = self._known.get(f"{name}.key")
        key = self._drawn() if der is None else serialization.load_der_private_key(der, None)
        assert isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey)
        form = (serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        self._add(f"{name}.key", "PRIVATE KEY", key.private_bytes(*form))
        return key

    def certificate(
        self,
        name: str,
        key: Key,
        issuer: tuple[x509.Name, Key] | None,
        host: str | None,
        until: datetime.datetime = _TO,
    ) -> x509.Name:
        """One for `host`, or an authority's without; signed by `issuer`, or by itself. Returns its subject."""
        self._serial += 1
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host or f"portbench {self._kind} {name}")])
        issuer_name, issuer_key = issuer or (subject, key)
        authority = host is None
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer_name)
            .public_key(key.public_key())
            .serial_number(self._serial)
            .not_valid_before(_FROM)
            .not_valid_after(until)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(_usage(authority), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
        )
        if host is not None:
            usage = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            builder = builder.add_extension(x509.ExtendedKeyUsage(usage), critical=False)
        digest = hashes.SHA384() if self._kind == "ecdsa-p384" else hashes.SHA256()
        same = True if isinstance(issuer_key, ec.EllipticCurvePrivateKey) else None
        made = builder.sign(issuer_key, digest, ecdsa_deterministic=same)
        self._add(name, "CERTIFICATE", made.public_bytes(serialization.Encoding.DER))
        return subject

    def _drawn(self) -> Key:
        if self._kind == "ecdsa-p256":
            return ec.generate_private_key(ec.SECP256R1())
        if self._kind == "ecdsa-p384":
            return ec.generate_private_key(ec.SECP384R1())
        return rsa.generate_private_key(65537, int(self._kind.removeprefix("rsa-")))

    def _add(self, name: str, label: str, der: bytes) -> None:
        lines = "\n".join(textwrap.wrap(b64encode(der).decode(), 64))
        self.pem += f"# {name}\n-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"


def _usage(authority: bool) -> x509.KeyUsage:
    names = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    others = dict.fromkeys((*names, "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(digital_signature=not authority, key_cert_sign=authority, crl_sign=authority, **others)


def made(kind: KeyKind, known: dict[str, bytes]) -> str:
    """The text of one file, with the keys of `known` where it has them."""
    maker = _Maker(kind, known)
    root_key, server_key = maker.key("root"), maker.key("server")
    issuer = (maker.certificate("root", root_key, None, None), root_key)
    host = f"*.{DOMAIN}"
    maker.certificate("expired-1", server_key, issuer, host, _EXPIRED)
    maker.certificate("wrong-name-1", server_key, issuer, f"*.other.{DOMAIN}")
    maker.certificate("client-1", server_key, issuer, f"client.{DOMAIN}")
    for length in range(1, LONGEST_CHAIN + 1):
        maker.certificate(f"server-{length}", server_key, issuer, host)
        if length < LONGEST_CHAIN:
            key = maker.key(f"authority-{length}")
            issuer = (maker.certificate(f"authority-{length}", key, issuer, None), key)
    return maker.pem


def main() -> None:
    for kind in KEY_KINDS:
        path = FOLDER / f"{kind}.pem"
        path.write_text(made(kind, blocks(kind) if path.exists() else {}), encoding="ascii")


if __name__ == "__main__":
    main()
