"""The command in this process, and as a person starts it."""

from tests.runner.cli.conftest import empty, environment, in_process, invoke

__all__ = ["empty", "environment", "in_process", "invoke"]
