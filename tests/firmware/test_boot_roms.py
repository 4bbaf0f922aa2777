"""The boot ROM of an emulated board's microcontroller: from folder, cache or download, checked by its hash."""

import dataclasses
import hashlib
from pathlib import Path

import pytest
from portbench_engine import boot_rom as engines

from portbench.errors import BoardUnavailable, PortbenchError
from portbench.firmware.boot_roms import boot_rom
from portbench.firmware.images import ImageUnavailable
from tests.firmware.conftest import Site
from tests.firmware.test_images import store

pytestmark = pytest.mark.engine

FILE = "rp2350-bootrom-a2.bin"
ROM = bytes(range(256)) * 128


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The engine's cache; the ROM is at a site of ours."""
    monkeypatch.setenv("PORTBENCH_BOOTROM_RP2350", str(tmp_path / "engine" / FILE))
    known = dataclasses.replace(
        engines.BOOT_ROMS["RP2350"], sha256=hashlib.sha256(ROM).hexdigest(), url=site.url("bootrom-combined.bin")
    )
    monkeypatch.setitem(engines.BOOT_ROMS, "RP2350", known)
    return tmp_path / "engine"


def test_it_is_downloaded_once(tmp_path: Path, cache: Path, site: Site) -> None:
    site.pages["bootrom-combined.bin"] = [(200, ROM, 0)]
    store(tmp_path).provide_boot_rom("RP2350")
    store(tmp_path).provide_boot_rom("RP2350")
    assert boot_rom("RP2350") == ROM
    assert site.requests.count("GET /bootrom-combined.bin") == 1
    assert [path.name for path in cache.iterdir()] == [FILE]


def test_another_file_is_not_kept(tmp_path: Path, cache: Path, site: Site) -> None:
    site.pages["bootrom-combined.bin"] = [(200, b"error page", 0)]
    with pytest.raises(PortbenchError, match=r"bootrom-combined\.bin: sha256 is .*, not .*; get the file again$"):
        store(tmp_path).provide_boot_rom("RP2350")
    assert list(cache.iterdir()) == []


def test_without_the_network_the_line_that_gets_it_is_told(tmp_path: Path, cache: Path, site: Site) -> None:
    with pytest.raises(ImageUnavailable) as caught:
        store(tmp_path, offline=True).provide_boot_rom("RP2350")
    assert caught.value.command == (f"curl -fL --create-dirs -o {cache / FILE} {site.url('bootrom-combined.bin')}")
    with pytest.raises(BoardUnavailable, match="no boot ROM of the RP2350"):
        boot_rom("RP2350")


def test_the_folder_of_images_may_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PORTBENCH_BOOTROM_RP2350")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    monkeypatch.setenv("HOME", str(tmp_path / "empty"))
    (tmp_path / FILE).write_bytes(ROM)
    monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", str(tmp_path))
    store(tmp_path, offline=True).provide_boot_rom("RP2350")
    assert boot_rom("RP2350") == ROM


def test_the_rp2040s_is_in_a_package(tmp_path: Path, site: Site) -> None:
    store(tmp_path, offline=True).provide_boot_rom("RP2040")
    assert len(boot_rom()) == 16384 and site.requests == []
