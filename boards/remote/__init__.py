"""Boards plugged in somewhere else, of which the console is reached over the network."""
