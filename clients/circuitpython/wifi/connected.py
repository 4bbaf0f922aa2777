"""WORKLOAD_TITLE client for CircuitPython on a BOARD_MACHINE, with its own wifi and socketpool.

Runs as code.py beside portbench_config.json. Prints one line, PORTBENCH {...}, once a console is there to read it.
"""

import ipaddress
import json
import os
import sys
import time
import traceback
from array import array

import cyw43
import socketpool
import supervisor
import wifi

JOINS = 3  # how often a join that failed is tried again
RESULT = {}
BOOTED_NS = time.monotonic_ns()


class Socket:
    """Sockets of the image have recv_into only; the workloads ask for what comes, as Adafruit's drivers give it."""

    def __init__(self, sock):
        self._sock = sock
        self._buffer = bytearray(0)
        self.send = sock.send
        self.close = sock.close

    def recv(self, count):
        if len(self._buffer) < count:
            self._buffer = bytearray(count)
        got = self._sock.recv_into(self._buffer, count)
        return bytes(memoryview(self._buffer)[:got])


def elapsed_us():
    return (time.monotonic_ns() - BOOTED_NS) // 1000


def check_deadline(config):
    if elapsed_us() > config["ready_timeout_s"] * 1_000_000:
        raise OSError("not ready within %s s" % config["ready_timeout_s"])


def make_nic(config):
    nic = wifi.radio
    nic.enabled = True
    if config["power_save"] is not None:
        cyw43.set_power_management(cyw43.PM_PERFORMANCE if config["power_save"] else cyw43.PM_DISABLED)
    return nic


def join(nic, config):
    """Until the driver has joined, and has its address."""
    RESULT["join_attempts"] = 0
    while True:
        RESULT["join_attempts"] += 1
        try:
            nic.connect(config["ssid"], config["passphrase"] or "")
            break
        except ConnectionError as error:
            RESULT["last_join_error"] = repr(error)
            if RESULT["join_attempts"] >= JOINS:
                raise
        check_deadline(config)
    RESULT["link_us"] = elapsed_us()


def get_ready(config):
    RESULT["stage"] = "nic"
    nic = make_nic(config)
    RESULT["stage"] = "link"
    join(nic, config)
    RESULT["stage"] = "address"
    if config["address_mode"] != "dhcp":
        ip, mask, gateway, dns = (ipaddress.ip_address(part) for part in config["static"])
        nic.stop_dhcp()
        nic.set_ipv4_address(ipv4=ip, netmask=mask, gateway=gateway, ipv4_dns=dns)
    while not nic.ipv4_address:
        check_deadline(config)
        time.sleep(0.005)
    RESULT["address"] = str(nic.ipv4_address)
    pool = socketpool.SocketPool(nic)
    RESULT["stage"] = "connect"
    RESULT["connect_attempts"] = 0
    while True:
        check_deadline(config)
        sock = pool.socket()
        RESULT["connect_attempts"] += 1
        try:
            sock.connect((config["server"], config["port"]))
            RESULT["ready_us"] = elapsed_us()
            return Socket(sock)
        except OSError as error:
            RESULT["last_connect_error"] = repr(error)
            sock.close()
        time.sleep(0.005)


def workload(sock, **settings):
    """The workload's body takes this place."""


def no_reload():
    """A PC that mounts the drive writes to it, which would start the script again in mid-run."""
    try:
        supervisor.runtime.autoreload = False
    except AttributeError:  # releases before 8
        supervisor.disable_autoreload()


def main():
    no_reload()
    config = {"ready_timeout_s": 0}
    RESULT["runtime"] = sys.implementation.name
    RESULT["version"] = ".".join(str(part) for part in sys.implementation.version[:3])
    RESULT["machine"] = os.uname().machine
    try:
        with open("portbench_config.json") as file:
            config = json.load(file)
        RESULT["address_mode"] = config["address_mode"]
        workload(get_ready(config), **config)
    except Exception as error:
        traceback.print_exception(error)
        RESULT["error"] = repr(error).replace(",)", ")")
    done_us = elapsed_us()
    while not supervisor.runtime.serial_connected and elapsed_us() - done_us < config["ready_timeout_s"] * 1_000_000:
        time.sleep(0.005)
    print("PORTBENCH", json.dumps(RESULT))


main()
