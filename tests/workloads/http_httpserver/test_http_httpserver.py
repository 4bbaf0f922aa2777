"""Rows of it: the rest is the workload http's."""

import pytest

from portbench.workloads import Foreign, Native, workload
from portbench.workloads.http.workload import Settings

HTTPSERVER = workload("http_httpserver")


def test_it_asks_as_http_does_and_has_a_body_of_its_own() -> None:
    http = workload("http")
    assert HTTPSERVER.settings_type is http.settings_type and HTTPSERVER.columns == http.columns
    assert HTTPSERVER.body("micropython") is None and not isinstance(HTTPSERVER, Native | Foreign)
    body = HTTPSERVER.body("circuitpython")
    assert body is not None and body.parent == HTTPSERVER.folder != http.folder
    assert HTTPSERVER.libraries("circuitpython", Settings()) == ("adafruit-circuitpython-httpserver",)


def test_it_keeps_no_connection() -> None:
    HTTPSERVER.check_room("circuitpython", Settings())
    with pytest.raises(ValueError, match="closes each connection after its answer; leave keep_alive out"):
        HTTPSERVER.check_room("circuitpython", Settings(keep_alive=2))
