"""Fake boards, whose consoles the tests put on the network."""

from tests.usb.conftest import boards, deadline, own_locks  # noqa: F401  (fixtures)
