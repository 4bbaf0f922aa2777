"""Tests for mutants that survived: lines to the letter, limits to the byte, and values passed on."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path

import pytest

from portbench.firmware import uf2
from portbench.firmware.uf2 import Fault, Uf2Error

FLASH = uf2.FLASH_BASE
SAMD51 = 0x55114460
CONTENT = bytes(range(256)) * 2


def line(path: Path) -> str:
    with pytest.raises(Uf2Error) as caught:
        uf2.read(path)
    assert caught.value.file == str(path) and caught.value.block is None
    return str(caught.value).removeprefix(f"{path}: ")


def test_a_file_that_cannot_be_an_image_is_told_with_what_to_do(tmp_path: Path) -> None:
    assert line(tmp_path / "none.uf2") == (
        "cannot be read (No such file or directory); check the path and its permissions"
    )
    os.mkfifo(tmp_path / "pipe.uf2")
    assert line(tmp_path / "pipe.uf2") == "is no regular file; name a UF2 image"
    with pytest.raises(Uf2Error) as caught:
        uf2.read_bytes(tmp_path / "pipe.uf2")
    assert caught.value.fault is Fault.UNREADABLE
    large = tmp_path / "large.uf2"
    with large.open("wb") as file:
        file.truncate(uf2.MAX_FILE_BYTES + 1)
    assert line(large) == "67108865 bytes, more than 67108864; choose a UF2 image for RP2040 or RP2350"


def test_the_largest_file_is_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uf2, "MAX_FILE_BYTES", 1024)
    path = tmp_path / "x.uf2"
    path.write_bytes(uf2.build(CONTENT))
    assert len(uf2.read_bytes(path)) == 1024
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(Uf2Error, match="1025 bytes, more than 1024"):
        uf2.read_bytes(path)


def test_a_file_that_grows_while_it_is_read_is_cut_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uf2, "MAX_FILE_BYTES", 1024)
    path = tmp_path / "x.uf2"
    path.write_bytes(bytes(4096))
    status = os.stat_result([0o100644, *[0] * 5, 1024, *[0] * 3])
    monkeypatch.setattr(uf2.os, "fstat", lambda _: status)
    assert len(uf2.read_bytes(path)) == 1024


def test_read_asks_for_the_family_and_the_flash_that_it_was_told(tmp_path: Path) -> None:
    path = tmp_path / "x.uf2"
    path.write_bytes(uf2.build(CONTENT, family_id=SAMD51))
    assert uf2.read(path, family_id=SAMD51).ranges() == {FLASH: CONTENT}
    path.write_bytes(uf2.build(CONTENT))
    with pytest.raises(Uf2Error, match=f"^{path}: block 1: ") as caught:
        uf2.read(path, flash_size_bytes=256)
    assert caught.value.fault is Fault.TARGET_RANGE


def test_added_data_keeps_the_family_of_the_image() -> None:
    image = uf2.parse(uf2.build(CONTENT, family_id=SAMD51), "a.uf2", family_id=SAMD51)
    joined = uf2.with_data(image, FLASH, b"x")
    assert uf2.parse(joined, "joined", family_id=SAMD51).blocks[0].address == FLASH


def tags(area: bytes) -> list[tuple[int, bytes]]:
    """Those of an image whose only block has `area` behind its 256 bytes of payload."""
    data = bytearray(uf2.build(CONTENT[:256]))
    data[8:12] = struct.pack("<I", 0xA000)
    data[32 + 256 : 32 + 256 + len(area)] = area
    return list(uf2.parse(bytes(data), "x.uf2").blocks[0].tags)


ROOM = 476 - 256


def test_tags_up_to_the_last_byte() -> None:
    one = b"\x05\x01\x02\x03x"
    assert tags(one) == [(0x030201, b"x")]
    assert tags(one + b"\0\0\0" + one) == [(0x030201, b"x")] * 2  # each starts on four bytes
    whole = bytes([8, 1, 0, 0]) + b"full"
    assert tags(whole * 2) == [(1, b"full")] * 2
    last = bytes([ROOM - 4, 1, 0, 0]) + bytes(ROOM - 8) + bytes([4, 9, 0, 0])
    assert tags(last) == [(1, bytes(ROOM - 8)), (9, b"")]
    to_the_end = bytes([ROOM, 7, 0, 0]) + bytes(ROOM - 4)
    assert tags(to_the_end) == [(7, bytes(ROOM - 4))]
    with pytest.raises(Uf2Error) as caught:
        tags(bytes([8, 1, 0, 0]) + b"full" + bytes([0, 7, 0, 0]))
    assert str(caught.value) == (
        f"x.uf2: block 0: extension tag 0x000007 claims 0 bytes, {ROOM - 8} are left; get the file again"
    )


def refused(data: bytes, **known: int) -> str:
    with pytest.raises(Uf2Error) as caught:
        uf2.parse(data, "x.uf2", **known)
    return str(caught.value).removeprefix("x.uf2: ")


def changed(data: bytes, *words: tuple[int, int]) -> bytes:
    content = bytearray(data)
    for offset, word in words:
        struct.pack_into("<I", content, offset, word)
    return bytes(content)


def test_a_file_without_a_name_is_the_image() -> None:
    with pytest.raises(Uf2Error, match=r"^image: the file is empty; "):
        uf2.parse(b"")


def test_each_chip_of_a_file_is_named_once() -> None:
    data = uf2.build(CONTENT[:256], family_id=SAMD51) + uf2.build(CONTENT, family_id=0xBFDD4EEE)
    assert refused(data) == (
        "block 0: is for ESP32-S2, SAMD51 (family 0x55114460), not RP2040 or RP2350;"
        " choose the image made for this board"
    )
    assert refused(uf2.build(CONTENT), family_id=SAMD51) == (
        "block 0: is for RP2040 (family 0xE48BFF56), not SAMD51; choose the image made for this board"
    )


@pytest.mark.parametrize(
    ("low", "high"), [(0x1000_0000, 0x1020_0000), (0x1500_0000, 0x1500_4000), (0x2000_0000, 0x2004_2000)]
)
def test_memory_is_written_from_its_first_byte_to_its_last(low: int, high: int) -> None:
    page = CONTENT[:256]
    first, last = uf2.parse(uf2.build(page, low)), uf2.parse(uf2.build(page, high - 256))
    assert (first.ranges(), last.ranges()) == ({low: page}, {high - 256: page})
    assert first.in_ram == last.in_ram == (low != FLASH)
    for outside in (low - 256, high):
        assert refused(uf2.build(page, outside)) == (
            f"block 0: target address 0x{outside:08x} is outside the 2048 KiB flash"
            " (0x10000000 to 0x101fffff) and RAM; choose the image made for this board"
        )


def test_an_image_for_ram_has_no_flash() -> None:
    with pytest.raises(Uf2Error) as caught:
        uf2.parse(uf2.build(CONTENT, 0x2000_0100), "x.uf2").flash_bytes()
    assert str(caught.value) == (
        "x.uf2: loads into RAM at 0x20000100 and programs no flash; build it for flash (not as no_flash)"
    )
    assert (caught.value.fault, caught.value.file, caught.value.block) == (Fault.RAM_IMAGE, "x.uf2", None)


def with_md5(start: int, length: int, digest: bytes) -> bytes:
    data = bytearray(changed(uf2.build(CONTENT), (8, 0x6000)))
    data[32 + 476 - 24 : 32 + 476] = struct.pack("<II", start, length) + digest
    return bytes(data)


def test_an_md5_counts_where_the_image_holds_all_that_it_is_of() -> None:
    right = hashlib.md5(CONTENT).digest()
    uf2.parse(with_md5(FLASH, 512, right))
    assert refused(with_md5(FLASH, 512, bytes(16))) == (
        f"block 0: MD5 of 0x10000000 + 512 bytes is {right.hex()}, the block says {bytes(16).hex()}; get the file again"
    )
    for start, length in ((FLASH - 1, 512), (FLASH, 513), (FLASH + 1, 512), (FLASH + 512, 1)):
        uf2.parse(with_md5(start, length, bytes(16)))
    assert refused(changed(with_md5(FLASH, 512, right), (16, 453))) == (
        "block 0: payload size is 453 bytes, not 1 to 452; get the file again"
    )


def test_what_no_flag_announces_is_not_looked_at() -> None:
    data = bytearray(uf2.build(CONTENT[:256]))
    data[32 + 256 : 32 + 476] = b"\x05" * 220
    (block,) = uf2.parse(bytes(data)).blocks
    assert (block.md5, block.tags) == (None, ())


def test_a_payload_of_another_size_is_told_as_such() -> None:
    for size in (1, 255, 476):
        assert refused(changed(uf2.build(CONTENT), (16, size))) == (
            f"block 0: payload size is {size} bytes, an RP2040 takes 256; convert it again with 256-byte blocks"
        )


def test_what_is_half_a_block_or_none_at_the_end() -> None:
    good = uf2.build(CONTENT)
    for extra in (1, 511, 513):
        assert refused(good + b"x" * extra) == (
            f"block 2: {extra} bytes follow the last block; cut them off or get the file again"
        )
    for size in (1, 3, 4, 511):
        more = uf2.build(CONTENT)[:size]
        assert refused(good + more) == (
            f"block 2: the file ends after {size} of 512 bytes ({1024 + size} bytes in all); get the file again"
        )
    assert refused(good[:512] + b"x" * 512).startswith("block 1: first magic is 0x78787878, not 0x0A324655; ")


def test_the_writer_tells_what_it_refuses() -> None:
    for ranges, line in (
        ({}, "there is nothing to write; give at least one byte"),
        ({FLASH: b""}, "there is nothing to write; give at least one byte"),
        ({FLASH + 1: b"x"}, "start 0x10000001 is not a multiple of 256; align it"),
        ({-256: b"x"}, "0x-100 + 1 bytes is not a 32-bit range; move it"),
        ({0xFFFF_FF00: bytes(257)}, "0xffffff00 + 257 bytes is not a 32-bit range; move it"),
        ({0x1000: b"x", 0xF00: bytes(257)}, "address 0x00001000 is given twice; give it once"),
        ({0: bytes(257), 256: b"y"}, "address 0x00000100 is given twice; give it once"),
    ):
        with pytest.raises(Uf2Error) as caught:
            uf2.build_ranges(ranges)
        assert str(caught.value) == f"new image: {line}" and caught.value.block is None
    assert len(uf2.build(bytes(256), 0xFFFF_FF00)) == len(uf2.build(bytes(1), 0)) == 512
    with pytest.raises(Uf2Error, match="nothing to write"):
        uf2.build_ranges({})


def test_a_block_to_the_byte() -> None:
    block = uf2.build(b"ab", FLASH + 256)
    assert struct.unpack_from("<8I", block) == (*(0x0A324655, 0x9E5D5157, 0x2000, FLASH + 256, 256, 0, 1, 0xE48BFF56),)
    assert block[32:] == b"ab" + b"\xff" * 254 + bytes(220) + struct.pack("<I", 0x0AB16F30)


def test_new_settings_fill_their_sector_up_to_the_last_page() -> None:
    image = uf2.parse(uf2.build(b"a", FLASH + 0x1000))
    added = uf2.parse(uf2.with_data(image, FLASH + 0x2304, b"xy"))
    assert [block.address - FLASH for block in added.blocks] == [
        *range(0x1000, 0x2000, 256),
        *range(0x2000, 0x2400, 256),
    ]
    content = added.flash_bytes()[FLASH + 0x1000]
    assert content == b"a".ljust(0x1304, b"\xff") + b"xy".ljust(0xFC, b"\xff")
    below = uf2.parse(uf2.with_data(image, FLASH + 0x0F00, b"z" * 256))
    assert [block.address - FLASH for block in below.blocks] == [*range(0, 0x1100, 256)]
