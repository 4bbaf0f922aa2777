"""Everybody else's suites on the emulated board: what they say of it, counted, and held against the last record."""
