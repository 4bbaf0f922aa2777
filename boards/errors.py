"""Faults of boards. Each error's text is one line that says what was found, where, and what to do about it."""

from portbench.errors import PortbenchError


class BoardError(PortbenchError):
    """Anything that keeps a board from doing what it was asked; the base of all the others."""


class DeadlineExceeded(BoardError):
    """A wait ended without what it waited for. Says what it waited for and for how long."""


class UnknownBoard(BoardError):
    """A board name that no definition has. Lists the names there are."""


class BadDefinition(BoardError):
    """A board's file that cannot be used. Names file, key, value and fix."""


class BoardUnavailable(BoardError):
    """No such board here: not built, not plugged in, not on this operating system. Says what would provide it."""


class BrokenSetup(BoardError):
    """This installation, or this user's folder, can run no emulated board at all: no row is to hide that."""


class FlashFailed(BoardError):
    """The image could not be programmed."""


class DeployFailed(BoardError):
    """The client's files could not be put on the board, or were not the same when read back."""


class WrongRuntime(BoardError):
    """The runtime that answers is not the one that was flashed. Names both."""


class ConsoleLost(BoardError):
    """The board's console went away or its process ended before the result line."""
