"""The command in this process, and as a person starts it."""

from tests.runner.cli.conftest import empty, environment, invoke, start

__all__ = ["empty", "environment", "invoke", "start"]
