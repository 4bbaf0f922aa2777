"""The PC's side of one connection to the board's HTTP server: asks for pages, and closes.

h11 knows HTTP; `pages.py` has the expected pages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import h11

from portbench.workloads import Conversation, ConversationError
from portbench.workloads.http.pages import END_PATH, PATH, Page, fault
from portbench.workloads.report import shown

WRONG: Final = "wrong: "
"""Begins the error of a page that came whole and is not the one that was asked for."""
SHORT: Final = "short: "
"""Begins that of one that the board left unfinished."""


class GetPages(Conversation):
    """`requests` of `page`, one after the other's answer, on a kept connection."""

    def __init__(self, page: Page, requests: int) -> None:
        self._page: Page = page
        self._requests = requests
        self._http = h11.Connection(h11.CLIENT)
        self._body = bytearray()
        self._status = 0

    def opened(self) -> bytes:
        return self._ask(self._path())

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
        """Parse received bytes; returns the next request once an answer is whole."""
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
        return self._ask(self._path())

    def _path(self) -> bytes:
        return PATH[self._page]

    def _fault(self, body: bytes) -> str | None:
        return fault(self._page, body)

    def _ask(self, path: bytes) -> bytes:
        headers = [("Host", "board"), ("User-Agent", "portbench"), ("Accept", "*/*")]
        if self.exchanges + 1 == self._requests:
            headers.append(("Connection", "close"))
        request = self._http.send(h11.Request(method="GET", target=path, headers=headers))
        return (request or b"") + (self._http.send(h11.EndOfMessage()) or b"")


class GetForeign(GetPages):
    """Pages of an unknown server, at `path`; `fault` names the fault of a complete one."""

    def __init__(self, page: Page, requests: int, path: bytes, fault: Callable[[bytes], str | None]) -> None:
        super().__init__(page, requests)
        self._own_path = path
        self._own_fault = fault

    def _path(self) -> bytes:
        return self._own_path

    def _fault(self, body: bytes) -> str | None:
        return self._own_fault(body)


class End(GetPages):
    """Tells the board that it may stop."""

    def __init__(self) -> None:
        super().__init__("static", 1)

    def opened(self) -> bytes:
        return self._ask(END_PATH)

    def _fault(self, body: bytes) -> str | None:
        return None
