"""Ping: how long a board takes for an ICMP echo while its program waits."""
