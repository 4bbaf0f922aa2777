"""Echoes by microdot's WebSocket, until the PC's close frame."""

import asyncio

from microdot import Microdot
from microdot.websocket import WebSocketError, with_websocket
from portbench_client import RESULT


async def run(port):
    app, over = Microdot(), asyncio.Event()

    @app.route("/")
    @with_websocket
    async def echo(request, ws):
        try:
            while True:
                await ws.send(await ws.receive())
                RESULT["echoed"] += 1
        except (WebSocketError, OSError):
            pass
        over.set()

    serving = asyncio.create_task(app.start_server(port=port))
    await over.wait()
    app.shutdown()
    await serving


def websocket_server(listener, port):
    RESULT["stage"] = "run"
    RESULT["echoed"] = 0
    try:
        listener.setblocking(False)
    except OSError as error:
        why = "unsupported: this port's sockets cannot be non-blocking, which asyncio needs: %r"
        raise OSError(why % error) from None
    listener.close()
    asyncio.run(run(port))
    del RESULT["stage"]
