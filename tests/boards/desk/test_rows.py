"""An emulated board that stays, measured on by its name as one that is plugged in."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from portbench.boards import Deadline
from portbench.boards.desk.config import DeskConfig
from portbench.boards.desk.control import ControlClient
from portbench.boards.registry import read_state
from portbench.boards.usb.bus import EmulatedBus, is_emulated
from portbench.results.model import Status
from tests.boards.desk.conftest import desk as started_desk
from tests.conftest import Image
from tests.golden.test_golden_rows import GOLDEN, measure, run_lengths
from tests.ping_pong import EVB
from tests.runner.test_run import LIMIT_S, Harness

pytestmark = pytest.mark.engine
NATIVE = ("--runtime=portbench-native", "--messages=20", "--device=usb:desk")


@pytest.fixture
def desk(root: Path, tmp_path: Path) -> Iterator[Path]:
    """The folder of a board that runs."""
    with started_desk(tmp_path / "flash.bin", DeskConfig(), board=EVB.id):
        Deadline(LIMIT_S, "test").poll(lambda: EmulatedBus().devices(), 0.01, "the board on its bus")
        yield root / "desk"


def test_native_rows_on_a_named_board_follow_each_other(desk: Path, tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    done = harness.run(*NATIVE, "--runs=3")
    rows = harness.stored().rows
    assert done.returncode == 0, done.stdout
    assert [(row.status, row.where) for row in rows] == [(Status.MEASURED, "emulated")] * 3


def test_a_board_that_is_off_the_bus_is_waited_for(desk: Path, tmp_path: Path) -> None:
    """A board whose native client another process started."""
    client = ControlClient(desk, "desk")
    away = {"kind": "serial-dropped", "when": "now", "duration_ms": 5000}
    client.call("arm", Deadline(LIMIT_S, "test"), fault=away)
    Deadline(LIMIT_S, "test").poll(lambda: not EmulatedBus().devices(), 0.01, "the board to leave its bus")
    assert is_emulated("usb:desk", EVB) and is_emulated(f"usb:emulated:{desk}", EVB)
    assert not is_emulated("usb:table", EVB) and not is_emulated("auto", EVB)
    harness = Harness(tmp_path)
    done = harness.run(*NATIVE, "--runs=1")
    assert done.returncode == 0, done.stdout
    assert [row.where for row in harness.stored().rows] == ["emulated"]
    client.close()
    assert read_state(desk) is not None


def test_a_failed_row_on_a_named_board_is_an_emulated_one(desk: Path, tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    done = harness.run(*NATIVE, "--runs=2", "--setting=timeout_flash_s=0.001")
    rows = harness.stored().rows
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert [(row.status, row.where) for row in rows] == [(Status.FAILED, "emulated")] * 2


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("runtime", "profile"),
    [
        ("portbench-native", "tuned"),
        ("micropython-1.28.0", "tuned"),
        ("circuitpython-9.1.4", "as-published"),
    ],
)
def test_the_default_table_is_that_of_boards_in_the_measuring_process(
    runtime: str, profile: str, desk: Path, image: Image, tmp_path: Path
) -> None:
    """Boot ROM, drive, enumeration and mpremote change no figure, no round trip, and no byte of the flash."""
    (golden,) = (row for row in GOLDEN if (row["runtime"], row["profile"]) == (runtime, profile))
    image(runtime)
    row = measure(runtime, profile, tmp_path, "usb:desk")
    assert row.status is Status.MEASURED, row.reason
    figures = {name: row.figures[name] for name in ("total_us", "ready_us")}
    assert figures == {name: golden[name] for name in figures}
    assert row.samples["round_trip_us"] == run_lengths(golden["round_trip_us"])

    def flash() -> str:
        return hashlib.sha256((tmp_path / "flash.bin").read_bytes()).hexdigest()

    Deadline(LIMIT_S, "test").poll(lambda: flash() == golden["flash_sha256"], 0.05, "the flash of the golden row")
