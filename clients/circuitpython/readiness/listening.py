"""Listening where the PC connects to."""

import json
import time

import supervisor
from portbench_client import RESULT, check_deadline, elapsed_us


def get_socket(config, make_socket):
    RESULT["stage"] = "listen"
    listener = make_socket()
    listener.bind((None, config["port"]))
    listener.listen()
    RESULT["ready_us"] = elapsed_us()
    while not supervisor.runtime.serial_connected:
        check_deadline(config)
        time.sleep(0.005)
    print("PORTBENCH-LISTENING", json.dumps({"address": RESULT["address"], "port": config["port"]}))
    return listener
