"""Shakes hands with the PC's TLS server, then sends and takes some bytes, and times each."""

import gc
import socket
import time

import machine
from board_tls import check_ssl, client_context, server_name, set_clock
from portbench_client import RESULT

PAINT = b"\xa5" * 1024


def painted():
    """Fills the free heap with a pattern and frees it; their addresses, to see later which were written to."""
    try:
        import uctypes
    except ImportError:
        return None
    if not RESULT.get("address"):
        return None  # a port on the PC, where memory has other addresses
    places = [0] * 512
    chunks = []
    try:
        while len(chunks) < len(places):
            chunk = bytearray(1024)
            chunk[:] = PAINT
            places[len(chunks)] = uctypes.addressof(chunk)
            chunks.append(chunk)
    except MemoryError:
        pass
    count = len(chunks)
    chunk = None
    chunks.clear()
    gc.collect()
    return places[:count]


def touched(places):
    """Bytes of the heap that something was written to, in blocks of 16. It takes none of the heap itself."""
    count = 0
    memory = machine.mem16
    for place in places:
        for start in range(place, place + 1024, 16):
            for at in range(start, start + 16, 2):
                if memory[at] != 0xA5A5:
                    count += 16
                    break
    return count


def send_all(stream, data):
    while data:
        sent = stream.write(data)
        if sent:
            data = data[sent:]


def take(stream, count):
    while count:
        data = stream.read(min(count, 1024))
        if not data:
            raise OSError("the server closed the connection with %d bytes to come" % count)
        count -= len(data)


def meet_stranger(context, address, name):
    """The board refuses a server with a wrong name, which tells the PC when the certificate is checked."""
    sock = socket.socket()
    sock.connect(address)
    try:
        context.wrap_socket(sock, server_hostname=name)
    except (OSError, ValueError) as error:
        RESULT["refusal"] = repr(error)
    sock.close()


def tls(sock, server, port, key, chain, version, verify, fault, transfer_bytes):
    sock.close()
    RESULT["stage"] = "ssl"
    check_ssl(verify)
    if verify:
        RESULT["stage"] = "clock"
        set_clock(server, RESULT)
    name = server_name(key, chain, version, fault)
    gc.collect()
    RESULT["heap_before_bytes"] = gc.mem_alloc()
    places = painted()
    gc.collect()
    rest = gc.mem_free() - 1024 * len(places or "")
    RESULT["stage"] = "tcp"
    address = socket.getaddrinfo(server, port)[0][-1]
    sock = socket.socket()
    started = time.ticks_us()
    sock.connect(address)
    RESULT["tcp_us"] = time.ticks_diff(time.ticks_us(), started)
    RESULT["stage"] = "handshake"
    started = time.ticks_us()
    context = client_context(verify)
    try:
        stream = context.wrap_socket(sock, server_hostname=name)
    except OSError as error:
        if version != "1.3":
            raise
        why = "unsupported: the server speaks TLS 1.3 only, which this port refuses: %r"
        raise OSError(why % error) from error
    RESULT["handshake_us"] = time.ticks_diff(time.ticks_us(), started)
    if places is not None:
        RESULT["heap_touched_bytes"] = touched(places) + rest
        places = None
    gc.collect()
    RESULT["heap_after_bytes"] = gc.mem_alloc()
    if hasattr(stream, "cipher"):
        RESULT["cipher"] = stream.cipher()[0]
    RESULT["stage"] = "up"
    total = transfer_bytes // 1024 * 1024
    block = bytes(range(256)) * 4
    started = time.ticks_us()
    send_all(stream, b"up 1024 %d\n" % total)
    for _ in range(total // 1024):
        send_all(stream, block)
    take(stream, 4)
    RESULT["up_us"] = time.ticks_diff(time.ticks_us(), started)
    RESULT["stage"] = "down"
    started = time.ticks_us()
    send_all(stream, b"down 1024 %d\n" % total)
    take(stream, total)
    RESULT["down_us"] = time.ticks_diff(time.ticks_us(), started)
    stream.close()
    sock.close()
    if verify and fault == "none":
        RESULT["stage"] = "certificate"
        meet_stranger(context, address, server_name(key, chain, version, fault, "elsewhere.test"))
    del RESULT["stage"]
