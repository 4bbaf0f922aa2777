"""Workloads in which the board is the server: the PC connects to it."""

from abc import abstractmethod
from typing import Any

from portbench.workloads.load_generator import LoadGenerator
from portbench.workloads.workload import Readiness, Workload


class Called(Workload):
    """The PC connects to the board where it listens; the body gets the listening socket."""

    readiness = Readiness.LISTENING

    @abstractmethod
    def load_generator(self, settings: Any, max_bytes: int) -> LoadGenerator:
        """Return the load generator for a listening board; a connection keeps at most `max_bytes`."""
