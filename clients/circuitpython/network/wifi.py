"""A radio chip, with the image's own wifi and socketpool."""

import ipaddress
import time

import cyw43
import socketpool
import wifi
from portbench_client import RESULT, check_deadline, elapsed_us

JOINS = 3  # how often a join is tried that fails


class Socket:
    """The image's sockets have recv_into only; bodies ask for what comes, as Adafruit's drivers give it."""

    def __init__(self, sock):
        self._sock = sock
        self._buffer = bytearray(0)
        self.send = sock.send
        self.close = sock.close
        self.connect = sock.connect

    def recv(self, count):
        if len(self._buffer) < count:
            self._buffer = bytearray(count)
        got = self._sock.recv_into(self._buffer, count)
        return bytes(memoryview(self._buffer)[:got])

    def bind(self, address):
        self._sock.bind(("0.0.0.0", address[1]))

    def listen(self):
        self._sock.listen(4)

    def accept(self):
        sock, peer = self._sock.accept()
        return Socket(sock), peer


def make_nic(config):
    nic = wifi.radio
    if config["power_save"] is not None:
        cyw43.set_power_management(cyw43.PM_PERFORMANCE if config["power_save"] else cyw43.PM_DISABLED)
    return nic


def join(nic, config):
    """Until the driver says that it is joined."""
    RESULT["join_attempts"] = 0
    while not nic.ipv4_address:
        check_deadline(config)
        RESULT["join_attempts"] += 1
        try:
            nic.connect(config["ssid"], config["passphrase"] or "")
            return
        except ConnectionError as error:
            RESULT["last_join_error"] = repr(error)
            if "uthentication" in str(error) or RESULT["join_attempts"] == JOINS:
                raise


def get_address(config):
    RESULT["stage"] = "nic"
    nic = make_nic(config)
    RESULT["stage"] = "link"
    join(nic, config)
    RESULT["link_us"] = elapsed_us()
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
    return lambda: Socket(pool.socket())
