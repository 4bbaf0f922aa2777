"""The client in C: rows that need no other image."""

from __future__ import annotations

from pathlib import Path

import pytest

from portbench.results.model import Status
from portbench.workloads.sd_card.workload import WORKLOAD
from tests.measuring import rows_of


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
