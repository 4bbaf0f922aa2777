"""The board as HTTPS server: the PC fetches a page on several connections, each with a whole handshake."""

import ssl
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

import h11
from pydantic import Field

from portbench.certificates import KEY_KINDS, KeyKind, chain, root, server_name
from portbench.workloads import (
    BadResult,
    Called,
    Column,
    Conversation,
    ConversationError,
    LoadGenerator,
    Measurement,
    Metric,
    Session,
    Timed,
    WorkloadResult,
    WorkloadSettings,
)
from portbench.workloads.handshakes import SIZES, shaken, sizes, spans, until_finished_us
from portbench.workloads.transfer import block

_REQUEST: Final = h11.Request(method="GET", target="/", headers=[("Host", "board")])


class Settings(WorkloadSettings):
    key: KeyKind = Field(default="ecdsa-p256", description="kind of the board's key")
    connections: int = Field(default=2, ge=1, le=100, description="connections of the PC, one after the other")
    page_bytes: int = Field(default=1024, ge=1, le=16_384, description="bytes of the page")


class Result(WorkloadResult):
    served: Annotated[int, Field(ge=0)]
    """Pages that the board has sent."""


class HttpsServerWorkload(Called):
    name = "https_server"
    title = "HTTPS, the board as server"
    headline = Metric("page_ms", "ms a page", better="lower")
    reading = (
        "*ms a page* is the time from the open TCP connection to the last byte of the page, of the first connection;"
        " *again* is of the last. *handshake* is to the board's Finished. All are on the PC's clock."
    )
    columns = (
        Column("again ms", "again_ms"),
        Column("handshake ms", "handshake_ms"),
        *SIZES,
    )
    comparable = ("page_ms", "handshake_ms")
    settings_type = Settings
    quick_settings: ClassVar = {"connections": 1}
    boards_only = True
    exchange = "page"

    def files(self, family: str, settings: Settings) -> Mapping[str, bytes]:
        found = chain(settings.key)
        if family != "circuitpython":
            return {"server.der": found.certificates[0], "server.key": found.key}
        key = ssl.DER_cert_to_PEM_cert(found.key).replace("CERTIFICATE", "PRIVATE KEY")
        return {"server.pem": ssl.DER_cert_to_PEM_cert(found.certificates[0]).encode(), "server.key": key.encode()}

    def alternatives(self, settings: Settings) -> Mapping[str, tuple[str, WorkloadSettings]]:
        return {
            f"key_{key}": (f"the board has an {key} key", settings.model_copy(update={"key": key}))
            for key in KEY_KINDS
            if key != settings.key
        }

    def exchanges(self, settings: Settings) -> int:
        return settings.connections

    def load_generator(self, settings: Settings, max_bytes: int) -> LoadGenerator:
        tls = (server_name(settings.key), root(settings.key))
        return LoadGenerator(lambda: GetsPage(settings.page_bytes), settings.connections, tls=tls)

    def check(self, result: Mapping[str, Any], settings: Settings, sessions: Sequence[Session] = ()) -> Measurement:
        said = Result.read(result)
        served = list(shaken(sessions))
        if said.served != settings.connections or len(served) != settings.connections:
            raise BadResult(
                f"the board sent {said.served} pages and the PC has {len(served)}, not {settings.connections}"
            )
        pages = [session.received_us[0] - start_us for session, _, start_us in served]
        _, handshake, start_us = served[0]
        figures = {
            "page_ms": pages[0] / 1000,
            "again_ms": pages[-1] / 1000,
            "handshake_ms": until_finished_us(handshake, start_us) / 1000,
            **sizes(handshake),
        }
        return Measurement(figures, {"page_us": pages})

    def timed(self, result: Mapping[str, Any], sessions: Sequence[Session] = ()) -> list[Timed]:
        return spans(sessions)


class GetsPage(Conversation):
    """The PC's request, in plaintext, and the board's answer. An exchange is the page."""

    def __init__(self, page_bytes: int) -> None:
        self._page = block(page_bytes)
        self._http = h11.Connection(h11.CLIENT)
        self._body = bytearray()

    def opened(self) -> bytes:
        return (self._http.send(_REQUEST) or b"") + (self._http.send(h11.EndOfMessage()) or b"")

    def receive(self, data: bytes) -> bytes:
        try:
            self._http.receive_data(data)
            while (event := self._http.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.Response) and event.status_code != 200:
                    raise ConversationError(f"the board answered with status {event.status_code}")
                if isinstance(event, h11.Data):
                    self._body += event.data
                if isinstance(event, h11.EndOfMessage):
                    self._whole()
        except h11.RemoteProtocolError as error:
            raise ConversationError(f"the board's answer is wrong: {error}") from None
        return b""

    def eof(self) -> None:
        raise ConversationError(f"the board closed after {len(self._body)} of {len(self._page)} bytes of the page")

    def _whole(self) -> None:
        if self._body != self._page:
            raise ConversationError(f"the board's page of {len(self._body)} bytes is not that of {len(self._page)}")
        self.exchanges += 1
        self.finished = True


WORKLOAD = HttpsServerWorkload()
