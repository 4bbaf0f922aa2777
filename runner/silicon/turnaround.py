"""Time that this PC takes to answer: round trips with a workload's own server over the loopback."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from portbench.server.tcp import WorkloadServer, round_trips_us
from portbench.workloads import Served

_EXCHANGES = 2000
_WARM_UP = 200


@dataclass(frozen=True)
class Distribution:
    """Microseconds: the tenth, the half and nine tenths of `count` round trips are below."""

    count: int
    p10_us: float
    median_us: float
    p90_us: float

    @classmethod
    def of(cls, values_us: list[float]) -> Distribution:
        tenths = statistics.quantiles(values_us, n=10, method="inclusive")
        return cls(len(values_us), tenths[0], statistics.median(values_us), tenths[-1])

    def whole_us(self) -> list[int]:
        return [round(each) for each in (self.p10_us, self.median_us, self.p90_us)]


def measure(workload: Served) -> Distribution:
    """Both TCP stacks, the wake-ups and the server are in it; a network adapter is not."""
    with WorkloadServer(workload, "127.0.0.1", 0) as server:
        values = round_trips_us(server.host, server.port, workload.ideal_client(_WARM_UP + _EXCHANGES))
    return Distribution.of(values[_WARM_UP:])
