"""Pages that real firmware serves on emulated boards: exact, for only simulated time decides."""

from __future__ import annotations

import statistics

import pytest

from portbench.results.model import Row, Status
from portbench.workloads import workload
from tests.measuring import Measure
from tests.measuring import measured_row as measured_row

pytestmark = pytest.mark.engine
HTTP = workload("http")


@pytest.fixture
def pages(measured_row: Measure) -> Measure:
    def measured(runtime: str, profile: str, **settings: object) -> Row:
        row = measured_row(HTTP, runtime, profile, **settings)
        assert row.status is Status.MEASURED, row.reason
        return row

    return measured


@pytest.mark.parametrize("settings", [{}, {"page": "dynamic", "at_once": 4}, {"keep_alive": 3}])
@pytest.mark.parametrize("runtime", ["wiznet-hardwired", "micropython-1.26.0"])
def test_two_fresh_boards_serve_alike(runtime: str, settings: dict[str, object], pages: Measure) -> None:
    first, second = (pages(runtime, "tuned", requests=6, **settings) for _ in range(2))
    assert first.figures == second.figures and first.samples == second.samples
    assert first.figures["completed"] == 6 and first.figures["failed"] == 0


def test_circuitpython_serves_one_client_after_the_other(pages: Measure) -> None:
    assert pages("circuitpython-9.1.4", "as-published", requests=3).figures["completed"] == 3


def test_lwip_keeps_an_early_request_until_its_250_ms_timer(pages: Measure) -> None:
    """But not the second one of a connection."""
    row = pages("micropython-1.26.0", "tuned", requests=6, keep_alive=2)
    first, second = row.samples["processing_us"][::2], row.samples["processing_us"][1::2]
    assert statistics.median(first) > 200_000 > 10_000 > max(second)
