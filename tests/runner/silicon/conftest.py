"""The fixture of the command line, for the verb `check silicon`."""

from tests.runner.cli.conftest import invoke

__all__ = ["invoke"]
