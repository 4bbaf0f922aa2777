"""Rows of a Pico W beside real time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import NO_ENGINE

pytest.importorskip("portbench_engine", reason=NO_ENGINE)

from portbench.boards import board_definition
from portbench.firmware.images import ImageStore
from portbench.runner.checks.speed.check import PARTS, PICO_W_ROWS, Speed

pytestmark = pytest.mark.engine
PICO_W = board_definition("RPI_PICO_W")


def test_without_an_image_each_row_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PORTBENCH_FIRMWARE_DIR", raising=False)
    session = Speed(
        print, PICO_W, ImageStore([], cache=tmp_path, state=tmp_path, offline=True), quick=True, project=tmp_path
    )
    figures = list(PARTS["pico-w"](session))
    names = [f"{runtime} {profile}: {workload}" for runtime, profile, workload in PICO_W_ROWS]
    assert [figure.name for figure in figures] == names
    for figure in figures:
        assert (figure.value, figure.unit) == (None, "x real time")
        assert "no image" in figure.note or ".uf2" in figure.note
