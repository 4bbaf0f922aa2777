"""Pages that a board fetches from the PC's server by the library that its users take, with TLS and without."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

import h11
from pydantic import Field

from portbench.certificates import DATE_S, KEY_KINDS, KeyKind, root
from portbench.workloads import (
    BadResult,
    Column,
    Conversation,
    ConversationError,
    ForeignClient,
    Measurement,
    Metric,
    Session,
    Timed,
    WorkloadResult,
    WorkloadSettings,
)
from portbench.workloads.conversation import shown
from portbench.workloads.handshakes import KEY_LABELS, SIZES, client_stages, shaken, sizes, spans, until_finished_us
from portbench.workloads.settings import each_number, number_list
from portbench.workloads.transfer import block

MOST_BYTES: Final = 1 << 20
_LARGER_STACK: Final = b"CIRCUITPY_PYSTACK_SIZE=4096\n"
"""For Python's calls; the 1536 bytes of CircuitPython 9 are too few for requests, connection manager and driver."""
_LIBRARIES: Final = {
    "circuitpython": ("adafruit-circuitpython-requests", "adafruit-circuitpython-connectionmanager"),
    "micropython": ("requests",),
    "wiznet": ("requests",),
    "hosted": ("requests",),
}


class Settings(WorkloadSettings):
    scheme: Literal["https", "http"] = Field(default="https", description="with TLS or without")
    key: KeyKind = Field(default="ecdsa-p256", description="kind of key of the server's certificates")
    pages: Annotated[str, number_list(1, MOST_BYTES)] = Field(
        default="1024,102400", description="bytes of each page, each fetched twice"
    )

    @property
    def sizes(self) -> list[int]:
        return each_number(self.pages)


class Result(WorkloadResult):
    pages: list[Annotated[tuple[int, Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]], Field(strict=False)]]
    """Bytes, microseconds of the first request and of the second, on the board's clock."""


class HttpsWorkload(ForeignClient):
    name = "https"
    title = "Pages by HTTPS"
    headline = Metric("first_ms", "ms a page", better="lower")
    reading = (
        "*ms a page* is the time of the first page, from the call of the library to the last byte of the body, with a"
        " new connection. *again* is the same page once more: by a kept connection if the library keeps one."
    )
    columns = (
        Column("again ms", "again_ms"),
        Column("connections", "connections"),
        Column("100 KB first ms", "page_102400_first_us", scale=1e-3),
        Column("100 KB again ms", "page_102400_again_us", scale=1e-3),
        Column("handshake ms", "handshake_ms"),
        *SIZES,
    )
    settings_type = Settings
    quick_settings: ClassVar = {"pages": "1024"}
    exchange = "page"
    secured = True
    patience_us = 30e6  # of a port whose handshake never ends

    def libraries(self, family: str, settings: Settings) -> Sequence[str]:
        return _LIBRARIES.get(family, ())

    def files(self, family: str, settings: Settings) -> Mapping[str, bytes]:
        if family != "circuitpython":
            return {}  # micropython-lib's requests checks no certificate
        files = {"settings.toml": _LARGER_STACK}
        if settings.scheme == "https":
            files["root.pem"] = ssl.DER_cert_to_PEM_cert(root(settings.key)).encode()
        return files

    def equipment(self, settings: Settings) -> Mapping[str, Any]:
        return {"resolves_names": True, "ntp_start_s": DATE_S}

    def conversation(self, max_bytes: int) -> HttpServer:
        return HttpServer(page)

    def exchanges(self, settings: Settings) -> int:
        return 2 * len(settings.sizes)

    def alternatives(self, settings: Settings) -> Mapping[str, tuple[str, WorkloadSettings]]:
        if settings.scheme == "http":
            return {}
        keys = {
            f"key_{key}": (f"certificates with {key} keys", settings.model_copy(update={"key": key}))
            for key in KEY_KINDS
            if key != settings.key
        }
        return keys | {"http": ("without TLS", settings.model_copy(update={"scheme": "http"}))}

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        pages = Result.read(result).pages
        if (said := [size for size, _, _ in pages]) != settings.sizes:
            raise BadResult(f"the client fetched pages of {said} bytes, not {settings.sizes}")
        figures = {"first_ms": pages[0][1] / 1000, "again_ms": pages[0][2] / 1000}
        for size, first_us, again_us in pages:
            figures |= {f"page_{size}_first_us": float(first_us), f"page_{size}_again_us": float(again_us)}
        if used := [session for session in sessions if session.exchanges]:
            plain = [session for session in used if session.handshake is None]
            if plain and settings.scheme == "https":
                raise BadResult(f"the board fetched pages without TLS on {len(plain)} connections")
            figures |= {"connections": float(len(used)), **_of_handshake(sessions)}
        return Measurement(figures)

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> Sequence[Timed]:
        """The handshakes; of plain pages the pages."""
        times = [us for _, *each in Result.read(result).pages for us in each]
        return spans(sessions) or [Timed("page", us, exchange=number) for number, us in enumerate(times)]

    def foreign_exchanges(self, settings: Settings) -> int:
        return 1

    def foreign_lacks(self, image: bytes, settings: Settings) -> str | None:
        if settings.scheme == "http" or any(label in image for label in KEY_LABELS):
            return None
        return (
            "https needs TLS, and the image has no label of its keys (master secret, c hs traffic); use -s scheme=http"
        )

    def measure_session(self, session: Session, settings: Settings) -> Measurement:
        if (settings.scheme == "https") is not (session.handshake is not None):
            raise BadResult(f"the image asked for a page by {'http' if session.handshake is None else 'https'}")
        if (name := session.handshake and session.handshake.server_name) and not name.startswith(f"{settings.key}-"):
            raise BadResult(f"the image asked for {name}, not for a server with {settings.key}; name its key by -s key")
        if session.established_us is None or session.ended_us is None:
            raise BadResult("the image did not close the connection after its page")
        first_ms = (session.ended_us - session.established_us) / 1000
        return Measurement({"first_ms": first_ms, "connections": 1.0, **_of_handshake([session])})


def _of_handshake(sessions: Sequence[Session]) -> dict[str, float]:
    """Return figures of the first connection with TLS; nothing without one."""
    for _, handshake, start_us in shaken(sessions):
        took = {"handshake_ms": until_finished_us(handshake, start_us) / 1000}
        return took | sizes(handshake) | client_stages(sessions)
    return {}


class HttpServer(Conversation):
    """A server's side of one connection, by h11. An exchange is a request with its answer."""

    def __init__(self, answer: Callable[[h11.Request, bytes], tuple[int, bytes]]) -> None:
        """`answer` returns the status and the body for a request with its body, or raises ConversationError."""
        self._http, self._answer, self._body = h11.Connection(h11.SERVER), answer, b""
        self._request: h11.Request | None = None

    def receive(self, data: bytes) -> bytes:
        said = b""
        try:
            self._http.receive_data(data)
            while True:
                event = self._http.next_event()
                if isinstance(event, h11.Request):
                    self._request, self._body = event, b""
                elif isinstance(event, h11.Data):
                    self._body += event.data
                elif isinstance(event, h11.EndOfMessage) and self._request is not None:
                    said += self._said(*self._answer(self._request, self._body))
                    if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
                        self._http.start_next_cycle()
                elif event is h11.NEED_DATA or event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
                    break
        except h11.RemoteProtocolError as error:
            raise ConversationError(f"the board's request is wrong: {error}: {shown(data)}", said) from None
        self.finished = self._http.our_state is h11.MUST_CLOSE
        return said

    def eof(self) -> None:
        return

    def _said(self, status: int, body: bytes) -> bytes:
        headers = [("Content-Type", "application/octet-stream"), ("Content-Length", str(len(body)))]
        made = self._http.send(h11.Response(status_code=status, headers=headers)) or b""
        made += self._http.send(h11.Data(data=body)) or b""
        self.exchanges += 1
        return made + (self._http.send(h11.EndOfMessage()) or b"")


def page(request: h11.Request, body: bytes) -> tuple[int, bytes]:
    """Answer `GET /N` by a page of N bytes, a pattern. Raises ConversationError."""
    text = request.target.removeprefix(b"/").decode("ascii", "replace")
    if request.method != b"GET" or not text.isdigit() or not 0 < int(text) <= MOST_BYTES:
        raise ConversationError(f"the board asked for {request.method!r} {request.target!r}, not for a page")
    return 200, block(int(text))


WORKLOAD = HttpsWorkload()
