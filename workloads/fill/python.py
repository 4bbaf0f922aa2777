"""Sends buffers and fills each of them 0 to 10 times before; the times of the transfers tell how fast it fills."""

import time
from array import array

from portbench_client import RESULT

BUFFER_BYTES = 2048


def clock():
    """A clock in microseconds, and what turns two of its readings into their distance."""
    if hasattr(time, "ticks_us"):
        return time.ticks_us, time.ticks_diff
    return (lambda: time.monotonic_ns() // 1000), (lambda later, earlier: later - earlier)


def cpu_hz():
    try:
        from machine import freq

        return freq()
    except ImportError:
        pass
    try:
        import microcontroller

        return microcontroller.cpu.frequency
    except (ImportError, AttributeError, NotImplementedError):
        return None


def port_reader():
    """What reads eight GPIO pins at once; None where the port has nothing for it."""
    try:
        from machine import mem32
    except ImportError:
        return None
    return lambda: mem32[0xD0000004]  # SIO GPIO_IN (RP2040 datasheet, 2.3.1.7)


def fill_int16(buffer, read):
    for i in range(1024):
        buffer[i] = i


def fill_bytes(buffer, read):
    for i in range(2048):
        buffer[i] = 85


def fill_port(buffer, read):
    for i in range(2048):
        buffer[i] = read() & 255


def send_all(sock, data):
    sent = sock.send(data)
    while sent is not None and sent < len(data):
        data = data[sent:]
        sent = sock.send(data)


def take_done(sock):
    said = b""
    while len(said) < 4:
        more = sock.recv(4 - len(said))
        if not more:
            raise OSError("the server closed the connection")
        said += more


def fill(sock, buffers, fills):
    RESULT["stage"] = "run"
    now, distance = clock()
    read = port_reader() if "RP2040" in RESULT["machine"] else None
    kinds = [("int16", fill_int16, array("H", [0] * 1024)), ("bytes", fill_bytes, bytearray(2048))]
    if read is not None:
        kinds.append(("port", fill_port, bytearray(2048)))
    times_us = {}
    for name, fill_once, buffer in kinds:
        times_us[name] = []
        for count in range(fills + 1):
            send_all(sock, b"up 0 %d\n" % (buffers * BUFFER_BYTES))
            started = now()
            for _ in range(buffers):
                for _ in range(count):
                    fill_once(buffer, read)
                send_all(sock, bytes(buffer))
            take_done(sock)
            times_us[name].append(distance(now(), started))
    sock.close()
    RESULT["times_us"] = times_us
    RESULT["cpu_hz"] = cpu_hz()
    del RESULT["stage"]
