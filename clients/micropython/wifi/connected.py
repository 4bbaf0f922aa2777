"""WORKLOAD_TITLE client for MicroPython on a BOARD_MACHINE: lwIP over the radio chip.

Runs as main.py beside portbench_config.json. Prints one line, PORTBENCH {...}, and keeps the same in RESULT.
"""

import json
import socket
import sys
import time
from array import array

import network

# What lwIP answers while nobody is reachable yet: ECONNABORTED, ECONNRESET, ENOTCONN, ETIMEDOUT, ECONNREFUSED, EHOSTUNREACH
RETRY = (103, 104, 107, 110, 111, 113)
JOINS = 3  # how often a join that failed is tried again
RESULT = {}
BOOTED_MS = time.ticks_ms()
BOOTED_US = time.ticks_us()


def elapsed_us():
    return time.ticks_diff(time.ticks_us(), BOOTED_US)


def remaining_ms(config):
    left = int(config["ready_timeout_s"] * 1000) - time.ticks_diff(time.ticks_ms(), BOOTED_MS)
    if left <= 0:
        raise OSError("not ready within %s s" % config["ready_timeout_s"])
    return left


def make_nic(config):
    nic = network.WLAN(network.STA_IF)
    nic.active(True)
    if config["power_save"] is not None:
        nic.config(pm=network.WLAN.PM_PERFORMANCE if config["power_save"] else network.WLAN.PM_NONE)
    return nic


def join(nic, config):
    """Until the driver has an address, which it asks for by itself as soon as the link is up."""
    RESULT["join_attempts"] = 0
    while True:
        RESULT["join_attempts"] += 1
        if config["passphrase"] is None:
            nic.connect(config["ssid"])
        else:
            nic.connect(config["ssid"], config["passphrase"])
        while True:
            status = nic.status()
            if "link_us" not in RESULT and status > 1:  # CYW43_LINK_NOIP: joined, without an address yet
                RESULT["link_us"] = elapsed_us()
                RESULT["stage"] = "address"
            if status == 3:  # CYW43_LINK_UP
                return
            if status < 0:  # CYW43_LINK_FAIL, CYW43_LINK_NONET, CYW43_LINK_BADAUTH
                break
            remaining_ms(config)
            time.sleep_ms(5)
        RESULT["last_join_status"] = status
        if status == -3:
            raise OSError("the access point refused the passphrase")
        if RESULT["join_attempts"] >= JOINS:
            raise OSError("no join after %s attempts: status %s" % (JOINS, status))


def get_ready(config):
    RESULT["stage"] = "nic"
    nic = make_nic(config)
    RESULT["stage"] = "link"
    if config["address_mode"] != "dhcp":
        nic.ifconfig(tuple(config["static"]))
    join(nic, config)
    RESULT["address"] = nic.ifconfig()[0]
    RESULT["rssi_dbm"] = nic.status("rssi")
    RESULT["stage"] = "connect"
    RESULT["connect_attempts"] = 0
    while True:
        left = remaining_ms(config)
        sock = socket.socket()
        RESULT["connect_attempts"] += 1
        try:
            sock.settimeout(left / 1000)
            sock.connect((config["server"], config["port"]))
            sock.settimeout(None)
            RESULT["ready_us"] = elapsed_us()
            return sock
        except OSError as error:
            sock.close()
            if error.args[0] not in RETRY:
                raise
            RESULT["last_connect_error"] = error.args[0]
        time.sleep_ms(5)


def workload(sock, **settings):
    """The workload's body takes this place."""


def main():
    RESULT["runtime"] = sys.implementation.name
    RESULT["version"] = ".".join(str(part) for part in sys.implementation.version[:3])
    RESULT["machine"] = getattr(sys.implementation, "_machine", "")
    try:
        with open("portbench_config.json") as file:
            config = json.load(file)
        RESULT["address_mode"] = config["address_mode"]
        workload(get_ready(config), **config)
    except Exception as error:
        sys.print_exception(error)
        RESULT["error"] = repr(error).replace(",)", ")")
    print("PORTBENCH", json.dumps(RESULT))


main()
