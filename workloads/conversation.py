"""What the PC does on one TCP connection of a workload, as an object without I/O.

Either side may have opened it. The real sockets, the simulated LAN and Blinka's all drive the same object: bytes in,
bytes out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from portbench.errors import PortbenchError
from portbench.workloads.disturbance import Disturbance
from portbench.workloads.pings import PingPlan


class ConversationError(PortbenchError):
    """The board sent something that the workload does not have: one line with the expected and the received data.

    `answer` holds the answer to the complete exchanges before the fault, in the same `receive`.
    """

    def __init__(self, text: str, answer: bytes = b"") -> None:
        super().__init__(text)
        self.answer = answer


class Conversation(ABC):
    """One connection, from its opening to its end. After a fault or the end every call raises."""

    exchanges: int = 0
    """Whole exchanges so far: something came, and its answer was given. Idle limits count from the last."""
    report: dict[str, Any] | None = None
    """What a client without a console told of itself at the end."""
    finished: bool = False
    """The PC closes the connection once it has sent what `receive` has just returned."""

    pings: PingPlan | None = None
    """The pings that the PC sends once this is set, as a call of `receive` may do; once in a conversation."""

    listening: str | None = None
    """The line by which a client without a console told where it waits for the PC."""

    disturbance: Disturbance | None = None
    """What the PC does to the board's network once this is set, as a call of `receive` may do; once."""

    def opened(self) -> bytes:
        """The connection is open; what the PC says first (nothing unless a workload says so)."""
        return b""

    @abstractmethod
    def receive(self, data: bytes) -> bytes:
        """Takes received bytes, however TCP cut them; returns the answer (maybe empty). Raises ConversationError."""

    def pinged(self) -> bytes:
        """All of `pings` have been answered or given up; what to say then."""
        return b""

    @abstractmethod
    def eof(self) -> None:
        """The board has closed. Raises ConversationError where it had not finished what it began."""
