"""The one base of every error that a user may cause or meet."""

from __future__ import annotations


class PortbenchError(Exception):
    """One line for the user: the file or option, the value, and the fix."""


class OptionError(PortbenchError):
    """A wrong word on the command line; the command ends with status 2."""
