"""WORKLOAD_TITLE client for CircuitPython on a BOARD_MACHINE, with Adafruit's adafruit_wiznet5k.

Runs as code.py beside portbench_config.json. Prints where it listens, PORTBENCH-LISTENING {...}, and at the end one line,
PORTBENCH {...}, once a console is there to read them.
"""

import json
import os
import sys
import time
import traceback
from array import array

import board
import busio
import digitalio
import supervisor
from adafruit_wiznet5k.adafruit_wiznet5k import WIZNET5K

MAC = "02:08:dc:55:00:01"  # locally administered: the chip has none of its own
RESULT = {}
BOOTED_NS = time.monotonic_ns()


def elapsed_us():
    return (time.monotonic_ns() - BOOTED_NS) // 1000


def check_deadline(config):
    if elapsed_us() > config["ready_timeout_s"] * 1_000_000:
        raise OSError("not ready within %s s" % config["ready_timeout_s"])


def make_nic(config):
    RESULT["stage"] = "nic"
    rstn = digitalio.DigitalInOut(board.GP_RSTN)
    rstn.switch_to_output(False)
    time.sleep(0.001)  # T_RC, the shortest reset pulse, is 500 us (W5500 datasheet, section 5.5.1)
    rstn.value = True
    spi = busio.SPI(board.GP_SCK, MOSI=board.GP_MOSI, MISO=board.GP_MISO)
    speed = {} if config["spi_hz"] is None else {"spi_baudrate": config["spi_hz"]}
    eth = WIZNET5K(spi, digitalio.DigitalInOut(board.GP_CSN), is_dhcp=False, mac=MAC, **speed)
    RESULT["spi_hz_actual"] = getattr(spi, "frequency", None)
    return eth


def make_socket(eth):
    try:
        from adafruit_wiznet5k.adafruit_wiznet5k_socketpool import SocketPool

        return SocketPool(eth).socket()
    except ImportError:  # releases before 7.0.0 (April 2024)
        import adafruit_wiznet5k.adafruit_wiznet5k_socket as socket

        socket.set_interface(eth)
        return socket.socket()


def get_ready(config):
    eth = make_nic(config)
    RESULT["stage"] = "link"
    while not eth.link_status:  # PHYCFGR bit 0
        check_deadline(config)
        time.sleep(0.005)
    RESULT["link_us"] = elapsed_us()
    RESULT["stage"] = "address"
    if config["address_mode"] == "dhcp":
        while True:
            try:
                eth.set_dhcp()
                break
            except RuntimeError:  # the driver gave up waiting for a lease
                check_deadline(config)
    else:
        eth.ifconfig = tuple(eth.unpretty_ip(part) for part in config["static"])
    RESULT["address"] = eth.pretty_ip(eth.ip_address)
    RESULT["stage"] = "listen"
    listener = make_socket(eth)
    listener.bind((None, config["port"]))
    listener.listen()
    RESULT["ready_us"] = elapsed_us()
    while not supervisor.runtime.serial_connected:
        check_deadline(config)
        time.sleep(0.005)
    print("PORTBENCH-LISTENING", json.dumps({"address": RESULT["address"], "port": config["port"]}))
    return listener


def workload(listener, **settings):
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
        RESULT["spi_hz_asked"] = config["spi_hz"]
        workload(get_ready(config), **config)
    except Exception as error:
        traceback.print_exception(error)
        RESULT["error"] = repr(error).replace(",)", ")")
    done_us = elapsed_us()
    while not supervisor.runtime.serial_connected and elapsed_us() - done_us < config["ready_timeout_s"] * 1_000_000:
        time.sleep(0.005)
    print("PORTBENCH", json.dumps(RESULT))


main()
