"""The signals that end a process: Ctrl-C, SIGTERM and the loss of its terminal."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final, NoReturn

ENDING: Final = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)  # Windows has two
)


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Defer signals that have a handler to the end of the block, while it acquires or releases something. Keep it
    short. Does nothing in other threads than the main one, which alone gets signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    handled = {number: handler for number in ENDING if callable(handler := signal.getsignal(number))}
    for number in handled:
        signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for number, frame in came[:1]:
            handled[number](number, frame)


def end_at_first_signal(end: Callable[[int], NoReturn]) -> None:
    """Call `end` at the first signal. Later ones are ignored, so that they do not disturb the cleaning up.

    A signal that is ignored now stays ignored, as nohup wants it.
    """
    taken = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]

    def take(number: int, frame: FrameType | None) -> NoReturn:
        for each in taken:
            signal.signal(each, signal.SIG_IGN)
        end(number)

    for number in taken:
        signal.signal(number, take)
