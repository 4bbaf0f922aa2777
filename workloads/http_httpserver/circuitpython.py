"""Serves a static and a dynamic page by adafruit_httpserver, until the PC asks for /end."""

from adafruit_httpserver import GET, Response, Route, Server
from portbench_client import RESULT

STATIC_PAGE = (
    b"<!DOCTYPE html><html><head><title>portbench</title></head><body><h1>portbench</h1>"
    b"<p>A page of 137 bytes, as its model.</p></body></html>"
)
DYNAMIC_PAGE = "<!DOCTYPE html><html><body><p>request %s</p><p>ADC %s</p></body></html>"


def make_adc():
    """What reads GP26 as 16 bits; None where there is no ADC, as on a PC."""
    try:
        import board
        from analogio import AnalogIn

        pin = AnalogIn(board.A0)
        return lambda: pin.value
    except (ImportError, AttributeError, NotImplementedError, RuntimeError):
        return None


class Listening:
    """A socket pool whose one socket listens already, and which the PC may have called."""

    AF_INET = SOCK_STREAM = SOL_SOCKET = SO_REUSEADDR = None

    def __init__(self, listener):
        self.accept = listener.accept
        self.setblocking = listener.setblocking
        self.close = listener.close

    def getaddrinfo(self, host, port):
        return [(None, None, 0, "", (host, port))]

    def socket(self, family, kind):
        return self

    def setsockopt(self, level, option, value):
        pass

    def bind(self, address):
        pass

    def listen(self, backlog):
        pass


class Pages:
    def __init__(self):
        self.adc = make_adc()
        self.over = False

    def static(self, request):
        RESULT["asked"] += 1
        return Response(request, STATIC_PAGE, content_type="text/html")

    def dynamic(self, request):
        RESULT["asked"] += 1
        RESULT["counter"] += 1
        reading = "none" if self.adc is None else self.adc()
        return Response(request, DYNAMIC_PAGE % (RESULT["counter"], reading), content_type="text/html")

    def end(self, request):
        RESULT["asked"] += 1
        self.over = True
        return Response(request, b"", content_type="text/html")


def http_httpserver(listener, port):
    RESULT["stage"] = "run"
    RESULT["asked"] = RESULT["counter"] = RESULT["faults"] = 0
    pages = Pages()
    server = Server(Listening(getattr(listener, "_sock", listener)))
    server.add_routes(
        [Route("/", GET, pages.static), Route("/dynamic", GET, pages.dynamic), Route("/end", GET, pages.end)]
    )
    server.start("0.0.0.0", port)
    while not pages.over:
        try:
            server.poll()
        except (OSError, RuntimeError) as error:  # adafruit_wiznet5k: the PC closed as soon as it had the last byte
            RESULT["faults"] += 1
            RESULT["last_fault"] = repr(error)
    server.stop()
    del RESULT["stage"]
