"""Fake boards, whose consoles the tests put on the network."""

from tests.boards.usb.conftest import boards, deadline, own_locks  # noqa: F401  (fixtures)
