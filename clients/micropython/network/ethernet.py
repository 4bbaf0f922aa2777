"""An Ethernet chip of WIZnet's on SPI, with the driver that the firmware has."""

import time

import network
from machine import SPI, Pin
from portbench_client import LWIP, RESULT, elapsed_us, remaining_ms


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


def get_address(config):
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
