"""Lanes with emulated boards. A runtime whose image cannot be had skips its tests, with the line that provides it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.boards.usb.lock import LOCK_DIR_VARIABLE
from portbench.firmware.images import ImageError
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.runner.soak.images import ImageMaker
from portbench.runner.soak.lane import Lane
from portbench.runner.soak.leaks import pass_over_others
from portbench.runner.soak.worker import TIMEOUTS_S
from portbench.runner.timeouts import Stage

MakeLane = Callable[[str], Lane]


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
def make_lane(short_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeLane]:
    """A lane for a runtime of the catalogue; at the end it must have left nothing behind."""
    if importlib.util.find_spec("portbench._engine") is None:
        pytest.skip("the emulated board's engine is not built; run: make build")
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())
    for variable in (RUNTIME_DIR_VARIABLE, LOCK_DIR_VARIABLE):
        monkeypatch.setenv(variable, os.environ.get(variable, ""))
    lanes: list[Lane] = []

    def make(runtime: str) -> Lane:
        options = BenchOptions(
            where="emulated",
            runtimes=(runtime,),
            quick=True,
            runs=1,
            timeouts_s={**TIMEOUTS_S, Stage.RUN: 6},
            address_mode="static",
        )
        planned = plan(options)[0]
        root = short_folder / str(len(lanes))
        root.mkdir()
        try:
            lane = Lane(root, planned, options, ImageMaker(planned.entry, planned.board, root))
        except ImageError as error:
            pytest.skip(str(error))
        lanes.append(lane)
        return lane

    yield make
    for lane in lanes:
        record = lane.end(set())
        assert (record.lost, record.leaks, record.hangs) == ([], [], [])
