"""Workloads that foreign images can play too: opaque images, which the PC alone times."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from portbench.workloads.conversation import Requests
from portbench.workloads.figures import Measurement
from portbench.workloads.load_generator import LoadGenerator
from portbench.workloads.served import Served
from portbench.workloads.session import Session
from portbench.workloads.workload import Readiness, Workload


class _Played(Workload):
    def foreign_lacks(self, image: bytes, settings: Any) -> str | None:
        """Why an image with that content cannot play, as one clause; None if the content does not say."""
        return None

    def foreign_exchanges(self, settings: Any) -> int:
        """The number of exchanges with an image in a run."""
        return self.exchanges(settings)


class ForeignClient(_Played, Served):
    """The image connects to the PC's server, and has one connection."""

    @abstractmethod
    def measure_session(self, session: Session, settings: Any) -> Measurement:
        """The figures of a `session` with its `foreign_exchanges`. Raises BadResult."""


class ForeignServer(_Played):
    """The image listens."""

    readiness = Readiness.LISTENING

    @abstractmethod
    def foreign_calls(self, settings: Any, max_bytes: int) -> LoadGenerator | Requests:
        """Return how the PC calls the image: by connections to the load generator's `port`, or by datagrams."""

    @abstractmethod
    def measure_calls(self, sessions: Sequence[Session], settings: Any) -> Measurement:
        """The figures of an image from the PC's records of all connections to it. Raises BadResult."""


Foreign = ForeignClient | ForeignServer
