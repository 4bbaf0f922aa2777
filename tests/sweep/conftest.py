"""The command as a person starts it."""

from tests.cli.conftest import empty, environment, start

__all__ = ["empty", "environment", "start"]
