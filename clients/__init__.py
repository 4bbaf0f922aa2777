"""Ping-pong clients, one script per firmware family, and what has to be deployed beside each."""

from clients.deployment import ClientConfig, DeploymentError, StaticAddress, build_deployment

__all__ = ["ClientConfig", "DeploymentError", "StaticAddress", "build_deployment"]
