"""The PC's side of one connection to the board's HTTP server: it asks for pages by h11, and closes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import h11

from portbench.workloads import Conversation, ConversationError
from portbench.workloads.http.pages import END_PATH, PATH, Page
from portbench.workloads.http.pages import fault as page_fault
from portbench.workloads.report import shown

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
