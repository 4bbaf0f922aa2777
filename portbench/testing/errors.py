"""How a wait in simulated time fails."""

from __future__ import annotations

from portbench.errors import PortbenchError


class NothingCame(PortbenchError, AssertionError):
    """What a test waited for did not come; the text says what came instead."""
