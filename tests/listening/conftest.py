"""Rows of a user's workload that the PC begins, measured by a bench as any other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from portbench.results.model import Row
from portbench.workloads import workload
from tests import measuring
from tests.measuring import measured_row as measured_row
from tests.workloads.conftest import own_workloads as own_workloads

Measure = Callable[..., Row]
benches = pytest.fixture(measuring.benches, scope="package")


@pytest.fixture
def measure(own_workloads: None, measured_row: measuring.Measure) -> Measure:
    """Measures the echo server once; `settings` are the workload's."""

    def measured(runtime: str, profile: str = "hosted", **settings: int) -> Row:
        return measured_row(workload("echo_server"), runtime, profile, **settings)

    return measured
