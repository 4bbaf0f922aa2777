"""Rows on emulated boards with real firmware: they repeat to the microsecond, and agree with silicon."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from portbench.results.model import Row
from portbench.workloads.interpreter.workload import WORKLOAD
from tests.measuring import measured

pytestmark = pytest.mark.engine
AS_ON_SILICON = 0.005
WITH_COLLECTIONS = 0.02
"""int_mul alone fills the heap: an eighth of its time is the collector's, which depends on what else lives there."""


def measure(runtime: str, folder: Path) -> Row:
    """A row of `runtime` on a fresh board; skips without its image."""
    (row,) = measured(folder, workloads=(WORKLOAD,), quick=True, runtimes=(runtime,))
    return row


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Row]:
    """The first row of a runtime: measured once for all tests."""
    return cache(lambda runtime: measure(runtime, tmp_path_factory.mktemp("first")))


def published(runtime: str) -> dict[str, float]:
    (firmware,) = (each for source in WORKLOAD.published for each in source.firmware if each.runtime == runtime)
    return {name: value for name, (value,) in firmware.figures.items()}


@pytest.mark.parametrize("runtime", ["micropython-pico-1.24.1", "circuitpython-pico-9.1.4"])
def test_two_boards_give_the_same_figures(runtime: str, first: Callable[[str], Row], tmp_path: Path) -> None:
    row = first(runtime)
    assert row.simulated_figures() == measure(runtime, tmp_path).simulated_figures()
    assert row.profile is None and ("viper_bytes_us" in row.samples) == runtime.startswith("micropython")


def test_the_image_that_was_measured_on_silicon_takes_as_long_here(first: Callable[[str], Row]) -> None:
    row = first("circuitpython-pico-9.1.4")
    ratios: dict[str, Any] = {name: row.figures[name] / ns for name, ns in published(row.runtime).items()}
    assert ratios.pop("int_mul_ns_per_pass") == pytest.approx(1, abs=WITH_COLLECTIONS)
    assert len(ratios) == 6 and ratios == {name: pytest.approx(1, abs=AS_ON_SILICON) for name in ratios}
    assert row.published is not None and row.published.figure == "arithmetic_passes_per_s"
    assert row.figures["arithmetic_passes_per_s"] / row.published.values[0] == pytest.approx(1, abs=AS_ON_SILICON)
