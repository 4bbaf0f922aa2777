"""Sends datagrams as fast as it can, and takes them at several rates."""

import socket
import time

from portbench_client import RESULT


def clock():
    """A clock in microseconds, and what turns two of its readings into their distance."""
    return time.ticks_us, time.ticks_diff


def open_udp(sock):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        made.settimeout(20)
    except OSError:  # a hardwired build has the method, but no time-outs
        RESULT["time_outs"] = False
    return made


def socket_address(server, port):
    return socket.getaddrinfo(server, port)[0][-1]


def up(made, peer, number, size, count):
    """On a socket of its own, which nothing of before comes to. Returns how many the driver took, how many it refused,
    what that took, and how many the PC has."""
    now, distance = clock()
    answer = bytes((97, number))
    one = bytes((117, number)) + bytes(size - 2)
    taken = refused = 0
    started = now()
    while taken + refused < count:
        try:
            made.sendto(one, peer)
            taken += 1
        except OSError as error:
            refused += 1
            RESULT["last_refused"] = repr(error)
    took = distance(now(), started)
    made.sendto(bytes((113, number)), peer)
    while True:
        data = made.recvfrom(5)[0]
        if data[:2] == answer:
            made.close()
            return size, taken, refused, took, int(data[2:])


def down(made, peer, number, rate, size, count):
    """Returns how many datagrams came, and the time from the first to the last of them.

    All are of one size, the end, too: adafruit_wiznet5k reads on into the next one until it has as much as it was asked
    for."""
    gap_us = size * 8000 // rate
    now, distance = clock()
    mark, end = bytes((68, number)), bytes((101, number))
    came = 0
    first = last = 0
    made.sendto(bytes((100, number)) + b" %d %d %d" % (size, count, gap_us), peer)
    if "time_outs" not in RESULT:
        made.settimeout(3 + gap_us // 300_000)
    try:
        while True:
            data = made.recvfrom(size)[0]
            if data[:2] == mark and len(data) == size:
                last = now()
                if not came:
                    first = last
                came += 1
            elif data[:2] == end:
                break
    except OSError:  # the end was lost as others were
        pass
    made.close()
    return rate, came, distance(last, first)


def udp(sock, server, port, sizes, count, rates_kbit_s):
    RESULT["stage"] = "run"
    peer = socket_address(server, port)
    number = 0
    RESULT["up"] = []
    RESULT["down"] = []
    each_size = [int(each) for each in sizes.split(",")]
    for size in each_size:
        RESULT["up"].append(up(open_udp(sock), peer, number, size, count))
        number += 1
    size = max(each_size)
    for rate in rates_kbit_s.split(","):
        RESULT["down"].append(down(open_udp(sock), peer, number, int(rate), size, count))
        number += 1
    sock.send(b"over\n")
    sock.close()
    del RESULT["stage"]
