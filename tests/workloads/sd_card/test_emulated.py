"""Rows on emulated boards: they measure, repeat, and end with one line on a bad card."""

from pathlib import Path
from typing import Any

import pytest

from portbench.results.model import Row, Status
from portbench.workloads.sd_card.workload import WORKLOAD
from tests.measuring import measured

pytestmark = pytest.mark.engine
FILE_BYTES = 8192
SHORT = {"file_bytes": FILE_BYTES}


def rows(runtime: str, folder: Path, *settings: dict[str, Any]) -> list[Row]:
    return measured(folder, may_fail=True, workloads=(WORKLOAD,), runtimes=(runtime,), settings=list(settings))


def test_a_row_repeats_and_the_next_has_no_card_of_it(tmp_path: Path) -> None:
    first, second, other, missing, full = rows(
        "circuitpython-9.1.4",
        tmp_path,
        SHORT,
        SHORT,
        {**SHORT, "card_seed": 2},
        {"card_state": "missing"},
        {"card_state": "full", "file_bytes": 100_000},
    )
    assert first.status is Status.MEASURED, first.reason
    assert first.simulated_figures() == second.simulated_figures()
    assert first.figures["read_total_us"] != other.figures["read_total_us"]
    assert first.figures["spi_mhz"] == 31.25
    assert first.figures["read_gap_median_ns"] == first.figures["write_gap_median_ns"] == 304
    assert first.sim is not None and first.sim.counters["sd_read_blocks"] >= FILE_BYTES // 512
    assert missing.reason == "run: the client failed in stage card: OSError('no SD card')"
    assert full.reason == "run: the client failed in stage write: OSError(28)"


def test_micropythons_driver_writes_and_reads(tmp_path: Path) -> None:
    protection = {**SHORT, "card_state": "read-only"}
    sound, protected = rows("micropython-1.26.0", tmp_path, SHORT, protection)
    assert sound.status is Status.MEASURED, sound.reason
    assert sound.figures["spi_mhz"] == 24
    assert protected.status is Status.FAILED and protected.reason is not None
    assert "the client failed in stage" in protected.reason


def test_rows_are_exact_and_each_bad_card_ends_with_one_line(tmp_path: Path) -> None:
    sound, again, missing, protected, corrupt = rows(
        "portbench-native",
        tmp_path,
        SHORT,
        SHORT,
        {"card_state": "missing"},
        {"card_state": "read-only"},
        {"card_state": "corrupt", "file_bytes": 520 * 512},
    )
    assert sound.status is Status.MEASURED, sound.reason
    assert sound.simulated_figures() == again.simulated_figures()
    assert (sound.figures["write_total_us"], sound.figures["read_total_us"]) == (18_153, 8_636)
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
