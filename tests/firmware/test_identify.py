"""What an image says about itself, on made-up images with the strings that real ones hold."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.errors import PortbenchError
from portbench.firmware import catalogue, uf2
from portbench.firmware.catalogue import Family
from portbench.firmware.identify import NATIVE_PROGRAM, Uf2File, entry_for_file, identify
from portbench.firmware.images import ImageStore
from tests.ping_pong import NATIVE_IMAGE

BASE = uf2.FLASH_BASE
MICROPYTHON = b"\0MicroPython v1.26.0 on 2025-08-09\0; W5500-EVB-Pico with RP2040\0"
CIRCUITPYTHON = (
    b"3.4.0; CircuitPython 9.1.4 on 2024-09-17\0"
    b"Adafruit CircuitPython 9.1.4 on 2024-09-17; W5500-EVB-Pico with rp2040\0MicroPython\0"
)


def with_binary_info(strings: dict[int, bytes], size: int = 0x1000) -> bytes:
    content = bytearray(size)
    table, entries, texts = 0x400, 0x500, 0x800
    struct.pack_into("<5I", content, 0x1D4, 0x7188EBF2, BASE + table, BASE + table + 4 * len(strings), 0, 0xE71AA390)
    for number, (identifier, text) in enumerate(strings.items()):
        struct.pack_into("<I", content, table + 4 * number, BASE + entries + 12 * number)
        struct.pack_into("<HHII", content, entries + 12 * number, 6, 0x5052, identifier, BASE + texts + 64 * number)
        content[texts + 64 * number : texts + 64 * number + len(text)] = text
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "family", "version", "machine"),
    [
        (MICROPYTHON, Family.MICROPYTHON, "1.26.0", "W5500-EVB-Pico with RP2040"),
        (
            MICROPYTHON.replace(b"v1.26.0", b"v1.20.0-370-g7bfc22571-dirty") + b"----WIZNET5K_PROVIDED_STACK----",
            Family.WIZNET,
            "1.20.0-370-g7bfc22571-dirty",
            "W5500-EVB-Pico with RP2040",
        ),
        (
            b"\0MicroPython v1.17-145-g86125de2e-dirty on 2021-12-20; Raspberry Pi Pico with RP2040\0\0WIZNET5K\0",
            Family.WIZNET,
            "1.17-145-g86125de2e-dirty",
            None,
        ),
        (MICROPYTHON + b"\0lwip\0\0WIZNET5K\0", Family.MICROPYTHON, "1.26.0", "W5500-EVB-Pico with RP2040"),
        (MICROPYTHON.replace(b"v1.26.0", b"e948ee967"), Family.MICROPYTHON, None, "W5500-EVB-Pico with RP2040"),
        (MICROPYTHON.replace(b"v1.26.0", b"9481ee967-dirty"), Family.MICROPYTHON, None, "W5500-EVB-Pico with RP2040"),
        (
            MICROPYTHON.replace(b"v1.26.0", b"v1.0.0-3.gcb0b1831c") + b"MicroPython-1.24.0-preview-arm--with-newlib\0",
            Family.MICROPYTHON,
            "1.24.0-preview",  # a fork's banner has the version of the fork's tags
            "W5500-EVB-Pico with RP2040",
        ),
        (
            MICROPYTHON.replace(b"v1.26.0", b"v1.26.0-preview.85.g2aaf309ca") + b"MicroPython-1.26.0-preview-arm-\0",
            Family.MICROPYTHON,
            "1.26.0-preview.85.g2aaf309ca",
            "W5500-EVB-Pico with RP2040",
        ),
        (
            MICROPYTHON.replace(b"v1.26.0", b"e948ee967") + b"MicroPython-1.19.1-arm--with-newlib3.3.0\0",
            Family.MICROPYTHON,
            "1.19.1",
            "W5500-EVB-Pico with RP2040",
        ),
        (CIRCUITPYTHON, Family.CIRCUITPYTHON, "9.1.4", "W5500-EVB-Pico with rp2040"),
        (b"\x55" * 300, None, None, None),
    ],
)
def test_banners(content: bytes, family: Family | None, version: str | None, machine: str | None) -> None:
    found = identify(uf2.parse(uf2.build(content)))
    assert (found.family, found.version, found.machine) == (family, version, machine)


@pytest.mark.parametrize("content", [MICROPYTHON, CIRCUITPYTHON, b"no banner"])
def test_a_radios_firmware_is_found_beside_any_banner(content: bytes) -> None:
    radio = b"\0%43439a0-roml/sdio-g-pool-p2p Version: 7.95.49 (2271bb6 CY)\0"
    assert identify(uf2.parse(uf2.build(content + radio))).radio == "CYW43439"
    assert identify(uf2.parse(uf2.build(content))).radio is None


def test_binary_info_is_read() -> None:
    content = with_binary_info({0x02031C86: NATIVE_PROGRAM, 0x11A9BC3A: b"2", 0xB63CFFBB: b"w5500"})
    found = identify(uf2.parse(uf2.build(content)))
    assert found.program == {"program_name": NATIVE_PROGRAM.decode(), "program_version": "2", "pico_board": "w5500"}
    assert (found.family, found.version, found.machine) == (Family.NATIVE, "2", "w5500")


def test_file_becomes_an_entry(tmp_path: Path) -> None:
    path = tmp_path / "My Build.uf2"
    path.write_bytes(uf2.build(MICROPYTHON))
    entry = entry_for_file(Uf2File.read(path))
    assert (entry.id, entry.family, entry.version, entry.path) == ("my-build", Family.MICROPYTHON, "1.26.0", path)
    assert [profile.name for profile in entry.profiles] == ["as-published", "tuned"]
    assert entry_for_file(Uf2File.read(path), family="wiznet", version="9").version == "9"


def test_a_file_is_read_and_identified_once_while_it_is_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.uf2"
    path.write_bytes(uf2.build(MICROPYTHON))
    read, reads = uf2.read_bytes, []
    monkeypatch.setattr(uf2, "read_bytes", lambda name: reads.append(name) or read(name))
    planned = Uf2File.read(path)
    measured = ImageStore(state=tmp_path, offline=True).obtain(entry_for_file(planned))
    assert measured.file is planned and reads == [path]
    path.unlink()
    path.write_bytes(uf2.build(MICROPYTHON.replace(b"v1.26.0", b"v1.28.0") + bytes(uf2.PAGE_SIZE)))
    assert Uf2File.read(path).identity.version == "1.28.0" and reads == [path, path]


def test_file_that_says_nothing_is_foreign(tmp_path: Path) -> None:
    path = tmp_path / "plain.uf2"
    path.write_bytes(uf2.build(b"\x55" * 300))
    entry = entry_for_file(Uf2File.read(path))
    assert (entry.family, entry.version) == (Family.FOREIGN, "unknown")
    with pytest.raises(PortbenchError, match="family is 'hosted'; use one of"):
        entry_for_file(Uf2File.read(path), family="hosted")
    assert entry_for_file(Uf2File.read(path), family=Family.NATIVE).version == "unknown"


@given(st.data())
def test_damaged_binary_info_is_no_fault(data: st.DataObject) -> None:
    content = bytearray(with_binary_info({0x02031C86: b"name", 0x11A9BC3A: b"2"}))
    offsets = st.sampled_from([0x1D8, 0x1DC, 0x400, 0x404, 0x500, 0x504, 0x508])
    words = st.one_of(st.integers(0, 0xFFFFFFFF), st.integers(BASE - 8, BASE + 0x1008))
    for _ in range(data.draw(st.integers(1, 3))):
        struct.pack_into("<I", content, data.draw(offsets), data.draw(words))
    assert identify(uf2.parse(uf2.build(bytes(content)))).program.keys() <= {"program_name", "program_version"}


def test_own_client_is_the_one_that_the_catalogue_names() -> None:
    entry = catalogue.load().get("portbench-native")
    folder = catalogue.CATALOGUE_PATH.parent
    assert f'VERSION "{entry.version}"' in (folder / "native" / "version.h").read_text()
    image = uf2.read(NATIVE_IMAGE)
    assert identify(image).family is Family.NATIVE and not image.in_ram
