"""For verbs that go on until somebody ends them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOOK_S = 0.1


@contextmanager
def until_stopped() -> Iterator[Callable[[], bool]]:
    """Gives a function that waits a moment, and then says whether to go on: not after Ctrl-C or SIGTERM."""
    ended = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: ended.set())
    try:
        yield lambda: not ended.wait(_LOOK_S)  # short waits, as Windows delivers Ctrl-C only between two
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
