"""Speed of the emulated RP2350."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import NO_ENGINE, Image

pytest.importorskip("portbench_engine", reason=NO_ENGINE)

from portbench.boards import Deadline, board_definition
from portbench.errors import PortbenchError
from portbench.firmware.images import ImageStore
from portbench.runner.checks.speed import baselines
from portbench.runner.checks.speed.check import PARTS, RP2350_BOARD, Speed
from portbench.runner.checks.speed.loop import measure_loop

pytestmark = pytest.mark.engine
BOARD = board_definition(RP2350_BOARD)


def test_without_an_image_the_part_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PORTBENCH_FIRMWARE_DIR", raising=False)
    store = ImageStore([], cache=tmp_path, state=tmp_path, offline=True)
    session = Speed(print, BOARD, store, quick=True, project=tmp_path)
    with pytest.raises(PortbenchError, match=r"no image|\.uf2"):
        list(PARTS["rp2350"](session))


def test_rp2350js_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines.shutil, "which", lambda name: name)
    monkeypatch.setenv("PORTBENCH_RP2350JS", str(tmp_path))
    with pytest.raises(PortbenchError, match="PORTBENCH_RP2350JS names no folder with rp2350js; run: git clone"):
        baselines.rp2350js(tmp_path / "any.uf2", Deadline(1, "rp2350js"))


def test_the_loop_takes_the_same_simulated_time_either_way(image: Image) -> None:
    path = image("wiznet-w5500-evb-pico2-1.27.0-preview.85")
    deadline = Deadline(300, "the loop")
    translated, plain = (
        measure_loop(path, BOARD, deadline, iterations=2000, runs=1, translated=way) for way in (True, False)
    )
    assert (translated.simulated_s, translated.instructions) == (plain.simulated_s, plain.instructions)
