"""Sends and takes many bytes at once on one connection, in writes of several sizes, and times each transfer."""

import time

from portbench_client import RESULT

WRITES = 256  # the most of a transfer: single bytes would take minutes


def clock():
    """A clock in microseconds, and what turns two of its readings into their distance."""
    if hasattr(time, "ticks_us"):
        return time.ticks_us, time.ticks_diff
    return (lambda: time.monotonic_ns() // 1000), (lambda later, earlier: later - earlier)


def send_all(sock, data):
    sent = sock.send(data)
    while sent is not None and sent < len(data):
        if sent:  # WIZnet's port returns 0 while the chip's buffer is full
            data = data[sent:]
        sent = sock.send(data)


def take(sock, most):
    data = sock.recv(most)
    if not data:
        raise OSError("the server closed the connection")
    return data


def both(sock, block, total):
    """The PC sends all its bytes from the start: until they are here, `recv` has something to wait for."""
    size = len(block)
    to_send = to_take = total
    while to_send or to_take:
        if to_send:
            send_all(sock, block)
            to_send -= size
        if to_take:
            data = take(sock, min(to_take, size))
            to_take -= len(data)
            if not to_take and data[-1] != block[-1]:
                raise ValueError("the last byte is wrong")
    said = b""
    while len(said) < 4:
        said += take(sock, 4 - len(said))
    if said != b"done":
        raise ValueError("the server did not say done")


def duplex(sock, transfer_bytes, writes):
    RESULT["stage"] = "run"
    now, distance = clock()
    transfers = []
    for size in [int(each) for each in writes.split(",")]:
        block = bytes(range(256)) * (size // 256) + bytes(range(size % 256))
        total = max(1, min(transfer_bytes // size, WRITES)) * size
        started = now()
        send_all(sock, b"both %d %d\n" % (size, total))
        both(sock, block, total)
        transfers.append([size, total, distance(now(), started)])
    sock.close()
    RESULT["transfers"] = transfers
    del RESULT["stage"]
