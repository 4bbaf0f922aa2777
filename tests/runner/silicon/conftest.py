"""The fixtures of the command line, for the verb `check silicon`."""

from tests.runner.cli.conftest import empty, environment, invoke, start

__all__ = ["empty", "environment", "invoke", "start"]
