"""Listening where the PC connects to."""

import json
import socket

from portbench_client import RESULT, elapsed_us


def get_socket(config):
    RESULT["stage"] = "listen"
    listener = socket.socket()
    listener.bind(("", config["port"]))
    listener.listen(4)  # a hardwired build takes one at a time, whatever it is told
    RESULT["ready_us"] = elapsed_us()
    print("PORTBENCH-LISTENING", json.dumps({"address": RESULT["address"], "port": config["port"]}))
    return listener
