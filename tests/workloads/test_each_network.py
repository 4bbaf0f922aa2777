"""A short row of each workload on each kind of network, by each Python that runs it there."""

from __future__ import annotations

from itertools import product

import pytest

from portbench.boards import board_definition
from portbench.firmware import catalogue
from portbench.results.model import Status
from portbench.runner.plan import why_not
from portbench.workloads import Readiness, workload, workloads
from tests.measuring import Measure
from tests.measuring import measured_row as measured_row

RUNTIMES = ("micropython-1.26.0", "micropython-pico-w-1.26.1", "circuitpython-9.1.4", "circuitpython-pico2-w-10.0.0")
ROUGH = [("fill", "circuitpython-pico2-w-10.0.0")]
"""Whose times need as many bytes as by default: the air and lwIP's timer put them off the line."""


def _runs(name: str, runtime: str) -> bool:
    entry = catalogue.load().get(runtime)
    asked = workload(name)
    return asked.readiness is not Readiness.BOOTED and why_not(entry, board_definition(entry.board), asked) is None


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize(
    ("runtime", "name"), [(each, name) for each, name in product(RUNTIMES, workloads()) if _runs(name, each)]
)
def test_each_workload_is_measured_on_each_network(runtime: str, name: str, measured_row: Measure) -> None:
    asked = workload(name)
    profile = catalogue.load().get(runtime).profiles[-1].name
    settings = asked.settings_type() if (name, runtime) in ROUGH else asked.quick()
    row = measured_row(asked, runtime, profile, **settings.model_dump(exclude_unset=True))
    assert row.status is Status.MEASURED, row.reason
