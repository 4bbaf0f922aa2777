"""Duplex: how many megabits a second a board moves over TCP where both sides send at once."""
