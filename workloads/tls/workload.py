"""A TLS handshake of a board with the PC's server, stage by stage, and transfers under the agreed cipher."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from portbench.certificates import DATE_S, KEY_KINDS, LONGEST_CHAIN, KeyKind, root
from portbench.workloads import (
    BadResult,
    Column,
    Measurement,
    Metric,
    Served,
    Session,
    Timed,
    WorkloadResult,
    WorkloadSettings,
)
from portbench.workloads.handshakes import SIZES, client_stages, refused_us, shaken, sizes, spans
from portbench.workloads.transfer import Transfers

_ON_BOARD: Final = Path(__file__).with_name("board_tls.py")
_Us = Annotated[int, Field(ge=1)]
_Bytes = Annotated[int, Field(ge=0)]

_WRONG: Final = ("expired", "wrong-name")
_REFUSED_WITH: Final = "refused_with"
"""The error of a client that refused a wrong certificate."""


class Settings(WorkloadSettings):
    key: KeyKind = Field(default="ecdsa-p256", description="kind of key of all certificates")
    chain: int = Field(default=1, ge=1, le=LONGEST_CHAIN, description="certificates that the server sends")
    version: Literal["any", "1.2", "1.3"] = Field(default="any", description="version of TLS that the server speaks")
    verify: bool = Field(default=True, description="check the server's certificate")
    fault: Literal["none", "expired", "wrong-name", "asks"] = Field(
        default="none", description="the server's certificate is wrong, or the server asks for the board's"
    )
    transfer_bytes: int = Field(default=16_384, ge=1024, le=131_072, description="bytes sent and received afterwards")

    @property
    def transfers_each_way(self) -> int:
        """Bytes, in whole writes of 1024."""
        return self.transfer_bytes // 1024 * 1024


class Result(WorkloadResult):
    tcp_us: _Us | None = None
    handshake_us: _Us
    cipher: str | None = None
    heap_before_bytes: _Bytes
    heap_after_bytes: _Bytes
    heap_touched_bytes: _Bytes | None = None
    up_us: _Us
    down_us: _Us


class TlsWorkload(Served):
    name = "tls"
    title = "TLS handshake"
    headline = Metric("handshake_ms", "ms a handshake", better="lower")
    reading = (
        "*ms a handshake* is the time from the open TCP connection to the end of the TLS handshake on the board's"
        " clock, with the check of the server's certificate unless `verify` is off. *up* and *down* are payload under"
        " the agreed cipher, in writes of 1024 bytes."
    )
    columns = (
        Column("refused", "refused"),
        Column("hello ms", "hello_us", scale=1e-3),
        Column("certificate and key exchange ms", "certificate_and_key_exchange_us", scale=1e-3),
        Column("certificate ms", "certificate_us", scale=1e-3),
        Column("key exchange ms", "key_exchange_us", scale=1e-3),
        Column("finished ms", "finished_us", scale=1e-3),
        SIZES[0],
        Column("heap touched KB", "heap_touched_bytes", scale=1 / 1024),
        Column("heap kept KB", "heap_kept_bytes", scale=1 / 1024),
        Column("up kbit/s", "up_kbit_s"),
        Column("down kbit/s", "down_kbit_s"),
    )
    parts = ("up_ms", "down_ms")
    comparable = ("handshake_ms",)
    settings_type = Settings
    quick_settings: ClassVar = {"transfer_bytes": 2048}
    exchange = "transfer"
    secured = True
    patience_us = 30e6  # of a port whose handshake never ends

    def files(self, family: str, settings: Settings) -> Mapping[str, bytes]:
        if family in ("circuitpython", "blinka"):
            return {"root.pem": ssl.DER_cert_to_PEM_cert(root(settings.key)).encode()} if settings.verify else {}
        return {"board_tls.py": _ON_BOARD.read_bytes()} | ({"root.der": root(settings.key)} if settings.verify else {})

    def equipment(self, settings: Settings) -> Mapping[str, Any]:
        return {"ntp_start_s": DATE_S} if settings.verify else {}

    def alternatives(self, settings: Settings) -> Mapping[str, tuple[str, WorkloadSettings]]:
        changes: dict[str, tuple[str, dict[str, Any]]] = {
            f"key_{key}": (f"certificates with {key} keys", {"key": key}) for key in KEY_KINDS if key != settings.key
        }
        if settings.chain > 1:
            changes["chain_1"] = ("one certificate in the chain", {"chain": 1})
        if settings.verify:
            changes["no_verify"] = ("the certificate is not checked", {"verify": False})
        return {name: (title, settings.model_copy(update=change)) for name, (title, change) in changes.items()}

    def conversation(self, max_bytes: int) -> TlsTransfers:
        return TlsTransfers()

    def exchanges(self, settings: Settings) -> int:
        return 2

    def expected(self, result: Mapping[str, Any], settings: Settings) -> Mapping[str, Any]:
        error = str(result.get("error", ""))
        if "no module named 'ntptime'" in error:
            lacks = "unsupported: this port has no ntptime to set its clock by; use -s verify=no"
            return {**result, "error": repr(OSError(lacks))}
        if settings.fault not in _WRONG or not error or "unsupported: " in error:
            return result
        return {**{name: value for name, value in result.items() if name != "error"}, _REFUSED_WITH: error}

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        if _REFUSED_WITH in result:
            if (us := refused_us(sessions)) is None:
                raise BadResult(f"the client failed in stage {result.get('stage')}: {result[_REFUSED_WITH]}")
            return Measurement({"refused": 1.0, "handshake_ms": us / 1000})
        said = Result.read(result)
        figures = {name: float(value) for name, value in said if isinstance(value, int)}
        figures["handshake_ms"] = said.handshake_us / 1000
        if settings.fault in _WRONG:
            figures["refused"] = 0.0
        figures["heap_kept_bytes"] = float(said.heap_after_bytes - said.heap_before_bytes)
        for way, us in (("up", said.up_us), ("down", said.down_us)):
            figures[f"{way}_ms"] = us / 1000
            figures[f"{way}_kbit_s"] = settings.transfers_each_way * 8000 / us
        if sessions:
            if (first := next(shaken(sessions), None)) is None:
                raise BadResult("the board made no TLS connection")
            figures |= sizes(first[1]) | client_stages(sessions)
        return Measurement(figures)

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> Sequence[Timed]:
        return spans(sessions)


class TlsTransfers(Transfers):
    """A board may also connect without a transfer, to have the PC's address."""

    def eof(self) -> None:
        if self.exchanges or self._line or self._kind:
            super().eof()


WORKLOAD = TlsWorkload()
