"""Echoes by the WebSocket of adafruit_httpserver, until the PC's close frame."""

from adafruit_httpserver import GET, Route, Server, Websocket
from portbench_client import RESULT


class Upgrade:
    """The one WebSocket."""

    def __init__(self):
        self.open = None

    def upgrade(self, request):
        self.open = Websocket(request)
        return self.open


def websocket_server(listener, port):
    RESULT["stage"] = "run"
    RESULT["echoed"] = 0
    pool = getattr(listener._socket_pool, "_pool", listener._socket_pool)
    listener.close()
    sockets = Upgrade()
    server = Server(pool)
    server.add_routes([Route("/", GET, sockets.upgrade)])
    server.start(RESULT["address"], port)
    while sockets.open is None:
        server.poll()
    while not sockets.open.closed:
        message = sockets.open.receive(fail_silently=True)
        if message is not None:
            sockets.open.send_message(message, fail_silently=True)
            RESULT["echoed"] += 1
    server.stop()
    del RESULT["stage"]
