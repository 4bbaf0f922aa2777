"""Sends, takes, and sends and takes back many bytes, in writes of several sizes, and times each transfer."""

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


def take(sock, count, most):
    """Reads `count` bytes, at most `most` at a time; returns the last of them."""
    data = b""
    while count:
        data = sock.recv(min(count, most))
        if not data:
            raise OSError("the server closed the connection with %d bytes to come" % count)
        count -= len(data)
    return data[-1]


def up(sock, block, total):
    for _ in range(total // len(block)):
        send_all(sock, block)
    if take(sock, 4, 4) != 101:  # the last letter of "done"
        raise ValueError("the server did not say done")


def down(sock, block, total):
    if take(sock, total, len(block)) != block[-1]:
        raise ValueError("the last byte is wrong")


def echo(sock, block, total):
    size = len(block)
    for _ in range(total // size):
        send_all(sock, block)
        if take(sock, size, size) != block[-1]:
            raise ValueError("the last byte is wrong")


def bulk(sock, transfer_bytes, writes):
    RESULT["stage"] = "run"
    now, distance = clock()
    transfers = []
    for size in [int(each) for each in writes.split(",")]:
        block = bytes(range(256)) * (size // 256) + bytes(range(size % 256))
        total = max(1, min(transfer_bytes // size, WRITES)) * size
        for name, transfer in (("up", up), ("down", down), ("echo", echo)):
            started = now()
            send_all(sock, b"%s %d %d\n" % (name.encode(), size, total))
            transfer(sock, block, total)
            transfers.append([name, size, total, distance(now(), started)])
    sock.close()
    RESULT["transfers"] = transfers
    del RESULT["stage"]
