"""The failure of a wait in simulated time."""

from portbench.console import shown
from portbench.errors import PortbenchError


class NothingCame(PortbenchError, AssertionError):
    """A test waited in vain; the text has the last events, and its lines are fit for a terminal."""

    def __init__(self, text: str) -> None:
        super().__init__("\n".join(map(shown, text.splitlines())))
