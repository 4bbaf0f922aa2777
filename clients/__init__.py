"""Clients: one folder of scripts per family that bring a board up, and the deployment with a workload's body."""

from portbench.clients.deployment import AddressMode, ClientNetwork, build_deployment
from portbench.clients.families import FAMILIES
from portbench.clients.nic_line import nic_line
from portbench.firmware.native_config import StaticAddress

__all__ = [
    "FAMILIES",
    "AddressMode",
    "ClientNetwork",
    "StaticAddress",
    "build_deployment",
    "nic_line",
]
