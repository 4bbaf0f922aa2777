"""Interpreter: how fast a port runs Python itself, loop by loop, without any network."""
