"""A driver that polls its socket."""

from __future__ import annotations

import statistics

import pytest

from portbench.workloads import workload
from tests.measuring import Measure


@pytest.mark.engine
def test_lwip_keeps_an_early_request_until_its_250_ms_timer(measured_row: Measure) -> None:
    """But not the second one of a connection."""
    row = measured_row(workload("http"), "micropython-1.26.0", "tuned", requests=6, keep_alive=2)
    first, second = row.samples["processing_us"][::2], row.samples["processing_us"][1::2]
    assert statistics.median(first) > 200_000 > 10_000 > max(second)
