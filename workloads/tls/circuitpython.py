"""Shakes hands with the PC's TLS server, then sends and takes some bytes, and times each."""

import gc
import time

from portbench_client import RESULT


def since(started):
    return (time.monotonic_ns() - started) // 1000


def pool_of(sock):
    """The pool of the driver, or of the image below the client's own."""
    return getattr(sock._socket_pool, "_pool", sock._socket_pool)


def set_clock():
    """As a user does: a board without battery does not know the date, which the check of a certificate needs."""
    import rtc

    rtc.RTC().datetime = time.struct_time((2026, 1, 1, 0, 0, 0, 3, 1, -1))


def send_all(stream, data):
    while data:
        data = data[stream.send(data) :]


def take(stream, count):
    room = memoryview(bytearray(1024))
    while count:
        got = stream.recv_into(room[: min(count, 1024)])
        if not got:
            raise OSError("the server closed the connection with %d bytes to come" % count)
        count -= got


def tls(sock, server, port, key, chain, version, verify, fault, transfer_bytes):
    pool = pool_of(sock)
    sock.close()
    RESULT["stage"] = "ssl"
    try:
        import ssl
    except ImportError:
        ssl = None
    if ssl is None or RESULT["runtime"] == "cpython":
        raise OSError("unsupported: this port's ssl takes no socket of its driver")
    name = "%s-%s" % (key, "chain%d" % chain if fault == "none" else fault)
    if version != "any":
        name += "-tls" + version.replace(".", "")
    if verify:
        set_clock()
    RESULT["stage"] = "tcp"
    sock = pool.socket(pool.AF_INET, pool.SOCK_STREAM)
    RESULT["stage"] = "handshake"
    gc.collect()
    RESULT["heap_before_bytes"] = gc.mem_alloc()
    started = time.monotonic_ns()
    context = ssl.create_default_context()
    root = ""  # none: it takes any certificate
    if verify:
        with open("root.pem") as file:
            root = file.read()
    context.load_verify_locations(cadata=root)
    stream = context.wrap_socket(sock, server_hostname=name + ".portbench.test")
    stream.connect((server, port))  # shakes hands
    RESULT["handshake_us"] = since(started)
    gc.collect()
    RESULT["heap_after_bytes"] = gc.mem_alloc()
    RESULT["stage"] = "up"
    total = transfer_bytes // 1024 * 1024
    block = bytes(range(256)) * 4
    started = time.monotonic_ns()
    send_all(stream, b"up 1024 %d\n" % total)
    for _ in range(total // 1024):
        send_all(stream, block)
    take(stream, 4)
    RESULT["up_us"] = since(started)
    RESULT["stage"] = "down"
    started = time.monotonic_ns()
    send_all(stream, b"down 1024 %d\n" % total)
    take(stream, total)
    RESULT["down_us"] = since(started)
    stream.close()
    if verify and fault == "none":  # a server with a wrong name tells the PC when the certificate is checked
        RESULT["stage"] = "certificate"
        sock = pool.socket(pool.AF_INET, pool.SOCK_STREAM)
        stream = context.wrap_socket(sock, server_hostname=name + ".elsewhere.test")
        try:
            stream.connect((server, port))
        except (OSError, ValueError) as error:
            RESULT["refusal"] = repr(error)
        stream.close()
    del RESULT["stage"]
