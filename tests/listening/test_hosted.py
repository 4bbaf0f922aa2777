"""The PC connects to ports that run on it: MicroPython over real sockets, CircuitPython's driver on a simulated LAN."""

from __future__ import annotations

import pytest

from portbench.results.model import Row, Status
from tests.listening.conftest import Measure

RUNTIMES = ["micropython-unix", pytest.param("circuitpython-blinka", marks=pytest.mark.engine)]


def connect_us(row: Row) -> list[float]:
    assert row.status is Status.MEASURED, row.reason
    return row.samples["connect_us"]


@pytest.mark.parametrize(
    ("runtime", "at_once"),
    [
        ("micropython-unix", 2),
        # One at a time: the driver may lose one that arrives while it opens its next socket (README of http).
        pytest.param("circuitpython-blinka", 1, marks=pytest.mark.engine),
    ],
)
def test_all_connections_are_served(runtime: str, at_once: int, measure: Measure) -> None:
    row = measure(runtime, connections=5, at_once=at_once, blocks=3)
    assert len(connect_us(row)) == 5 and all(us > 0 for us in row.samples["first_byte_us"])
    assert row.figures["connections_per_s"] == 5e6 / row.figures["total_us"] and row.figures["ready_us"] > 0
    assert row.conditions.turnaround_us is not None


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_board_that_hangs_up_fails_the_row_in_one_line(runtime: str, measure: Measure) -> None:
    row = measure(runtime, hang_up_after=1)
    assert row.status is Status.FAILED and row.reason is not None
    assert "connection 1 of 3 to " in row.reason and "\n" not in row.reason
    assert row.reason.endswith(("the board closed within block 2", "connection lost after 1 exchanges (reset)")) or (
        "connection lost after 1 exchanges (Connection reset by peer)" in row.reason
    )
