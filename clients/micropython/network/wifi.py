"""A radio chip, with the driver that the firmware has; it asks for an address by itself as soon as it has joined."""

import time

import network
from portbench_client import RESULT, elapsed_us, remaining_ms

JOINS = 3  # how often a network is looked for that is not found


def make_nic(config):
    nic = network.WLAN(network.STA_IF)
    nic.active(True)
    if config["power_save"] is not None:
        nic.config(pm=network.WLAN.PM_PERFORMANCE if config["power_save"] else network.WLAN.PM_NONE)
    return nic


def join(nic, config):
    """Until the driver says that it is joined and has an address; refused ends it, not found only after some attempts."""
    RESULT["join_attempts"] = 0
    status = 0
    while status != 3:  # CYW43_LINK_UP
        RESULT["join_attempts"] += 1
        if config["passphrase"] is None:
            nic.connect(config["ssid"])
        else:
            nic.connect(config["ssid"], config["passphrase"])
        status = nic.status()
        while 0 <= status < 3:
            if status == 2 and "link_us" not in RESULT:  # CYW43_LINK_NOIP: joined
                RESULT["link_us"] = elapsed_us()
                RESULT["stage"] = "address"
            remaining_ms(config)
            time.sleep_ms(5)
            status = nic.status()
        if status == -3:  # CYW43_LINK_BADAUTH
            raise OSError("the access point refused the passphrase")
        if status < 0:  # CYW43_LINK_FAIL, CYW43_LINK_NONET
            RESULT["last_join_status"] = status
            if RESULT["join_attempts"] == JOINS:
                raise OSError("not joined after %s attempts: status %s" % (JOINS, status))
    RESULT.setdefault("link_us", elapsed_us())


def get_address(config):
    RESULT["stage"] = "nic"
    nic = make_nic(config)
    RESULT["stage"] = "link"
    if config["address_mode"] != "dhcp":
        nic.ifconfig(tuple(config["static"]))
    join(nic, config)
    RESULT["address"] = nic.ifconfig()[0]
    RESULT["rssi_dbm"] = nic.status("rssi")
