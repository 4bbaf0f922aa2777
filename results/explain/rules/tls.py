"""TLS: what a handshake computes, and what it waits for."""

import re
from typing import Final

from portbench.results.explain.facts import Facts, Sentence, rule, rule_of_share
from portbench.results.explain.words import PS_PER_US, duration, factor, part, percent

_HANDSHAKE: Final = "handshake"
_ROUND_TRIPS: Final = (
    *("wire_to_pc", "pc", "wire_to_board", "delayed_ack"),
    *("air", "access_point", "radio", "power_save"),
)
_KINDS: Final = {
    "bignum": re.compile(r"mbedtls_(mpi|rsa)_|mpi_|ecp_|mbedtls_ec(p|dh|dsa)_"),
    "hashing": re.compile(r"mbedtls_(internal_)?(sha|md)|mbedtls_hmac"),
    "the cipher": re.compile(r"mbedtls_(internal_)?(aes|gcm|ccm|chacha|poly)|gcm_"),
    "the certificates' format": re.compile(r"mbedtls_(x509|asn1|pem|oid|base64)|x509_"),
}
_KNOWN_LEAST: Final = 0.05
_TOLD_LEAST: Final = 0.005


@rule_of_share("executing and waiting for flash take at least half of a TLS handshake", 0.5, "code_run", "code_miss")
def handshake_computes(facts: Facts, share: float) -> Sentence | None:
    """The arithmetic of keys and certificates decides, not the network."""
    if facts.noun != _HANDSHAKE:
        return None
    misses, waits = facts.each_ps("code_miss"), facts.each_ps(*_ROUND_TRIPS)
    text = (
        f"{percent(share)} of the handshake is the board's own computing, {duration(misses)} of it waiting for flash;"
        f" network and PC take {duration(waits)}: the kind of the server's key and the length of its chain decide, not"
        " the network"
    )
    return Sentence(text, figures={"misses_us": misses / 1e6, "network_us": waits / 1e6})


@rule_of_share("network and PC take at least 10 % of a TLS handshake", 0.1, *_ROUND_TRIPS)
def handshake_waits(facts: Facts, share: float) -> Sentence | None:
    """A handshake is two round trips at least."""
    if facts.noun != _HANDSHAKE:
        return None
    text = (
        f"{percent(share)} of the handshake are its round trips: {duration(facts.each_ps(*_ROUND_TRIPS))}; a kept"
        " connection has none of them"
    )
    return Sentence(text)


@rule("a TLS handshake's certificate and key exchange were told apart")
def handshake_stages(facts: Facts) -> Sentence | None:
    """Which of the two is the larger part."""
    stages = [facts.figures.get(name, 0.0) for name in ("certificate_us", "key_exchange_us")]
    if facts.noun != _HANDSHAKE or not all(stages):
        return None
    certificate_us, exchange_us = stages
    text = (
        f"of the handshake, {duration(certificate_us * PS_PER_US)} are the server's certificate and its check,"
        f" {duration(exchange_us * PS_PER_US)} the key exchange with the server's signature"
    )
    return Sentence(text, figures={"certificate_us": certificate_us, "key_exchange_us": exchange_us})


_RESUMPTION_LEAST_GAIN: Final = 1.15


@rule("without its certificate and key exchange a client's TLS handshake would take 1/1.15 of its time or less")
def resumption(facts: Facts) -> Sentence | None:
    """A resumed session has neither. The bound is computed, since no port's `ssl` can keep a session."""
    left_out_us, each_us = facts.figures.get("certificate_and_key_exchange_us", 0.0), facts.each_ps() / PS_PER_US
    if facts.noun != _HANDSHAKE or not 0 < left_out_us < each_us:
        return None
    gain = each_us / (each_us - left_out_us)
    if gain < _RESUMPTION_LEAST_GAIN:
        return None
    text = (
        f"a resumed session would leave out the certificate and the key exchange,"
        f" {part(left_out_us * PS_PER_US, each_us * PS_PER_US)}: at most {factor(gain)} from there, if the port's ssl"
        " could keep a session"
    )
    return Sentence(text, figures={"gain": gain})


@rule("functions of mbedTLS have at least 5 % of the flash cache misses of a TLS handshake, and their names are known")
def handshake_code(facts: Facts) -> Sentence | None:
    """The misses by the kind of work."""
    if facts.noun != _HANDSHAKE:
        return None
    shares = dict.fromkeys(_KINDS, 0.0)
    for function, of_all in facts.code_misses:
        kind = next((kind for kind, names in _KINDS.items() if names.match(function.name)), None)
        if kind is not None:
            shares[kind] += of_all
    if sum(shares.values()) < _KNOWN_LEAST:
        return None
    most_first = sorted(shares.items(), key=lambda each: -each[1])
    told = [f"{percent(of_all)} {kind}" for kind, of_all in most_first if of_all >= _TOLD_LEAST]
    by_place = any(function.known_by == "image" for function, _ in facts.code_misses)
    how = "; by places in the image, as it does not name functions" if by_place else ""
    return Sentence(f"of the handshake's flash cache misses, {', '.join(told)}{how}")
