"""The plugin by the name that older installations load it by."""

from portbench.runner.plugin import *  # noqa: F403
