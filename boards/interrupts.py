"""Blocks that Ctrl-C and other signals do not break off."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Hold signals that have a handler back until the end of the block, which is to be short. Only the main thread sees
    signals at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    numbers = (getattr(signal, name) for name in _NAMES if hasattr(signal, name))
    handled = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    for number in handled:
        signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for number, frame in came[:1]:
            handled[number](number, frame)
