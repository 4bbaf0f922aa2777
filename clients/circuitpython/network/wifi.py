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

    def __init__(self, sock, pool):
        self._sock = sock
        self._socket_pool = pool
        self._buffer = bytearray(0)
        self.send = sock.send
        self.sendto = sock.sendto
        self.settimeout = sock.settimeout
        self.close = sock.close
        self.connect = sock.connect

    def _room(self, count):
        if len(self._buffer) < count:
            self._buffer = bytearray(count)
        return memoryview(self._buffer)[:count]

    def recv(self, count):
        room = self._room(count)
        return bytes(room[: self._sock.recv_into(room, count)])

    def recvfrom(self, count):
        room = self._room(count)
        got, peer = self._sock.recvfrom_into(room)
        return bytes(room[:got]), peer

    def bind(self, address):
        self._sock.bind(("0.0.0.0", address[1]))

    def listen(self):
        self._sock.listen(4)

    def accept(self):
        sock, peer = self._sock.accept()
        return Socket(sock, self._socket_pool), peer


class Sockets:
    """The image's pool, of which bodies know what Adafruit's drivers have."""

    def __init__(self, pool):
        self._pool = pool
        self.AF_INET = pool.AF_INET
        self.SOCK_DGRAM = pool.SOCK_DGRAM

    def socket(self, *kind):
        return Socket(self._pool.socket(*kind), self)


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
    return Sockets(socketpool.SocketPool(nic)).socket
