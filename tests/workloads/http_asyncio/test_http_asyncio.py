"""Rows of it: the rest is the workload http's."""

from __future__ import annotations

import pytest

from portbench.results.model import Status
from portbench.workloads import workload
from tests.measuring import Measure
from tests.measuring import measured_row as measured_row

HTTP_ASYNCIO = workload("http_asyncio")


def test_it_asks_as_http_does_and_has_a_body_of_its_own() -> None:
    http = workload("http")
    assert HTTP_ASYNCIO.settings_type is http.settings_type and HTTP_ASYNCIO.columns == http.columns
    assert HTTP_ASYNCIO.body("circuitpython") is None
    body = HTTP_ASYNCIO.body("micropython")
    assert body is not None and body.parent == HTTP_ASYNCIO.folder != http.folder


@pytest.mark.parametrize("settings", [{"at_once": 3}, {"page": "dynamic", "keep_alive": 3}])
def test_a_hosted_row(settings: dict[str, object], measured_row: Measure) -> None:
    row = measured_row(HTTP_ASYNCIO, "micropython-unix", requests=6, **settings)
    assert row.status is Status.MEASURED, row.reason
    assert (row.figures["completed"], row.figures["failed"]) == (6, 0)


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["micropython-1.26.0"])
def test_a_row_repeats_exactly(runtime: str, measured_row: Measure) -> None:
    first, second = (measured_row(HTTP_ASYNCIO, runtime, "tuned", requests=4) for _ in range(2))
    assert first.status is Status.MEASURED, first.reason
    assert first.figures == second.figures and first.samples == second.samples


@pytest.mark.engine
@pytest.mark.slow
def test_a_hardwired_build_cannot_and_says_so(measured_row: Measure) -> None:
    row = measured_row(HTTP_ASYNCIO, "wiznet-hardwired", "tuned", requests=2)
    assert row.status is Status.UNSUPPORTED and "this port's sockets cannot be non-blocking" in (row.reason or "")
