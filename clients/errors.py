"""Faults of what is to be deployed."""

from portbench.errors import PortbenchError


class DeploymentError(PortbenchError):
    """A client's files cannot be put together. One line that says what is missing and what would provide it."""
