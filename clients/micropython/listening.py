"""WORKLOAD_TITLE client for MicroPython on a BOARD_MACHINE: official builds (lwIP) and WIZnet's (hardwired TCP/IP).

Runs as main.py beside portbench_config.json. Prints where it listens, PORTBENCH-LISTENING {...}, and at the end one line,
PORTBENCH {...}, which it keeps in RESULT.
"""

import json
import socket
import sys
import time
from array import array

import network
from machine import SPI, Pin

try:
    import lwip  # noqa: F401  only builds whose TCP/IP is lwIP have a use for the INTn pin

    LWIP = True
except ImportError:
    LWIP = False

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
    RESULT["intn"] = LWIP and config["intn"]
    if RESULT["intn"] and config["spi_hz"] is None:
        try:
            return network.WIZNET5K()  # the board's defaults: 20 MHz, INTn
        except TypeError:
            pass  # a build without defaults for this board wants its pins spelled out
    spi = SPI(BOARD_SPI_ID, config["spi_hz"] or BOARD_SPI_HZ, mosi=Pin(BOARD_MOSI_PIN), miso=Pin(BOARD_MISO_PIN), sck=Pin(BOARD_SCK_PIN))
    if RESULT["intn"]:
        try:
            return network.WIZNET5K(spi, Pin(BOARD_CSN_PIN), Pin(BOARD_RSTN_PIN), Pin(BOARD_INTN_PIN))
        except TypeError:
            RESULT["intn"] = False  # a build from before INTn was supported
    return network.WIZNET5K(spi, Pin(BOARD_CSN_PIN), Pin(BOARD_RSTN_PIN))


def spi_hz_actual():
    text = str(SPI(BOARD_SPI_ID))  # no arguments: shows the bus as it is
    return int(text[text.index("baudrate=") + 9 :].split(",")[0])


def get_ready(config):
    RESULT["stage"] = "nic"
    nic = make_nic(config)
    nic.active(True)
    RESULT["stage"] = "link"
    while hasattr(nic, "status") and not nic.status():  # PHYCFGR bit 0
        remaining_ms(config)
        time.sleep_ms(5)
    RESULT["link_us"] = elapsed_us()
    RESULT["stage"] = "address"
    while True:
        try:
            nic.ifconfig("dhcp" if config["address_mode"] == "dhcp" else tuple(config["static"]))
            break
        except OSError:  # the driver gave up waiting for a lease, after 10 s (lwIP) or 12 s (hardwired)
            remaining_ms(config)
    while not nic.isconnected():
        remaining_ms(config)
        time.sleep_ms(5)
    RESULT["address"] = nic.ifconfig()[0]
    RESULT["spi_hz_actual"] = spi_hz_actual()
    RESULT["stage"] = "listen"
    listener = socket.socket()
    listener.bind(("", config["port"]))
    listener.listen(4)  # a hardwired build takes one at a time, whatever it is told
    RESULT["ready_us"] = elapsed_us()
    print("PORTBENCH-LISTENING", json.dumps({"address": RESULT["address"], "port": config["port"]}))
    return listener


def workload(listener, **settings):
    """The workload's body takes this place."""


def main():
    RESULT["runtime"] = sys.implementation.name
    RESULT["version"] = ".".join(str(part) for part in sys.implementation.version[:3])
    RESULT["machine"] = getattr(sys.implementation, "_machine", "")
    try:
        with open("portbench_config.json") as file:
            config = json.load(file)
        RESULT["address_mode"] = config["address_mode"]
        RESULT["spi_hz_asked"] = config["spi_hz"]
        workload(get_ready(config), **config)
    except Exception as error:
        sys.print_exception(error)
        RESULT["error"] = repr(error).replace(",)", ")")
    print("PORTBENCH", json.dumps(RESULT))


main()
