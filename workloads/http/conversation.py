"""The two pages that every board serves, and the PC's side of one connection, which asks for them by h11."""

import re
from collections.abc import Callable
from functools import partial
from typing import Final, Literal

import h11

from portbench.workloads import Conversation, ConversationError
from portbench.workloads.conversation import shown

Page = Literal["static", "dynamic"]

STATIC: Final = (
    b"<!DOCTYPE html><html><head><title>portbench</title></head><body><h1>portbench</h1>"
    b"<p>A page of 137 bytes, as its model.</p></body></html>"
)
"""137 bytes, the size of the page in the published measurement."""
PATH: Final[dict[Page, bytes]] = {"static": b"/", "dynamic": b"/dynamic"}
FOREIGN_PORT: Final = 80
END_PATH: Final = b"/end"
"""The path of the last request, which stops the board."""
_DYNAMIC: Final = re.compile(
    rb"<!DOCTYPE html><html><body><p>request (?P<count>[0-9]{1,9})</p><p>ADC (?P<adc>[0-9]{1,5}|none)</p></body></html>"
)


def page_fault(page: Page, body: bytes) -> str | None:
    """The fault of the received body of `page`, or None."""
    if page == "static":
        return None if body == STATIC else f"the page is {_shown(body)}, not the static one of {len(STATIC)} bytes"
    found = _DYNAMIC.fullmatch(body)
    if found is None:
        return f"the page is {_shown(body)}, not the dynamic one"
    if found["adc"] != b"none" and int(found["adc"]) > 0xFFFF:
        return f"the page's ADC reading is {int(found['adc'])}, more than 16 bits"
    return None


class Alike:
    """Checks that all bodies of an unknown server equal the first."""

    def __init__(self) -> None:
        self._first: bytes | None = None

    def fault(self, body: bytes) -> str | None:
        if self._first is None:
            self._first = body
        if body == self._first:
            return None
        return f"the page is {_shown(body)}, and the first was {_shown(self._first)}; use -s page=dynamic"


def _shown(body: bytes) -> str:
    return f"{len(body)} bytes, {body[:32]!r}"


WRONG: Final = "wrong: "
"""Begins the error of a complete page that is not the expected one."""
SHORT: Final = "short: "
"""Begins the error of an incomplete page."""


class GetPages(Conversation):
    """Asks for `page` so often on one connection, each time after the last answer.

    An unknown server has another `path` for it, and another `fault`, which names the fault of a complete page.
    """

    def __init__(
        self,
        page: Page,
        requests: int,
        path: bytes | None = None,
        fault: Callable[[bytes], str | None] | None = None,
    ) -> None:
        self._requests = requests
        self._path = PATH[page] if path is None else path
        self._fault = partial(page_fault, page) if fault is None else fault
        self._http = h11.Connection(h11.CLIENT)
        self._body = bytearray()
        self._status = 0

    def opened(self) -> bytes:
        return self._ask(self._path)

    def receive(self, data: bytes) -> bytes:
        try:
            self._http.receive_data(data)
            return self._events()
        except h11.RemoteProtocolError as error:
            raise ConversationError(f"{WRONG}{error}: {shown(data)}") from None

    def eof(self) -> None:
        if self.finished:
            return
        try:
            self._http.receive_data(b"")
            self._events()
        except h11.RemoteProtocolError as error:
            raise ConversationError(f"{SHORT}{error}") from None
        if not self.finished:
            raise ConversationError(f"{SHORT}the board closed after {self.exchanges} of {self._requests} pages")

    def _events(self) -> bytes:
        """Parse received bytes. Returns the next request after a complete answer."""
        said = b""
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
                return said
            if isinstance(event, h11.Response):
                self._status = event.status_code
            elif isinstance(event, h11.Data):
                self._body += event.data
            elif isinstance(event, h11.EndOfMessage):
                said = self._came_whole()

    def _came_whole(self) -> bytes:
        if self._status != 200:
            raise ConversationError(f"{WRONG}status {self._status}, not 200")
        if (wrong := self._fault(bytes(self._body))) is not None:
            raise ConversationError(f"{WRONG}{wrong}")
        self._body.clear()
        self.exchanges += 1
        self.finished = self.exchanges == self._requests
        if self.finished:
            return b""
        if self._http.their_state is h11.MUST_CLOSE:
            raise ConversationError(f"{SHORT}the board closes after {self.exchanges} of {self._requests} pages")
        self._http.start_next_cycle()
        return self._ask(self._path)

    def _ask(self, path: bytes) -> bytes:
        headers = [("Host", "board"), ("User-Agent", "portbench"), ("Accept", "*/*")]
        if self.exchanges + 1 == self._requests:
            headers.append(("Connection", "close"))
        request = self._http.send(h11.Request(method="GET", target=path, headers=headers))
        return (request or b"") + (self._http.send(h11.EndOfMessage()) or b"")


class End(GetPages):
    """Tells the board to stop."""

    def __init__(self) -> None:
        super().__init__("static", 1, END_PATH, any_page)


def any_page(body: bytes) -> None:
    """Accept every page, such as an unknown server's dynamic one."""
