"""The wait of commands that run until Ctrl-C."""

from __future__ import annotations

import itertools
import signal
import sys
from types import FrameType
from typing import Any

import pytest

from portbench.runner.cli import serving


@pytest.mark.parametrize("moment", range(12))
def test_a_signal_at_any_moment_of_a_wait_ends_it(moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It did not end where it came while `threading.Event.wait` held the lock of the event."""
    monkeypatch.setattr(serving, "_LOOK_S", 0.001)
    lines = itertools.count()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if next(lines) == moment:
            signal.raise_signal(signal.SIGTERM)
        return trace

    with serving.until_stopped() as goes_on:
        sys.settrace(trace)
        try:
            for _ in range(20):
                goes_on()
        finally:
            sys.settrace(None)
        assert not goes_on()
