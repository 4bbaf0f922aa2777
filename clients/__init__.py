"""Clients: one folder per family with what brings a board up, and what has to be deployed with a workload's body."""

from portbench.clients.deployment import AddressMode, ClientNetwork, StaticAddress, build_deployment
from portbench.clients.families import FAMILIES
from portbench.clients.nic_line import nic_line

__all__ = [
    "FAMILIES",
    "AddressMode",
    "ClientNetwork",
    "StaticAddress",
    "build_deployment",
    "nic_line",
]
