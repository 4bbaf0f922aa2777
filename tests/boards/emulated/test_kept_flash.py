"""Contents of flash that later boards start with: what they depend on, and that no figure does."""

from dataclasses import replace
from pathlib import Path

import pytest

from portbench.boards.board import RuntimeIdentity
from portbench.boards.definition import board_definition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.kept_flash import Kept, KeptFlash, usual_folder
from portbench.boards.registry import KEPT_FLASH_VARIABLE
from portbench.results.model import Row, Status
from tests.conftest import Image
from tests.measuring import outcomes

PICO, EVB = board_definition("RPI_PICO"), board_definition("W5500_EVB_PICO")
CONFIG = EmulatedConfig()
MICROPYTHON = RuntimeIdentity("micropython", "1.26.0", "", "Raspberry Pi Pico with RP2040")
BOOTED = Kept(b"image and file system", MICROPYTHON)
FILES = {"main.py": b"print(1)"}


def test_contents_are_found_again_by_all_that_they_depend_on(tmp_path: Path) -> None:
    kept = KeptFlash(tmp_path / "flash", EVB, CONFIG)
    assert kept.read("image") is None
    kept.write(BOOTED, "image")
    copied = Kept(b"with files", None)
    kept.write(copied, "image", FILES)
    network = replace(CONFIG, turnaround_us=7, phy_link_delay_us=7, seed=7, server_port=7)
    for again in (kept, KeptFlash(tmp_path / "flash", EVB, network)):
        assert again.read("image") == BOOTED
        assert again.read("image", dict(FILES)) == copied
    others = [
        KeptFlash(tmp_path / "flash", PICO, CONFIG),
        KeptFlash(tmp_path / "flash", EVB, replace(CONFIG, flash_id=1)),
    ]
    assert [other.read("image") for other in others] == [None, None]
    assert kept.read("another") is None
    assert kept.read("image", {**FILES, "portbench_config.json": b"{}"}) is None


def test_damaged_contents_are_made_again(tmp_path: Path) -> None:
    kept = KeptFlash(tmp_path, EVB, CONFIG)
    kept.write(BOOTED, "image")
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for damaged in (b"", whole[:9], whole[:-1], b"[]" + whole[whole.index(b"\n") :]):
        path.write_bytes(damaged)
        assert kept.read("image") is None
    kept.write(BOOTED, "image")
    assert kept.read("image") == BOOTED


def test_the_folder_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portbench.boards.emulated.kept_flash._MOST_FILES", 3)
    kept = KeptFlash(tmp_path, EVB, CONFIG)
    for number in range(5):
        kept.write(BOOTED, str(number))
    assert len(list(tmp_path.iterdir())) == 3
    assert kept.read("4") == BOOTED


def test_the_environment_names_the_folder_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEPT_FLASH_VARIABLE, str(tmp_path))
    assert usual_folder() == tmp_path
    monkeypatch.setenv(KEPT_FLASH_VARIABLE, "")
    assert usual_folder() is None
    nothing = KeptFlash(None, EVB, CONFIG)
    nothing.write(BOOTED, "image")
    assert nothing.read("image") is None


def rows(runtime: str, profiles: tuple[str, ...], folder: Path) -> list[tuple[Row, str]]:
    """A row for each profile, each on a board in a new process, with its log."""
    measured = []
    for profile in profiles:
        of = {"runtimes": (runtime,), "profiles": (profile,), "settings": {"messages": 30}}
        (outcome,) = outcomes(folder, **of)
        assert outcome.row.status is Status.MEASURED, outcome.row.reason
        measured.append((outcome.row, outcome.log.read_text()))
    return measured


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("runtime", "profiles"),
    [("micropython-1.26.0", ("tuned", "as-published")), ("circuitpython-9.1.4", ("as-published",))],
)
def test_rows_are_the_same_on_boards_that_start_with_kept_flash(
    runtime: str, profiles: tuple[str, ...], image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image(runtime)
    monkeypatch.setenv(KEPT_FLASH_VARIABLE, str(tmp_path / "flash"))
    first, again = (rows(runtime, profiles, tmp_path) for _ in range(2))
    for (row, log), (row_again, log_again) in zip(first, again, strict=True):
        assert (row.figures, row.samples) == (row_again.figures, row_again.samples)
        assert row.sim is not None and row_again.sim is not None
        assert (row.sim.counters, row.sim.flash_sha256) == (row_again.sim.counters, row_again.sim.flash_sha256)
        assert "deploy: an earlier board had the same files" not in log
        assert "deploy: an earlier board had the same files" in log_again
    # The second profile starts with what the first one's board held after its first boot.
    booted = ["flash: as an earlier board left it" in log for _, log in first]
    assert booted == [False, True][: len(profiles)]
