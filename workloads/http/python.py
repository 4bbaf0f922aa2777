"""Serves a static and a dynamic page, on one connection after the other, until the PC asks for /end."""

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
        pass
    try:
        import board
        from analogio import AnalogIn

        pin = AnalogIn(board.A0)
        return lambda: pin.value
    except (ImportError, AttributeError, NotImplementedError, RuntimeError):
        return None


def send_all(sock, data):
    while data:
        sent = sock.send(data)
        if sent is None or sent >= len(data):
            return
        data = data[sent:]


def read_request(sock):
    """The request up to its empty line; nothing where the PC has closed."""
    request = b""
    while b"\r\n\r\n" not in request:
        data = sock.recv(512)
        if not data or len(request) > 2048:
            return b""
        request += data
    return request


def note(error):
    """A connection's fault: the PC counts what did not come right, and the next one may work."""
    RESULT["faults"] += 1
    RESULT["last_fault"] = repr(error)


def serve(sock, adc):
    """Answers requests until the connection is to be closed; returns whether it was the last one."""
    while True:
        request = read_request(sock)
        if not request:
            return False
        path = request.split(b" ", 2)[1]
        keep = b"HTTP/1.1" in request and b"Connection: close" not in request
        status = b"200 OK"
        if path == b"/":
            body = STATIC_PAGE
        elif path == b"/dynamic":
            RESULT["counter"] += 1
            reading = "none" if adc is None else adc()
            body = DYNAMIC_PAGE % (RESULT["counter"], reading)
            body = body.encode()
        elif path == b"/end":
            body = b""
        else:
            status, body = b"404 Not Found", b""
        head = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: %s\r\n\r\n"
        head = head % (status, len(body), b"keep-alive" if keep else b"close")
        RESULT["asked"] += 1
        try:
            send_all(sock, head + body)
        except (OSError, RuntimeError) as error:  # adafruit_wiznet5k: the PC closed as soon as it had the last byte
            note(error)
            keep = False
        if path == b"/end":
            return True
        if not keep:
            return False


def http(listener):
    RESULT["stage"] = "run"
    RESULT["asked"] = RESULT["counter"] = RESULT["faults"] = 0
    adc = make_adc()
    over = False
    while not over:
        sock = None
        try:
            sock, _ = listener.accept()
            over = serve(sock, adc)
        except (OSError, RuntimeError) as error:
            note(error)
        try:
            if sock is not None:
                sock.close()
        except (OSError, RuntimeError) as error:
            note(error)
    del RESULT["stage"]
