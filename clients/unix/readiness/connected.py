"""Connected to the PC's server."""

import errno
import socket
import time

from portbench_client import RESULT, elapsed_us

RETRY = (errno.ECONNREFUSED, errno.ECONNRESET, errno.ETIMEDOUT, errno.EHOSTUNREACH)


def get_socket(config):
    RESULT["stage"] = "connect"
    RESULT["connect_attempts"] = 0
    address = socket.getaddrinfo(config["server"], config["port"])[0][-1]
    while True:
        sock = socket.socket()
        RESULT["connect_attempts"] += 1
        try:
            sock.connect(address)
            RESULT["ready_us"] = elapsed_us()
            return sock
        except OSError as error:
            sock.close()
            if error.args[0] not in RETRY or elapsed_us() > config["ready_timeout_s"] * 1_000_000:
                raise
        time.sleep_ms(5)
