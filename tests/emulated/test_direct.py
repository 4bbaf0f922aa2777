"""A board in this process gives the rows of one in another process: the golden ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from portbench.boards import Deadline, board_definition
from portbench.errors import BoardError, OptionError
from portbench.firmware.identify import Uf2File
from portbench.results.model import Status
from portbench.results.storage import read, to_json
from portbench.runner.in_page import measure
from tests.conftest import Image
from tests.golden.test_golden_rows import GOLDEN, run_lengths

ROOT: Final = Path(__file__).parents[2]
NATIVE: Final = ROOT / "workloads" / "ping_pong" / "native.uf2"

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.mark.parametrize(
    ("runtime", "profile"),
    [("portbench-native", "tuned"), ("micropython-1.28.0", "tuned"), ("circuitpython-9.1.4", "as-published")],
)
@pytest.mark.timeout(600)
def test_its_row_is_the_golden_one(runtime: str, profile: str, image: Image, tmp_path: Path) -> None:
    (golden,) = (row for row in GOLDEN if (row["runtime"], row["profile"]) == (runtime, profile))
    if runtime != "portbench-native":
        image(runtime)
    asked: dict[str, Any] = {"workload": ["ping_pong"], "profile": [profile], "setting": ["seed=fixed"]}
    run = measure([runtime], asked)
    (row,) = run.rows
    if row.status is Status.SKIPPED:
        pytest.skip(row.reason or "")
    assert row.status is Status.MEASURED, row.reason
    assert row.sim is not None
    assert (row.figures["total_us"], row.figures["ready_us"]) == (golden["total_us"], golden["ready_us"])
    assert row.samples["round_trip_us"] == run_lengths(golden["round_trip_us"])
    assert row.sim.flash_sha256 == golden["flash_sha256"]
    assert {name: row.sim.counters[name] for name in golden["counters"]} == golden["counters"]
    kept = tmp_path / "run.json"
    kept.write_text(to_json(run), encoding="utf-8")
    assert read(kept).rows == [row]


def test_a_page_names_no_option() -> None:
    with pytest.raises(OptionError) as error:
        measure(["portbench-native"], {"workload": ["ping_pong"], "board": "RPI_PICO"})
    assert str(error.value) == "portbench-native: is for W5500_EVB_PICO, not RPI_PICO; choose W5500_EVB_PICO"


def test_a_board_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    from portbench.boards.emulated.direct import DirectBoard

    content = NATIVE.read_bytes()
    with DirectBoard(board_definition("W5500_EVB_PICO")) as board:
        with pytest.raises(BoardError, match="nothing was deployed to run"):
            board.run(Deadline(10, "a run"))
        board.flash(Uf2File.of(NATIVE, content), Deadline(10, "flashing"))
        assert board.console_tail() == []
