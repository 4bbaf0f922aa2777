"""Where `binary_info` ends, the parts that it leaves out, and the entry of a file."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from portbench.errors import PortbenchError
from portbench.firmware import uf2
from portbench.firmware.catalogue import Family
from portbench.firmware.identify import Identity, Uf2File, entry_for_file, identify

BASE = uf2.FLASH_BASE
NAME, VERSION, BUILT, URL, BOARD, SDK = 0x02031C86, 0x11A9BC3A, 0x9DA22254, 0x1856239A, 0xB63CFFBB, 0x5360B3AB


def identity(content: bytes) -> Identity:
    return identify(uf2.parse(uf2.build(content)))


def program(
    text: bytes = b"it", *, kind: int = 6, tag: bytes = b"RP", number: int = NAME, marker: int = 0x1D4, at: int = 0x800
) -> dict[str, str]:
    """Of an image whose `binary_info` is one string at `at`; its header is at `marker`, its table at 0x600."""
    content = bytearray(0x1000)
    struct.pack_into("<5I", content, marker, 0x7188EBF2, BASE + 0x600, BASE + 0x604, 0, 0xE71AA390)
    struct.pack_into("<I", content, 0x600, BASE + 0x700)
    struct.pack_into("<H2sII", content, 0x700, kind, tag, number, BASE + at)
    content[at : at + len(text)] = text
    return identity(bytes(content)).program


def test_each_string_has_its_name() -> None:
    numbers = (NAME, VERSION, BUILT, URL, BOARD, SDK)
    assert [program(number=number) for number in numbers] == [
        {name: "it"}
        for name in ("program_name", "program_version", "build_date", "program_url", "pico_board", "sdk_version")
    ]


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
        content = bytearray(0x12000)
        struct.pack_into("<5I", content, 0, 0x7188EBF2, BASE + start, BASE + end, 0, closing)
        for slot, entry, number in ((0x600, 0x700, NAME), (0x604, 0x720, VERSION), (0x10600, 0x740, URL)):
            struct.pack_into("<I", content, slot, BASE + entry)
            struct.pack_into("<H2sII", content, entry, 6, b"RP", number, BASE + 0x800)
        return set(identity(bytes(content)).program)

    assert found(0x600, 0x600) == found(0x604, 0x600) == found(0x600, 0x604, 0) == set()
    assert found(0x600, 0x604) == {"program_name"}
    assert found(0x600, 0x10600) == {"program_name", "program_version"}
    assert found(0x600, 0x10601) == set(), "no table is that long"


def test_what_points_outside_is_left_out_and_the_rest_is_read() -> None:
    content = bytearray(0x1000)
    struct.pack_into("<5I", content, 0, 0x7188EBF2, BASE + 0x600, BASE + 0x60C, 0, 0xE71AA390)
    struct.pack_into("<3I", content, 0x600, BASE - 4, BASE + 0x1000 - 8, BASE + 0x1000 - 12)
    struct.pack_into("<H2sII", content, 0x1000 - 12, 6, b"RP", NAME, BASE + 0x800)
    content[0x800:0x802] = b"it"
    assert identity(bytes(content)).program == {"program_name": "it"}


def test_a_table_that_runs_out_of_the_image_is_read_as_far_as_it_goes_word_by_word() -> None:
    content = bytearray(0x1000)
    struct.pack_into("<5I", content, 0, 0x7188EBF2, BASE + 0xFF8, BASE + 0x1004, 0, 0xE71AA390)
    # Read from its last byte on, the first word leads to the second entry.
    struct.pack_into("<I3s", content, 0xFF8, BASE + 0x700, b"\x07\0\x10")
    for entry, number in ((0x700, NAME), (0x710, VERSION)):
        struct.pack_into("<H2sII", content, entry, 6, b"RP", number, BASE + 0x800)
    content[0x800:0x802] = b"it"
    assert identity(bytes(content)).program == {"program_name": "it"}


def test_strings_of_another_range_are_read_and_none_runs_from_one_into_the_next() -> None:
    head = bytearray(0x100)
    struct.pack_into("<5I", head, 0, 0x7188EBF2, BASE + 0x8000, BASE + 0x8004, 0, 0xE71AA390)
    rest = struct.pack("<IH2sII", BASE + 0x8004, 6, b"RP", NAME, BASE + 0x8020).ljust(0x20, b"\0") + b"far\0"
    image = uf2.parse(uf2.build_ranges({BASE: bytes(head), BASE + 0x8000: rest}))
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
        content = bytearray(0x1000)
        struct.pack_into("<5I", content, 0, 0x7188EBF2, BASE + 0x600, BASE + 0x604, 0, 0xE71AA390)
        struct.pack_into("<I", content, 0x600, BASE + 0x700)
        struct.pack_into("<H2sII", content, 0x700, 6, b"RP", SDK, BASE + 0x800)
        content[0x800:0x805] = b"2.1.1"
        content[0x900 : 0x900 + len(banner)] = banner
        assert identity(bytes(content)).program == {"sdk_version": "2.1.1"}


def test_an_entry_is_made_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "-My  Build_2.uf2"
    path.write_bytes(uf2.build(b"MicroPython v1.26.0 on 2025-08-09\0"))
    entry = entry_for_file(Uf2File.read(path))
    assert (entry.id, entry.board, entry.file, entry.path) == ("my-build-2", "W5500_EVB_PICO", path.name, path)
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
