"""The cost of probes is measured on identical runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from portbench.boards import BoardError, Deadline
from tests.conftest import NO_ENGINE
from tests.ping_pong import EVB, NATIVE_IMAGE

pytest.importorskip("portbench_engine", reason=NO_ENGINE)

import portbench_engine

from portbench.firmware.images import ImageStore
from portbench.runner.checks.speed.check import PARTS, Speed
from portbench.runner.checks.speed.probes import PROBES, Bench, ProbeCost, ratios, unprobed_engine

pytestmark = pytest.mark.engine


def test_a_probe_that_moves_a_figure_is_told() -> None:
    bench = Bench(NATIVE_IMAGE, EVB, Deadline(120, "probes"))
    bench.timed(portbench_engine, None, "off")
    assert bench.figures is not None
    bench.figures = replace(bench.figures, end_us=1.0)
    with pytest.raises(BoardError, match="probes: hand: the run had other figures"):
        bench.timed(portbench_engine, None, "hand")


def test_ratios_are_of_the_same_run() -> None:
    cost = ProbeCost(2.0, {"attribution": 3.0}, 1.6)
    assert [(name, ratio) for name, ratio, _ in ratios(cost)] == [
        ("attribution on against off", 1.5),
        ("all probes off against an engine without", 1.25),
    ]


def test_the_part_of_the_benchmark_needs_no_image(tmp_path: Path) -> None:
    session = Speed(
        print, EVB, ImageStore([], cache=tmp_path, state=tmp_path, offline=True), quick=True, project=tmp_path
    )
    figures = {figure.name: figure for figure in PARTS["probes"](session)}
    for name in PROBES:
        value = figures[f"probes: {name} on against off"].value
        assert value is not None and value > 0
    assert figures["probes: all probes off against an engine without"].note == "build one: make unprobed"


def test_without_such_an_engine_there_is_none(tmp_path: Path) -> None:
    assert unprobed_engine(tmp_path) is None
