"""Fetches pages from the PC by adafruit_requests, and times each."""

import gc
import time

import adafruit_requests
from portbench_client import RESULT


def pool_of(sock):
    """The pool of the driver, or of the image below the client's own."""
    return getattr(sock._socket_pool, "_pool", sock._socket_pool)


def fetched(session, url, size):
    """Microseconds from the call to the last byte."""
    gc.collect()
    started = time.monotonic_ns()
    response = session.get(url)
    count = 0
    for data in response.iter_content(1024):
        count += len(data)
    response.close()
    took_us = (time.monotonic_ns() - started) // 1000
    if response.status_code != 200 or count != size:
        raise OSError("status %d and %d bytes, not %d" % (response.status_code, count, size))
    return took_us


def https(sock, server, port, scheme, key, pages):
    pool = pool_of(sock)
    sock.close()
    RESULT["stage"] = "ssl"
    context = None
    if scheme == "https":
        try:
            import ssl
        except ImportError:
            ssl = None
        if ssl is None or RESULT["runtime"] == "cpython":
            raise OSError("unsupported: this port's ssl takes no socket of its driver")
        import rtc

        rtc.RTC().datetime = time.struct_time((2026, 1, 1, 0, 0, 0, 3, 1, -1))
        context = ssl.create_default_context()
        with open("root.pem") as file:
            context.load_verify_locations(cadata=file.read())
    session = adafruit_requests.Session(pool, context)
    RESULT["stage"] = "page"
    done = []
    for page in pages.split(","):
        url = "%s://%s-chain1.portbench.test:%d/%s" % (scheme, key, port, page)
        done.append([int(page), fetched(session, url, int(page)), fetched(session, url, int(page))])
    RESULT["pages"] = done
    del RESULT["stage"]
