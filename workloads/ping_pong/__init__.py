"""Ping-pong: how many small messages a second a port exchanges with a TCP server."""
