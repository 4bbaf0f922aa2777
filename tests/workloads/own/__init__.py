"""Workloads as a user has them, beside portbench and not in it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from portbench.workloads import Measurement, Metric, Session, Workload, WorkloadSettings

FOLDER: Final = Path(__file__).parent


class Alone(Workload):
    """Needs no network, and has nothing to run."""

    name = "alone"
    title = "Alone"
    headline = Metric("per_s", "1/s")
    settings_type: type[WorkloadSettings] = WorkloadSettings

    def check(self, result: Mapping[str, Any], settings: Any, sessions: Sequence[Session] = ()) -> Measurement:
        return Measurement({"per_s": 1.0})
