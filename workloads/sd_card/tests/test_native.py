"""The client in C: its image, and rows that need nobody else's."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from portbench.results.model import Status
from portbench.workloads.sd_card.workload import WORKLOAD
from tests.measuring import rows_of

FOLDER = WORKLOAD.folder
PROJECT = FOLDER.resolve().parents[1]
RECORD = json.loads((FOLDER / "native.json").read_text())
COMPILER = "arm-none-eabi-gcc"


def test_the_record_is_of_this_image() -> None:
    assert hashlib.sha256((FOLDER / "native.uf2").read_bytes()).hexdigest() == RECORD["sha256"]


@pytest.mark.slow
def test_a_rebuild_gives_the_same_bytes(tmp_path: Path) -> None:
    if shutil.which(COMPILER) is None or shutil.which("make") is None:
        pytest.skip(f"{COMPILER} or make is not installed; run: sudo .ci/install-system-packages")
    version = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    if version != RECORD["compiler"]:
        pytest.skip(f"the image was built with {RECORD['compiler']}, installed is {version}")
    command = ["make", "-s", "-C", f"{PROJECT / 'firmware' / 'native'}", "WORKLOAD=sd_card", f"PYTHON={sys.executable}"]
    subprocess.run([*command, f"BUILD={tmp_path}", f"OUTPUT={tmp_path}"], check=True)
    assert (tmp_path / "native.uf2").read_bytes() == (FOLDER / "native.uf2").read_bytes()


@pytest.mark.engine
def test_rows_are_exact_and_each_bad_card_ends_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound, again, missing, protected, corrupt = rows_of(
        WORKLOAD,
        "portbench-native",
        tmp_path,
        monkeypatch,
        {"file_bytes": 8192},
        {"file_bytes": 8192},
        {"card_state": "missing"},
        {"card_state": "read-only"},
        {"card_state": "corrupt", "file_bytes": 520 * 512},
    )
    assert sound.status is Status.MEASURED, sound.reason
    assert sound.simulated_figures() == again.simulated_figures()
    assert (sound.figures["write_total_us"], sound.figures["read_total_us"]) == (18_313, 8_796)
    assert (sound.figures["read_gap_median_ns"], sound.figures["write_gap_median_ns"]) == (304, 304)
    assert sound.figures["spi_mhz"] == 31.25
    reasons = [row.reason for row in (missing, protected, corrupt)]
    assert reasons == [
        f"run: the client failed in stage exchange: {said}"
        for said in (
            "no SD card answers",
            "the card does not take a block: it is write-protected or worn",
            "a block is not what was written",
        )
    ]
