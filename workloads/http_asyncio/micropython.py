"""Serves a static and a dynamic page by asyncio's streams, until the PC asks for /end."""

import asyncio
from asyncio.stream import Server

from portbench_client import RESULT

STATIC_PAGE = (
    b"<!DOCTYPE html><html><head><title>portbench</title></head><body><h1>portbench</h1>"
    b"<p>A page of 137 bytes, as its model.</p></body></html>"
)
DYNAMIC_PAGE = "<!DOCTYPE html><html><body><p>request %s</p><p>ADC %s</p></body></html>"


def make_adc():
    """What reads GP26 as 16 bits; None where there is no ADC, as on a PC."""
    try:
        from machine import ADC

        return ADC(26).read_u16
    except ImportError:
        return None


class Pages:
    def __init__(self):
        self.adc = make_adc()
        self.over = asyncio.Event()

    async def serve(self, reader, writer):
        try:
            while not await self.answer(reader, writer):
                pass
        except (OSError, EOFError) as error:
            RESULT["faults"] += 1
            RESULT["last_fault"] = repr(error)
        try:
            writer.close()
            await writer.wait_closed()
        except OSError as error:
            RESULT["faults"] += 1
            RESULT["last_fault"] = repr(error)

    async def answer(self, reader, writer):
        """One request; returns whether the connection is to be closed."""
        asked = await reader.readline()
        keep = True
        while True:
            line = await reader.readline()
            if line in (b"\r\n", b""):
                break
            keep = keep and line.lower() != b"connection: close\r\n"
        if not asked:
            return True
        path = asked.split(b" ")[1]
        body, status = self.page(path)
        head = "HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: %s\r\n\r\n"
        RESULT["asked"] += 1
        writer.write((head % (status, len(body), "keep-alive" if keep else "close")).encode() + body)
        await writer.drain()
        if path == b"/end":
            self.over.set()
            return True
        return not keep

    def page(self, path):
        if path == b"/dynamic":
            RESULT["counter"] += 1
            reading = "none" if self.adc is None else self.adc()
            return (DYNAMIC_PAGE % (RESULT["counter"], reading)).encode(), "200 OK"
        if path == b"/":
            return STATIC_PAGE, "200 OK"
        return b"", "200 OK" if path == b"/end" else "404 Not Found"


async def run(listener):
    pages = Pages()
    # What start_server does with a socket of its own. This one listens already, and the PC may have called it.
    server = Server()
    try:
        listener.setblocking(False)
    except OSError as error:
        why = "unsupported: this port's sockets cannot be non-blocking, which asyncio needs: %r"
        raise OSError(why % error) from None
    try:
        serving = server._serve(listener, pages.serve, None)
    except TypeError:  # up to 1.21, without TLS
        serving = server._serve(listener, pages.serve)
    server.task = asyncio.create_task(serving)
    await pages.over.wait()
    await asyncio.sleep(0.1)  # for the last answer to go
    server.close()
    await server.wait_closed()


def http_asyncio(listener):
    RESULT["stage"] = "run"
    RESULT["asked"] = RESULT["counter"] = RESULT["faults"] = 0
    asyncio.run(run(listener))
    del RESULT["stage"]
