"""An Ethernet chip of WIZnet's on SPI, with Adafruit's adafruit_wiznet5k."""

import time

import board
import busio
import digitalio
from adafruit_wiznet5k.adafruit_wiznet5k import WIZNET5K
from portbench_client import RESULT, check_deadline, elapsed_us

MAC = "02:08:dc:55:00:01"  # locally administered: the chip has none of its own


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


def socket_maker(eth):
    try:
        from adafruit_wiznet5k.adafruit_wiznet5k_socketpool import SocketPool

        return SocketPool(eth).socket
    except ImportError:  # releases before 7.0.0 (April 2024)
        import adafruit_wiznet5k.adafruit_wiznet5k_socket as socket

        socket.set_interface(eth)
        return socket.socket


def get_address(config):
    eth = make_nic(config)
    make_socket = socket_maker(eth)
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
    return make_socket
