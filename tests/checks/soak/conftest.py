"""Lanes with emulated boards."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.boards.usb.link import LOCK_DIR_VARIABLE
from portbench.runner.checks.soak.images import ImageMaker
from portbench.runner.checks.soak.lane import Lane
from portbench.runner.checks.soak.leaks import pass_over_others
from portbench.runner.checks.soak.plan import Cycle
from portbench.runner.checks.soak.record import Record
from portbench.runner.checks.soak.worker import TIMEOUTS_S
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.runner.stages import Stage
from portbench.signals import ENDING
from tests.conftest import Image

MakeLane = Callable[..., Lane]


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Sockets have short names only."""
    folder = Path(tempfile.mkdtemp(prefix="pbs-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def _other_tests_leftovers() -> None:
    pass_over_others()


@pytest.fixture
def make_lane(short_folder: Path, monkeypatch: pytest.MonkeyPatch, image: Image) -> Iterator[MakeLane]:
    """A lane for a runtime of the catalogue.

    `run_s`: longest time of a run; a short one for a fault that nothing else ends.
    """
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())
    for variable in (RUNTIME_DIR_VARIABLE, LOCK_DIR_VARIABLE):
        monkeypatch.setenv(variable, os.environ.get(variable, ""))
    before = {number: signal.getsignal(number) for number in ENDING}
    made = 0

    def make(runtime: str, *, run_s: float = 60, power_switch: bool = True) -> Lane:
        nonlocal made
        image(runtime)
        options = BenchOptions(
            where="emulated",
            runtimes=(runtime,),
            quick=True,
            runs=1,
            timeouts_s={**TIMEOUTS_S, Stage.RUN: run_s},
            address_mode="static",
        )
        planned = plan(options)[0]
        root = short_folder / str(made)
        root.mkdir()
        made += 1
        images = ImageMaker(planned.entry, planned.board, root)
        return Lane(root, planned, options, images, power_switch=power_switch)

    yield make
    for number, handler in before.items():  # a run that was interrupted keeps them
        signal.signal(number, handler)


def run_cycles(lane: Lane, *cycles: Cycle) -> list[Record]:
    """The records of `cycles`; nothing may be lost, left behind or late, at the end neither."""
    records = list(lane.run(cycles))
    assert [each for each in records if each.lost or each.leaks or each.hangs] == []
    return [each for each in records if each.number >= 0]
