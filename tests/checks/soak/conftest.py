"""Lanes with emulated boards."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.boards.usb.link import LOCK_DIR_VARIABLE
from portbench.runner.checks.soak.images import ImageMaker
from portbench.runner.checks.soak.lane import Lane
from portbench.runner.checks.soak.leaks import pass_over_others
from portbench.runner.checks.soak.worker import TIMEOUTS_S
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.runner.stages import Stage
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
    """A lane for a runtime of the catalogue; at the end it must have left nothing behind.

    `run_s`: longest time of a run; a short one for a fault that nothing else ends. `on_desk`: on a board that stays.
    """
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())
    for variable in (RUNTIME_DIR_VARIABLE, LOCK_DIR_VARIABLE):
        monkeypatch.setenv(variable, os.environ.get(variable, ""))
    lanes: list[Lane] = []

    def make(runtime: str, *, run_s: float = 60, on_desk: bool = False) -> Lane:
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
        root = short_folder / str(len(lanes))
        root.mkdir()
        lane = Lane(root, planned, options, ImageMaker(planned.entry, planned.board, root), on_desk=on_desk)
        lanes.append(lane)
        return lane

    yield make
    for lane in lanes:
        record = lane.end(set())
        assert (record.lost, record.leaks, record.hangs) == ([], [], [])
