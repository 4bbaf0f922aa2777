"""The command in this process, for jobs of a command line."""

from tests.cli.conftest import invoke as invoke
