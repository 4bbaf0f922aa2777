"""Asks the PC to ping the board, and waits until it has."""

from portbench_client import RESULT


def ping(sock, sizes, count, interval_ms):
    RESULT["stage"] = "run"
    sock.send(b"ping %s %d %d\n" % (sizes.encode(), count, interval_ms))
    said = b""
    while len(said) < 4:
        data = sock.recv(4)
        if not data:
            raise OSError("the PC closed the connection after %d bytes" % len(said))
        said += data
    if said != b"done":
        raise ValueError("the PC said %s, not done" % said)
    RESULT["pinged"] = True
    sock.close()
    del RESULT["stage"]
