"""The command in this process, for jobs of a command line."""

from tests.runner.cli.conftest import invoke as invoke
