"""Drivers of micropython-lib, which the user gives or the cache has."""

import hashlib
from pathlib import Path

import pytest

from portbench.clients.libraries import FOLDER_VARIABLE, OFFLINE_VARIABLE, driver_files, pinned_drivers
from portbench.errors import PortbenchError

CONTENT = b"class SDCard: pass\n"


@pytest.fixture
def pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv(OFFLINE_VARIABLE, "1")
    path = tmp_path / "pins.toml"
    path.write_text(
        f"""
[[libraries]]
name = "sdcard"
version = "1"
file = "sdcard.py"
url = "https://example.org/sdcard.py"
sha256 = "{hashlib.sha256(CONTENT).hexdigest()}"
"""
    )
    return path


def test_ours_are_pinned_to_a_commit() -> None:
    for driver in pinned_drivers().values():
        assert len(driver.sha256) == 64 and driver.url.endswith(f"/{driver.file}") and "/master/" not in driver.url


def test_it_comes_from_the_users_folder_before_the_cache(
    pins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, cache = tmp_path / "given", tmp_path / "cache"
    for each in (folder, cache):
        each.mkdir()
    (cache / "sdcard.py").write_bytes(CONTENT)
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    assert driver_files(["sdcard"], 1, cache=cache, pins=pins) == {"sdcard.py": CONTENT}
    (folder / "sdcard.py").write_bytes(b"other")
    with pytest.raises(PortbenchError, match=r"given/sdcard.py: is not sdcard 1 as pinned; take it from https://"):
        driver_files(["sdcard"], 1, cache=cache, pins=pins)


def test_what_is_not_at_hand_says_where_to_put_it(pins: Path, tmp_path: Path) -> None:
    with pytest.raises(PortbenchError, match=r"put it into the folder of PORTBENCH_FIRMWARE_DIR, from https://exam"):
        driver_files(["sdcard"], 1, cache=tmp_path / "cache", pins=pins)


def test_an_unknown_name_is_refused(pins: Path, tmp_path: Path) -> None:
    with pytest.raises(PortbenchError, match=r"floppy: pins.toml pins sdcard only"):
        driver_files(["floppy"], 1, cache=tmp_path, pins=pins)
