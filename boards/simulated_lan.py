"""The addresses of the LAN that an emulated board brings along; imported without the engine."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Final

PC_IP: Final = IPv4Address("192.168.50.1")
"""The simulated PC: DHCP server, gateway, and where a workload's server is."""
SERVER_PORT: Final = 5000
MASK: Final = IPv4Address("255.255.255.0")


def board_address(pc: IPv4Address = PC_IP) -> IPv4Address:
    """A free address on the simulated PC's network: below its DHCP server's pool."""
    return IPv4Address((int(pc) & int(MASK)) | 10)
