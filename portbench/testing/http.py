"""A `requests` session whose requests reach the emulated board, in simulated time."""

from collections.abc import Callable
from io import BytesIO
from typing import Any, Final
from urllib.parse import urlsplit

import h11
import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3 import HTTPResponse

from portbench.testing.errors import NothingCame
from portbench.testing.network import Connection
from portbench.testing.simulation import DEFAULT_S

__tracebackhide__ = True
_HTTP: Final = 80

Connect = Callable[[int, str | None, float], Connection]


class BoardSession(requests.Session):
    """Paths alone are the board's: `session.get("/index.html")`. `http://ADDRESS:PORT/` names another address or port.

    Each request opens a connection. `timeout` is in simulated seconds. Waits that fail raise NothingCame.
    """

    def __init__(self, connect: Connect) -> None:
        super().__init__()
        self.trust_env = False
        self.adapters.clear()
        self.mount("http://", _BoardAdapter(connect))

    def request(self, method: str | bytes, url: str | bytes, *rest: Any, **named: Any) -> requests.Response:
        path = url.decode() if isinstance(url, bytes) else url
        return super().request(method, f"http://board{path}" if path.startswith("/") else path, *rest, **named)


class _BoardAdapter(BaseAdapter):
    def __init__(self, connect: Connect) -> None:
        super().__init__()
        self._connect = connect

    def send(self, request: requests.PreparedRequest, *args: Any, **named: Any) -> requests.Response:
        timeout = named.get("timeout") or DEFAULT_S
        within_s = float(timeout[1] if isinstance(timeout, tuple) else timeout)
        place = urlsplit(request.url or "")
        host = None if place.hostname == "board" else place.hostname
        connection = self._connect(place.port or _HTTP, host, within_s)
        engine = h11.Connection(our_role=h11.CLIENT)
        headers = {"Host": place.netloc, **dict(request.headers), "Connection": "close"}
        asked = h11.Request(method=request.method or "GET", target=request.path_url, headers=list(headers.items()))
        connection.send(engine.send(asked) or b"")
        if request.body:
            body = request.body.encode() if isinstance(request.body, str) else bytes(request.body)
            connection.send(engine.send(h11.Data(body)) or b"")
        connection.send(engine.send(h11.EndOfMessage()) or b"")
        head, content = _answer(engine, connection, within_s)
        connection.close()
        return _response(request, head, content)

    def close(self) -> None:
        """Nothing stays open between two requests."""


def _answer(engine: h11.Connection, connection: Connection, within_s: float) -> tuple[h11.Response, bytes]:
    head: h11.Response | None = None
    content = b""
    while True:
        try:
            event = engine.next_event()
        except h11.RemoteProtocolError as error:
            raise NothingCame(f"{connection}: the answer is not HTTP: {error}\n{connection.report()}") from None
        if event is h11.NEED_DATA:
            engine.receive_data(connection.receive(within_s))
        elif isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            content += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            return head, content
        elif isinstance(event, h11.ConnectionClosed):
            raise NothingCame(f"{connection}: ended before a whole answer\n{connection.report()}")


def _response(request: requests.PreparedRequest, head: h11.Response, content: bytes) -> requests.Response:
    raw = HTTPResponse(
        BytesIO(content),
        headers={name.decode(): value.decode("latin-1") for name, value in head.headers.raw_items()},
        status=head.status_code,
        reason=head.reason.decode("latin-1"),
        preload_content=False,
        request_method=request.method,
    )
    return HTTPAdapter().build_response(request, raw)
