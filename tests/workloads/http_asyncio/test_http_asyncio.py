"""Rows of it: the rest is the workload http's."""

import pytest

from portbench.results.model import Status
from portbench.workloads import workload
from tests.measuring import Measure

HTTP_ASYNCIO = workload("http_asyncio")


def test_it_asks_as_http_does_and_has_a_body_of_its_own() -> None:
    http = workload("http")
    assert HTTP_ASYNCIO.settings_type is http.settings_type and HTTP_ASYNCIO.columns == http.columns
    assert HTTP_ASYNCIO.body("circuitpython") is None
    body = HTTP_ASYNCIO.body("micropython")
    assert body is not None and body.parent == HTTP_ASYNCIO.folder != http.folder


@pytest.mark.engine
@pytest.mark.slow
def test_a_hardwired_build_cannot_and_says_so(measured_row: Measure) -> None:
    row = measured_row(HTTP_ASYNCIO, "wiznet-hardwired", "tuned", requests=2)
    assert row.status is Status.UNSUPPORTED and "this port's sockets cannot be non-blocking" in (row.reason or "")
