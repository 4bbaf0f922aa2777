"""The errors that a user may cause or meet, under one base. A separate class exists only if some code tells it
apart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class PortbenchError(Exception):
    """One line for the user: the file or option, the value, and the fix."""


class OptionError(PortbenchError):
    """A wrong word on the command line; the command ends with status 2."""


class UnknownName(PortbenchError):
    """A board or a workload that does not exist here. Lists the names there are."""


class LibraryMissing(PortbenchError):
    """An optional library is not installed. Names the extra that brings it."""

    @classmethod
    @contextmanager
    def unless_installed(cls, extra: str, purpose: str) -> Iterator[None]:
        """For a block that imports libraries of `extra`, late since they take a second. `purpose` needs them."""
        try:
            yield
        except ImportError as error:
            raise cls(f"{purpose} needs {error.name}; install it: pip install 'portbench[{extra}]'") from error


class BoardError(PortbenchError):
    """A board did not do as it was asked."""


class DeadlineExceeded(BoardError):
    """A wait ended in vain. Says what it waited for and how long."""


class BoardUnavailable(BoardError):
    """No such board here: not built, not plugged in, not on this operating system. Says what would provide it."""


class BrokenSetup(BoardError):
    """This installation, or this user's folder, can run no emulated board at all; it ends the whole run."""


class ConsoleLost(BoardError):
    """The board's console went away, or its process ended, before the result line."""
