"""Bulk: how many megabits a second a board sends and takes over TCP, by the size of its writes."""
