"""Fetches pages from the PC by micropython-lib's requests, and times each."""

import gc
import time

from portbench_client import RESULT


def fetched(url, size):
    """Microseconds from the call to the last byte."""
    import requests

    gc.collect()
    started = time.ticks_us()
    response = requests.get(url)
    count = 0
    try:
        while True:
            data = response.raw.read(1024)
            if not data:
                break
            count += len(data)
    finally:
        response.close()
    took_us = time.ticks_diff(time.ticks_us(), started)
    if response.status_code != 200 or count != size:
        raise OSError("status %d and %d bytes, not %d" % (response.status_code, count, size))
    return took_us


def https(sock, server, port, scheme, key, pages):
    sock.close()
    RESULT["stage"] = "ssl"
    try:
        import tls
    except ImportError:
        tls = None
    if scheme == "https" and tls is None:
        raise OSError("unsupported: this port has no module tls, which requests imports")
    host = server
    if RESULT.get("address"):  # a board, whose network knows the name
        host = key + "-chain1.portbench.test"
    RESULT["stage"] = "page"
    done = []
    for page in pages.split(","):
        url = "%s://%s:%d/%s" % (scheme, host, port, page)
        done.append([int(page), fetched(url, int(page)), fetched(url, int(page))])
    RESULT["pages"] = done
    del RESULT["stage"]
