"""`portbench`: the command, and what all of its verbs share."""

from portbench.runner.cli.group import main, portbench

__all__ = ["main", "portbench"]
