"""How a wait in simulated time fails."""

from __future__ import annotations


class NothingCame(AssertionError):
    """What a test waited for did not come; the text says what came instead."""
