"""Rows of it: the rest is the workload http's."""

from __future__ import annotations

import pytest

from portbench.results.model import Status
from portbench.workloads import workload
from portbench.workloads.http.workload import Settings
from tests.measuring import Measure
from tests.measuring import measured_row as measured_row

HTTPSERVER = workload("http_httpserver")


def test_it_asks_as_http_does_and_has_a_body_of_its_own() -> None:
    http = workload("http")
    assert HTTPSERVER.settings_type is http.settings_type and HTTPSERVER.columns == http.columns
    assert HTTPSERVER.body("micropython") is None and HTTPSERVER.native() is None
    body = HTTPSERVER.body("circuitpython")
    assert body is not None and body.parent == HTTPSERVER.folder != http.folder
    assert HTTPSERVER.libraries("circuitpython", Settings()) == ("adafruit-circuitpython-httpserver",)


def test_it_keeps_no_connection() -> None:
    HTTPSERVER.check_room("circuitpython", Settings())
    with pytest.raises(ValueError, match="closes each connection after its answer; leave keep_alive out"):
        HTTPSERVER.check_room("circuitpython", Settings(keep_alive=2))


@pytest.mark.engine
@pytest.mark.slow
def test_circuitpython_serves_both_pages(measured_row: Measure) -> None:
    row = measured_row(HTTPSERVER, "circuitpython-9.1.4", "as-published", requests=2, page="dynamic")
    assert row.status is Status.MEASURED, row.reason
    assert (row.figures["completed"], row.figures["failed"]) == (2, 0)
