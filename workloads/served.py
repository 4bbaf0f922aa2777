"""Workloads in which the PC is the server: the board connects to it."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar

from portbench.workloads.conversation import ClientReport, Conversation, Datagrams
from portbench.workloads.workload import Readiness, Workload


class Served(Workload):
    """The board connects to the PC's server; the body gets the open connection."""

    readiness = Readiness.CONNECTED
    secured: ClassVar[bool] = False
    """The server decrypts a connection that begins with a TLS handshake, and serves others as they are. The client
    chooses the server's certificate by name: `portbench.certificates.server_name`."""
    patience_us: ClassVar[float | None] = None
    """The longest silence of a connected board in simulated time, after which it hangs; None: no limit."""

    @abstractmethod
    def conversation(self, max_bytes: int) -> Conversation:
        """The PC's side of one connection; it keeps at most `max_bytes`."""

    def service(self, max_bytes: int) -> Callable[[], Conversation]:
        """Return the maker of one server's conversations, from its start to its end; they may share state."""
        return lambda: self.conversation(max_bytes)

    def datagrams(self) -> Datagrams | None:
        """The PC's UDP port beside a conversation; None: it has none."""
        return None

    def ideal_client(self, exchanges: int) -> Iterable[tuple[bytes, bytes]]:
        """The bytes of a correct client, with the expected answers, to measure the share of this PC."""
        return ()


def service_of(workload: Workload, max_bytes: int) -> Callable[[], Conversation]:
    """Return the maker of the PC's conversations in any workload: a client without a console reports to it."""
    return workload.service(max_bytes) if isinstance(workload, Served) else lambda: ClientReport(max_bytes)
