"""Connected to the PC's server."""

import time

from portbench_client import RESULT, check_deadline, elapsed_us


def get_socket(config, make_socket):
    RESULT["stage"] = "connect"
    RESULT["connect_attempts"] = 0
    while True:
        check_deadline(config)
        sock = make_socket()
        RESULT["connect_attempts"] += 1
        try:
            sock.connect((config["server"], config["port"]))
            RESULT["ready_us"] = elapsed_us()
            return sock
        except (OSError, RuntimeError) as error:  # the driver tells refused, unreachable and timed out by text alone
            RESULT["last_connect_error"] = repr(error)
            sock.close()
        time.sleep(0.005)
