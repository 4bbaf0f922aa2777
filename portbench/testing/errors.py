"""The failure of a wait in simulated time."""

from __future__ import annotations

from portbench.errors import PortbenchError


class NothingCame(PortbenchError, AssertionError):
    """A test waited in vain; the text tells of the last events."""
