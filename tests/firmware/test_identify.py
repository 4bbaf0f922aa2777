"""Identification of images, on made-up ones with the strings that real ones hold."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.errors import PortbenchError
from portbench.firmware import catalogue, uf2
from portbench.firmware.catalogue import Family
from portbench.firmware.identify import NATIVE_PROGRAM, Identity, Uf2File, entry_for_file, identify
from portbench.firmware.images import ImageStore
from tests.ping_pong import NATIVE_IMAGE

BASE = uf2.FLASH_BASE
MICROPYTHON = b"\0MicroPython v1.26.0 on 2025-08-09\0; W5500-EVB-Pico with RP2040\0"
CIRCUITPYTHON = (
    b"3.4.0; CircuitPython 9.1.4 on 2024-09-17\0"
    b"Adafruit CircuitPython 9.1.4 on 2024-09-17; W5500-EVB-Pico with rp2040\0MicroPython\0"
)


NAME, VERSION, BUILT, URL, BOARD, SDK = 0x02031C86, 0x11A9BC3A, 0x9DA22254, 0x1856239A, 0xB63CFFBB, 0x5360B3AB


def identity(content: bytes) -> Identity:
    return identify(uf2.parse(uf2.build(content)))


def header(start: int, end: int, closing: int = 0xE71AA390) -> bytes:
    """The marker of `binary_info`, with the place of its table."""
    return struct.pack("<5I", 0x7188EBF2, BASE + start, BASE + end, 0, closing)


def text_at(at: int, number: int, *, kind: int = 6, tag: bytes = b"RP") -> bytes:
    """An entry of the table."""
    return struct.pack("<H2sII", kind, tag, number, BASE + at)


def laid(parts: dict[int, bytes], size: int = 0x1000) -> bytes:
    content = bytearray(size)
    for at, part in parts.items():
        content[at : at + len(part)] = part
    return bytes(content)


def words(*offsets: int) -> bytes:
    return b"".join(struct.pack("<I", BASE + offset) for offset in offsets)


def with_binary_info(strings: dict[int, bytes]) -> bytes:
    """A program with a string for each of these numbers."""
    parts = {0x1D4: header(0x400, 0x400 + 4 * len(strings))}
    for number, (identifier, text) in enumerate(strings.items()):
        entry, place = 0x500 + 12 * number, 0x800 + 64 * number
        parts |= {0x400 + 4 * number: words(entry), entry: text_at(place, identifier), place: text}
    return laid(parts)


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
    found = identity(content)
    assert (found.family, found.version, found.machine) == (family, version, machine)


@pytest.mark.parametrize("content", [MICROPYTHON, CIRCUITPYTHON, b"no banner"])
def test_a_radios_firmware_is_found_beside_any_banner(content: bytes) -> None:
    radio = b"\0%43439a0-roml/sdio-g-pool-p2p Version: 7.95.49 (2271bb6 CY)\0"
    assert identify(uf2.parse(uf2.build(content + radio))).radio == "CYW43439"
    assert identity(content).radio is None


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
    assert entry_for_file(Uf2File.read(path), family=Family.NATIVE).version == "unknown"


@given(st.data())
def test_damaged_binary_info_is_no_fault(data: st.DataObject) -> None:
    content = bytearray(with_binary_info({0x02031C86: b"name", 0x11A9BC3A: b"2"}))
    offsets = st.sampled_from([0x1D8, 0x1DC, 0x400, 0x404, 0x500, 0x504, 0x508])
    words = st.one_of(st.integers(0, 0xFFFFFFFF), st.integers(BASE - 8, BASE + 0x1008))
    for _ in range(data.draw(st.integers(1, 3))):
        struct.pack_into("<I", content, data.draw(offsets), data.draw(words))
    # A damaged number may be that of another string.
    names = {"program_name", "program_version", "build_date", "program_url", "pico_board", "sdk_version"}
    assert identify(uf2.parse(uf2.build(bytes(content)))).program.keys() <= names


def test_own_client_is_the_one_that_the_catalogue_names() -> None:
    entry = catalogue.load().get("portbench-native")
    folder = catalogue.CATALOGUE_PATH.parent
    assert f'VERSION "{entry.version}"' in (folder / "native" / "version.h").read_text()
    image = uf2.read(NATIVE_IMAGE)
    assert identify(image).family is Family.NATIVE and not image.in_ram


def program(
    text: bytes = b"it", *, kind: int = 6, tag: bytes = b"RP", number: int = NAME, marker: int = 0x1D4, at: int = 0x800
) -> dict[str, str]:
    """Build an image whose `binary_info` is one string at `at`; its header is at `marker`, its table at 0x600."""
    parts = {
        marker: header(0x600, 0x604),
        0x600: words(0x700),
        0x700: text_at(at, number, kind=kind, tag=tag),
        at: text,
    }
    return identity(laid(parts)).program


def test_each_string_has_its_name() -> None:
    numbers = (NAME, VERSION, BUILT, URL, BOARD, SDK)
    assert [program(number=number) for number in numbers] == [
        {name: "it"}
        for name in ("program_name", "program_version", "build_date", "program_url", "pico_board", "sdk_version")
    ]
    found = identity(with_binary_info({NAME: NATIVE_PROGRAM, VERSION: b"2", BOARD: b"w5500"}))
    assert found.program == {"program_name": NATIVE_PROGRAM.decode(), "program_version": "2", "pico_board": "w5500"}
    assert (found.family, found.version, found.machine) == (Family.NATIVE, "2", "w5500")


def test_what_is_no_string_of_raspberry_pis_is_left_out() -> None:
    assert program(kind=5) == program(tag=b"MP") == program(number=NAME + 1) == {}


def test_the_header_is_looked_for_up_to_a_limit() -> None:
    assert program(marker=0) == program(marker=0x400 - 20) == {"program_name": "it"}
    assert program(marker=0x400 - 19) == program(marker=0x400) == {}
    assert program(struct.pack("<I", 0x7188EBF2), at=0x300) != {}, "the first one counts"


def test_a_string_ends_at_its_zero_at_256_bytes_or_with_the_image() -> None:
    assert program(b"a" * 256 + b"bc") == {"program_name": "a" * 256}
    assert program(b"end", at=0x1000 - 3) == {"program_name": "end"}
    assert program(b"na\xefve\0x") == {"program_name": "na\ufffdve"}
    assert program(b"") == {"program_name": ""}


def test_a_table_ends_where_its_header_says() -> None:
    def found(start: int, end: int, closing: int = 0xE71AA390) -> set[str]:
        parts = {0: header(start, end, closing)}
        for slot, entry, number in ((0x600, 0x700, NAME), (0x604, 0x720, VERSION), (0x10600, 0x740, URL)):
            parts |= {slot: words(entry), entry: text_at(0x800, number)}
        return set(identity(laid(parts, 0x12000)).program)

    assert found(0x600, 0x600) == found(0x604, 0x600) == found(0x600, 0x604, 0) == set()
    assert found(0x600, 0x604) == {"program_name"}
    assert found(0x600, 0x10600) == {"program_name", "program_version"}
    assert found(0x600, 0x10601) == set(), "no table is that long"


def test_what_points_outside_is_left_out_and_the_rest_is_read() -> None:
    table = words(-4, 0x1000 - 8, 0x1000 - 12)
    content = laid({0: header(0x600, 0x60C), 0x600: table, 0x1000 - 12: text_at(0x800, NAME), 0x800: b"it"})
    assert identity(content).program == {"program_name": "it"}


def test_a_table_that_runs_out_of_the_image_is_read_as_far_as_it_goes_word_by_word() -> None:
    # Read from its last byte on, the first word leads to the second entry.
    table = words(0x700) + b"\x07\0\x10"
    entries = {0x700: text_at(0x800, NAME), 0x710: text_at(0x800, VERSION)}
    content = laid({0: header(0xFF8, 0x1004), 0xFF8: table[:7], 0x800: b"it", **entries})
    assert identity(content).program == {"program_name": "it"}


def test_strings_of_another_range_are_read_and_none_runs_from_one_into_the_next() -> None:
    rest = (words(0x8004) + text_at(0x8020, NAME)).ljust(0x20, b"\0") + b"far\0"
    image = uf2.parse(uf2.build_ranges({BASE: header(0x8000, 0x8004).ljust(0x100, b"\0"), BASE + 0x8000: rest}))
    assert identify(image).program == {"program_name": "far"}
    ends = b"MicroPython v1.26.0 on 2025-08-09".ljust(0x100 - 20, b"\0") + b"\0; Board with RP2040"[:20]
    found = identify(uf2.parse(uf2.build_ranges({BASE: ends, BASE + 0x8000: b"x"})))
    assert len(ends) == 0x100 and found.machine == "Board with RP2040"
    split = b"MicroPython v1.26.0 on 2025-08-09"
    parts = {BASE: split[:19].rjust(256, b"\0"), BASE + 0x8000: split[19:]}
    assert identify(uf2.parse(uf2.build_ranges(parts))).family is None


def test_a_banner_without_a_machine() -> None:
    assert identity(b"MicroPython v1.26.0 on 2025-08-09\0").machine is None
    circuitpython = identity(b"CircuitPython 9.1.4 on 2024-09-17\0")
    assert (circuitpython.family, circuitpython.version, circuitpython.machine) == (Family.CIRCUITPYTHON, "9.1.4", None)
    assert circuitpython.frozen == frozenset()


def test_frozen_modules_are_those_whose_names_end() -> None:
    content = b"CircuitPython 9.1.4 on 2024-09-17\0neopixel.py\0adafruit_wiznet5k/__init__.py\0lib/x.py\0y.pyc\0"
    assert identity(content).frozen == {"neopixel", "adafruit_wiznet5k"}


def test_what_an_image_says_of_its_program_is_kept_with_its_banner() -> None:
    for banner in (b"MicroPython v1.26.0 on 2025-08-09\0", b"CircuitPython 9.1.4 on 2024-09-17\0"):
        parts = {0: header(0x600, 0x604), 0x600: words(0x700), 0x700: text_at(0x800, SDK), 0x800: b"2.1.1"}
        assert identity(laid(parts | {0x900: banner})).program == {"sdk_version": "2.1.1"}


def test_an_entry_is_made_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "-My  Build_2.uf2"
    path.write_bytes(uf2.build(b"MicroPython v1.26.0 on 2025-08-09\0"))
    entry = entry_for_file(Uf2File.read(path))
    assert (entry.id, entry.board, entry.file, entry.path) == ("my-build-2", "W5500_EVB_PICO", path.name, path)
    assert (entry.family, entry.version) == (Family.MICROPYTHON, "1.26.0")
    assert entry.profiles == Family.MICROPYTHON.traits.profiles
    other = entry_for_file(Uf2File.read(path), family="wiznet", board="MINE", version="9")
    assert (other.family, other.board, other.version) == (Family.WIZNET, "MINE", "9")
    assert other.profiles == Family.WIZNET.traits.profiles
    nameless = path.rename(tmp_path / "___.uf2")
    assert entry_for_file(Uf2File.read(nameless)).id == "image"
    with pytest.raises(PortbenchError) as caught:
        entry_for_file(Uf2File.read(nameless), family="hosted")
    assert str(caught.value) == (
        f"{nameless}: family is 'hosted'; use one of: micropython, wiznet, circuitpython, native, foreign"
    )
