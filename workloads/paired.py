"""Workloads of two boards, without the PC."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from portbench.workloads.settings import WorkloadSettings
from portbench.workloads.workload import Readiness, Workload


class Paired(Workload):
    """The board connects to a second board, its partner, in the place of the PC. Both run a body."""

    readiness = Readiness.CONNECTED
    boards_only = True

    @abstractmethod
    def serving(self, settings: Any, family: str) -> tuple[Workload, WorkloadSettings]:
        """The partner's part. `family`: the family of the first board's client."""

    @abstractmethod
    def reported(self, served: Mapping[str, Any]) -> Mapping[str, Any]:
        """The result of a client without a console, from the result of the partner. Raises BadResult."""
