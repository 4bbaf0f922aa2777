"""Boards plugged in somewhere else, of which the console is reached over the network."""

from portbench.boards.remote.board import RemoteBoard

__all__ = ["RemoteBoard"]
