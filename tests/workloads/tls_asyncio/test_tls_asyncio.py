"""Rows of the workload tls_asyncio on this PC and on an emulated board."""

import pytest

from portbench.results.model import Status
from portbench.workloads import workload
from tests.measuring import Measure

TLS = workload("tls_asyncio")


@pytest.mark.engine
@pytest.mark.slow
def test_an_emulated_row_checks_the_certificate(measured_row: Measure) -> None:
    row = measured_row(TLS, "micropython-1.28.0", "tuned", key="rsa-2048", transfer_bytes=1024)
    assert row.status is Status.MEASURED, row.reason
    assert row.figures["certificate_and_key_exchange_us"] < 1000 * row.figures["handshake_ms"]
