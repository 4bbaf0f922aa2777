"""Connected to the PC's server."""

import socket
import time

from portbench_client import LWIP, RESULT, elapsed_us, remaining_ms

# ioLibrary's SOCKERR_SOCKCLOSED and SOCKERR_TIMEOUT (hardwired), then what lwIP answers while nobody is reachable yet:
# ECONNABORTED, ECONNRESET, ENOTCONN, ETIMEDOUT, ECONNREFUSED, EHOSTUNREACH
RETRY = (4, 13, 103, 104, 107, 110, 111, 113)


def get_socket(config):
    RESULT["stage"] = "connect"
    RESULT["connect_attempts"] = 0
    while True:
        left = remaining_ms(config)
        sock = socket.socket()
        RESULT["connect_attempts"] += 1
        try:
            if LWIP:
                sock.settimeout(left / 1000)
            sock.connect((config["server"], config["port"]))
            if LWIP:
                sock.settimeout(None)
            RESULT["ready_us"] = elapsed_us()
            return sock
        except OSError as error:
            sock.close()
            if error.args[0] not in RETRY:
                raise
            RESULT["last_connect_error"] = error.args[0]
        time.sleep_ms(5)
