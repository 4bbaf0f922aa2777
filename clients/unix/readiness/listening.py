"""Listening where the PC connects to."""

import json
import socket

from portbench_client import RESULT, elapsed_us


def get_socket(config):
    RESULT["stage"] = "listen"
    RESULT["address"] = "127.0.0.1"
    listener = socket.socket()
    listener.bind(socket.getaddrinfo(RESULT["address"], config["port"])[0][-1])
    listener.listen(4)
    RESULT["ready_us"] = elapsed_us()
    print("PORTBENCH-LISTENING", json.dumps({"address": RESULT["address"], "port": config["port"]}))
    return listener
