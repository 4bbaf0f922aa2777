"""Boards plugged in somewhere else, of which the console is reached over the network."""

from boards.remote.board import RemoteBoard

__all__ = ["RemoteBoard"]
