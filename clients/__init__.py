"""Ping-pong clients, one script per firmware family, and what has to be deployed beside each."""

from portbench.clients.deployment import AddressMode, ClientConfig, StaticAddress, build_deployment
from portbench.clients.errors import DeploymentError

__all__ = ["AddressMode", "ClientConfig", "DeploymentError", "StaticAddress", "build_deployment"]
