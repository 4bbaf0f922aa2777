"""Actions of the test drivers' power switch and BOOTSEL button, set by the tests."""

from collections.abc import Callable

drive: Callable[[], str] = str
"""The folder that is the board's drive."""
power_cycle: Callable[[], None] = lambda: None  # noqa: E731
button: list[bool] = []
"""Every position of the BOOTSEL button so far."""
