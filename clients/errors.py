"""Faults of what is to be deployed."""


class DeploymentError(RuntimeError):
    """A client's files cannot be put together. One line that says what is missing and what would provide it."""
