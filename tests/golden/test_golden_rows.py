"""No simulated figure has changed since it was recorded, to the microsecond.

`rows.json` has a line for each emulated row of 1000 messages; round trips are run-length coded, `218*3` for three of
218 us in a row. A row whose image is not at hand is skipped; the native client's always is at hand. After a moved
figure all of them are recorded anew, in one commit that says why and by how much.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from portbench.results.model import Row, Status
from tests.measuring import outcomes

GOLDEN: Final[list[dict[str, Any]]] = json.loads(Path(__file__).with_name("rows.json").read_text(encoding="utf-8"))


def run_lengths(text: str) -> list[int]:
    """`218 217 218*3` -> [218, 217, 218, 218, 218]"""
    values: list[int] = []
    for part in text.split():
        value, _, count = part.partition("*")
        values += [int(value)] * int(count or 1)
    return values


def measure(runtime: str, profile: str, folder: Path, device: str = "auto") -> Row:
    (outcome,) = outcomes(folder, runtimes=(runtime,), profiles=(profile,), devices=(device,))
    return outcome.row


@pytest.mark.engine
@pytest.mark.timeout(600)  # CircuitPython takes 11 s of a PC that does nothing else
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda row: f"{row['runtime']}-{row['profile']}")
def test_a_row_is_what_it_always_was(golden: dict[str, Any], tmp_path: Path) -> None:
    row = measure(golden["runtime"], golden["profile"], tmp_path)
    if row.status is Status.SKIPPED and golden["runtime"] != "portbench-native":
        pytest.skip(row.reason or "")
    assert row.status is Status.MEASURED, row.reason
    assert row.sim is not None
    assert row.image_sha256 == golden["image_sha256"]
    assert (row.figures["total_us"], row.figures["ready_us"]) == (golden["total_us"], golden["ready_us"])
    assert row.samples["round_trip_us"] == run_lengths(golden["round_trip_us"])
    assert row.sim.counters == golden["counters"]
    assert row.sim.flash_sha256 == golden["flash_sha256"]


def test_the_record_is_whole() -> None:
    for row in GOLDEN:
        round_trip_us = run_lengths(row["round_trip_us"])
        assert len(round_trip_us) == 1000 and sum(round_trip_us) <= row["total_us"]
    assert "portbench-native" in {row["runtime"] for row in GOLDEN}
