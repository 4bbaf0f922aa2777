"""Every fault of a UF2 image has its own code and one line; a valid image survives a round trip."""

import hashlib
import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.firmware import uf2, uf2_families
from portbench.firmware.uf2 import Fault, Uf2Error

FLASH = uf2.FLASH_BASE
SAMD51, BK7231N = 0x55114460, 0x7B3EF230
RP2350, RISCV, ABSOLUTE = 0xE48BFF59, 0xE48BFF5A, 0xE48BFF57
E10_BLOCK = uf2.build(bytes(256), 0x10FF_FF00, ABSOLUTE)
SMALL = bytes(range(256)) * 5
TWO_PAGES = bytes(range(256)) * 2


def patched(data: bytes, block: int, offset: int, value: int | bytes) -> bytes:
    at = block * 512 + offset
    raw = value if isinstance(value, bytes) else struct.pack("<I", value)
    return data[:at] + raw + data[at + len(raw) :]


def every_block(data: bytes, offset: int, value: int) -> bytes:
    for block in range(len(data) // 512):
        data = patched(data, block, offset, value)
    return data


def with_md5(data: bytes, start: int, length: int, digest: bytes) -> bytes:
    """A UF2 whose first block has this digest of a region."""
    return patched(patched(data, 0, 8, 0x6000), 0, 32 + 476 - 24, struct.pack("<II", start, length) + digest)


def without(data: bytes, block: int) -> bytes:
    return data[: block * 512] + data[(block + 1) * 512 :]


GOOD = uf2.build(SMALL)

AGAIN, OTHER_BOARD = "get the file again", "choose the image made for this board"

FAULTS: list[tuple[Fault, bytes, int | None, str, str]] = [
    (Fault.EMPTY, b"", None, "the file is empty", AGAIN),
    (
        Fault.NOT_UF2,
        b"<!DOCTYPE html>" + GOOD,
        None,
        "is not a UF2 file (starts with 3c 21 44 4f 43 54 59 50)",
        "choose a .uf2 image",
    ),
    (Fault.TRUNCATED, GOOD[:-100], 4, "the file ends after 412 of 512 bytes (2460 bytes in all)", AGAIN),
    (Fault.TRUNCATED, GOOD[:3], 0, "the file ends after 3 of 512 bytes (3 bytes in all)", AGAIN),
    (Fault.TRUNCATED, GOOD[: 512 + 100], 1, "the file ends after 100 of 512 bytes (612 bytes in all)", AGAIN),
    (Fault.TRAILING, GOOD + b"\0" * 17, 5, "17 bytes follow the last block", f"cut them off or {AGAIN}"),
    (Fault.TRAILING, GOOD + b"\0" * 1024, 5, "1024 bytes follow the last block", f"cut them off or {AGAIN}"),
    (Fault.MAGIC, patched(GOOD, 2, 0, 1), 2, "first magic is 0x00000001, not 0x0A324655", AGAIN),
    (Fault.MAGIC, patched(GOOD, 2, 4, 2), 2, "second magic is 0x00000002, not 0x9E5D5157", AGAIN),
    (Fault.MAGIC, patched(GOOD, 0, 508, 3), 0, "final magic is 0x00000003, not 0x0AB16F30", AGAIN),
    (
        Fault.FILE_CONTAINER,
        patched(GOOD, 1, 8, 0x3000),
        1,
        "holds part of a file (flags 0x00003000), not firmware",
        OTHER_BOARD,
    ),
    (
        Fault.NO_FAMILY,
        patched(GOOD, 1, 8, 0),
        1,
        "names no chip family (flags 0x00000000)",
        "convert it again with the family id 0xE48BFF56 for RP2040, 0xE48BFF59 for RP2350 (Arm secure),"
        " 0xE48BFF5A for RP2350 (RISC-V)",
    ),
    (
        Fault.NO_FAMILY,
        patched(patched(uf2.build(SMALL, base=0x4000), 0, 8, 0), 1, 8, 0),
        0,
        "names no chip family (flags 0x00000000), and writes to 0x00004000, where no flash is",
        OTHER_BOARD,
    ),
    (
        Fault.WRONG_CHIP,
        uf2.build(SMALL, family_id=SAMD51),
        0,
        "is for SAMD51 (family 0x55114460), not RP2040 or RP2350",
        OTHER_BOARD,
    ),
    (
        Fault.WRONG_CHIP,
        uf2.build(SMALL, family_id=0x12345678),
        0,
        "is for unknown family 0x12345678 (family 0x12345678), not RP2040 or RP2350",
        OTHER_BOARD,
    ),
    (
        Fault.WRONG_CHIP,  # as LibreTiny writes it: its first block has tags and no payload
        patched(uf2.build(SMALL, family_id=BK7231N), 0, 16, 0),
        0,
        "is for BK7231N (family 0x7B3EF230), not RP2040 or RP2350",
        OTHER_BOARD,
    ),
    (Fault.PAYLOAD_SIZE, patched(GOOD, 3, 16, 477), 3, "payload size is 477 bytes, not 1 to 476", AGAIN),
    (Fault.PAYLOAD_SIZE, patched(GOOD, 3, 16, 0), 3, "payload size is 0 bytes, not 1 to 476", AGAIN),
    (
        Fault.ALIGNMENT,
        patched(GOOD, 4, 12, FLASH + 0x401),
        4,
        "target address 0x10000401 is not a multiple of 256",
        "convert it again with page-aligned blocks",
    ),
    (
        Fault.TARGET_RANGE,
        patched(GOOD, 4, 12, FLASH + (2 << 20)),
        4,
        "target address 0x10200000 is outside the 2048 KiB flash (0x10000000 to 0x101fffff) and RAM",
        OTHER_BOARD,
    ),
    (
        Fault.MIXED_TARGETS,
        patched(GOOD, 4, 12, 0x20000000),
        4,
        "target address 0x20000000 is RAM, block 0 goes to flash",
        "split it: an RP2040 takes one or the other",
    ),
    (Fault.BLOCK_NUMBER, patched(GOOD, 4, 20, 5), 4, "is number 5 of 5 (numbered from 0)", AGAIN),
    (Fault.BLOCK_NUMBER, every_block(GOOD, 24, 0), 0, "is number 0 of 0 (numbered from 0)", AGAIN),
    (Fault.BLOCK_COUNT, patched(GOOD, 3, 24, 6), 3, "says 6 blocks in all, block 0 says 5", AGAIN),
    (Fault.DUPLICATE, patched(GOOD, 4, 20, 2), 4, "number 2 is there already (block 2)", AGAIN),
    (Fault.OVERLAP, patched(GOOD, 4, 12, FLASH), 4, "target address 0x10000000 is written by block 0 too", AGAIN),
    (Fault.MISSING, without(GOOD, 2), None, "1 of 5 blocks are missing, the first one is number 2", AGAIN),
    (
        Fault.MISSING,
        every_block(GOOD, 24, 0xFFFFFFFF),
        None,
        "4294967290 of 4294967295 blocks are missing, the first one is number 5",
        AGAIN,
    ),
    (Fault.NO_CONTENT, every_block(GOOD, 8, 0x2001), None, "no block is for main flash", OTHER_BOARD),
    (
        Fault.EXTENSION,
        patched(patched(GOOD, 1, 8, 0xA000), 1, 32 + 256, b"\xff\1\2\3"),
        1,
        "extension tag 0x030201 claims 255 bytes, 220 are left",
        AGAIN,
    ),
    (
        Fault.EXTENSION,
        patched(patched(GOOD, 1, 8, 0xA000), 1, 32 + 256, b"\3\1\2\3"),
        1,
        "extension tag 0x030201 claims 3 bytes, 220 are left",
        AGAIN,
    ),
]


@pytest.mark.parametrize(
    ("fault", "data", "block", "problem", "fix"), FAULTS, ids=[f"{fault}-{n}" for n, (fault, *_) in enumerate(FAULTS)]
)
def test_fault_has_its_code_and_one_line(fault: Fault, data: bytes, block: int | None, problem: str, fix: str) -> None:
    with pytest.raises(Uf2Error) as caught:
        uf2.parse(data, "some.uf2")
    text = str(caught.value)
    assert caught.value.fault is fault, text
    assert caught.value.block == block
    assert text == f"some.uf2: {'' if block is None else f'block {block}: '}{problem}; {fix}"


def test_md5s_cover_the_image_only_so_often() -> None:
    content = bytes(uf2.PAGE_SIZE * 64)
    data = bytearray(uf2.build(content))

    def add(index: int, start: int, length: int) -> None:
        struct.pack_into("<I", data, index * uf2.BLOCK_SIZE + 8, 0x6000)
        region = struct.pack("<II", FLASH + start, length) + hashlib.md5(content[start : start + length]).digest()
        end = index * uf2.BLOCK_SIZE + 32 + 476
        data[end - 24 : end] = region

    for index in range(16):
        add(index, 8 * index, len(content) // 2)
    assert len(uf2.parse(bytes(data)).blocks) == 64
    add(16, 4, 1)
    with pytest.raises(Uf2Error, match="block 16: with this block, MD5s cover more than 8 times the image's 16384 b"):
        uf2.parse(bytes(data))


def test_md5_of_each_part_of_an_image_with_holes_is_checked() -> None:
    """A region across a hole is about flash that stays unchanged."""
    pages = {FLASH + 512 * number: bytes([number]) * 256 for number in range(4)}
    for number in range(4):
        for start, length, checked in ((512 * number, 256, True), (512 * number + 255, 2, False)):
            data = with_md5(uf2.build_ranges(pages), FLASH + start, length, bytes(16))
            if checked:
                with pytest.raises(Uf2Error, match=f"MD5 of 0x{FLASH + start:08x} [+] 256 bytes"):
                    uf2.parse(data)
            else:
                uf2.parse(data)


def test_extension_tags_are_read() -> None:
    tags = b"\x09\xbc\xc7\x9f1.2.3\0\0\0" + b"\x04\x01\x00\x00" + bytes(4)
    image = uf2.parse(patched(patched(GOOD, 1, 8, 0xA000), 1, 32 + 256, tags))
    assert image.tags == {0x9FC7BC: b"1.2.3", 1: b""}


def test_blocks_that_the_chip_ignores_are_skipped() -> None:
    data = uf2.build(b"\1" * 600, family_id=RP2350) + patched(GOOD, 2, 8, 0x2001)
    image = uf2.parse(data, family_id=uf2_families.RP2040)
    assert image.skipped_blocks == 4
    assert image.flash_bytes() == {FLASH: SMALL[:512], FLASH + 768: SMALL[768:]}


def test_an_image_for_the_rp2350_is_known_by_its_family() -> None:
    image = uf2.parse(E10_BLOCK + uf2.build(SMALL, family_id=RP2350))
    assert (image.family_id, image.skipped_blocks, image.ranges()) == (RP2350, 1, {FLASH: SMALL})
    assert uf2.parse(uf2.build(SMALL, FLASH + (3 << 20), RP2350)).size == len(SMALL), "a Pico 2 has 4 MiB"
    assert uf2.parse(uf2.build(SMALL, 0x2008_1000, RP2350)).in_ram


def test_a_board_takes_images_for_both_kinds_of_its_cores() -> None:
    image = E10_BLOCK + uf2.build(SMALL, family_id=RISCV)
    for family in (None, RP2350, RISCV):
        parsed = uf2.parse(image, family_id=family)
        assert (parsed.family_id, parsed.ranges()) == (RISCV, {FLASH: SMALL})
    with pytest.raises(Uf2Error, match=r"is for RP2350 \(RISC-V\) \(family 0xE48BFF5A\), not RP2040;"):
        uf2.parse(image, family_id=uf2_families.RP2040)


@pytest.mark.parametrize("family", [None, RP2350])
def test_a_board_takes_an_image_of_the_absolute_family(family: int | None) -> None:
    parsed = uf2.parse(uf2.build(SMALL, family_id=ABSOLUTE), family_id=family)
    assert (parsed.family_id, parsed.ranges()) == (ABSOLUTE, {FLASH: SMALL})
    own = uf2.build(bytes(256), FLASH + (2 << 20) - 256, ABSOLUTE) + uf2.build(SMALL, family_id=RP2350)
    assert uf2.parse(own, family_id=family).family_id == RP2350
    with pytest.raises(Uf2Error, match=r"is for RP2350 \(absolute\) \(family 0xE48BFF57\), not RP2040;"):
        uf2.parse(uf2.build(SMALL, family_id=ABSOLUTE), family_id=uf2_families.RP2040)


@pytest.mark.parametrize(("family", "name"), [(uf2_families.RP2040, "RP2040"), (RISCV, "RP2350 (RISC-V)")])
def test_a_file_with_two_images_is_told(family: int, name: str) -> None:
    with pytest.raises(Uf2Error) as caught:
        uf2.parse(uf2.build(SMALL, family_id=family) + E10_BLOCK + uf2.build(SMALL, family_id=RP2350), "two.uf2")
    assert caught.value.fault is Fault.SEVERAL_IMAGES
    assert str(caught.value) == (
        f"two.uf2: holds images for {name} and RP2350 (Arm secure); take a file with one image"
    )


def test_a_file_for_the_other_chip_is_refused() -> None:
    with pytest.raises(Uf2Error, match=r"is for RP2350 \(Arm secure\) \(family 0xE48BFF59\), not RP2040;"):
        uf2.parse(E10_BLOCK + uf2.build(SMALL, family_id=RP2350), family_id=uf2_families.RP2040)


def test_flash_size_limits_the_target() -> None:
    data = uf2.build(SMALL, base=FLASH + (2 << 20))
    assert uf2.parse(data, flash_size_bytes=4 << 20).size == len(SMALL)
    with pytest.raises(Uf2Error, match="outside the 2048 KiB flash"):
        uf2.parse(data)


def test_settings_can_be_added_and_replaced() -> None:
    image = uf2.parse(GOOD)
    sector = FLASH + 0x1FF000
    once = uf2.parse(uf2.with_data(image, sector, b"port=5000"))
    twice = uf2.parse(uf2.with_data(once, sector + 5, b"6000"))
    assert twice.flash_bytes() == {FLASH: SMALL.ljust(4096, b"\xff"), sector: b"port=6000".ljust(256, b"\xff")}
    across = uf2.parse(uf2.with_data(image, FLASH + 250, b"x" * 12))
    assert across.flash_bytes() == {FLASH: SMALL[:250] + b"x" * 12 + SMALL[262:]}


@given(st.integers(0, 0x1FFEFF).map(lambda offset: FLASH + offset), st.binary(min_size=1, max_size=256))
def test_added_settings_survive_the_boot_rom(address: int, data: bytes) -> None:
    """RP2040-E14: the boot ROM erases the sector of the first block in each 16 block numbers, whatever the rest."""
    image = uf2.parse(uf2.with_data(uf2.parse(GOOD), address, data))
    flash = bytearray(b"\0" * (2 << 20))
    erased_for = set()
    for block in image.blocks:
        offset = block.address - FLASH
        if block.block_no // 16 not in erased_for:
            erased_for.add(block.block_no // 16)
            flash[offset - offset % 4096 : offset - offset % 4096 + 4096] = b"\xff" * 4096
        flash[offset : offset + 256] = bytes(
            old & new for old, new in zip(flash[offset : offset + 256], block.payload, strict=True)
        )
    for start, content in image.flash_bytes().items():
        assert flash[start - FLASH : start - FLASH + len(content)] == content
    assert flash[address - FLASH : address - FLASH + len(data)] == data


def line(path: Path, fault: Fault = Fault.UNREADABLE) -> str:
    with pytest.raises(Uf2Error) as caught:
        uf2.read(path)
    assert (caught.value.file, caught.value.block, caught.value.fault) == (str(path), None, fault)
    return str(caught.value).removeprefix(f"{path}: ")


def test_a_file_that_cannot_be_an_image_is_told_with_what_to_do(tmp_path: Path) -> None:
    assert line(tmp_path / "none.uf2") == (
        "cannot be read (No such file or directory); check the path and its permissions"
    )
    assert line(tmp_path) == "cannot be read (Is a directory); check the path and its permissions"
    os.mkfifo(tmp_path / "pipe.uf2")
    (tmp_path / "endless.uf2").symlink_to("/dev/zero")
    for name in ("pipe.uf2", "endless.uf2"):
        assert line(tmp_path / name) == "is not a regular file; name a UF2 image"
    large = tmp_path / "large.uf2"
    with large.open("wb") as file:
        file.truncate(uf2.MAX_FILE_BYTES + 1)
    assert line(large, Fault.TOO_LARGE) == "67108865 bytes, more than 67108864; choose a UF2 image for RP2040 or RP2350"


def test_a_file_behind_a_link_is_one(tmp_path: Path) -> None:
    (tmp_path / "real.uf2").write_bytes(uf2.build(b"content".ljust(256)))
    (tmp_path / "x.uf2").symlink_to(tmp_path / "real.uf2")
    assert uf2.read(tmp_path / "x.uf2").ranges()


def test_the_largest_file_is_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uf2, "MAX_FILE_BYTES", 1024)
    path = tmp_path / "x.uf2"
    path.write_bytes(uf2.build(TWO_PAGES))
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
    path.write_bytes(uf2.build(TWO_PAGES, family_id=SAMD51))
    assert uf2.read(path, family_id=SAMD51).ranges() == {FLASH: TWO_PAGES}
    path.write_bytes(uf2.build(TWO_PAGES))
    with pytest.raises(Uf2Error, match=f"^{path}: block 1: ") as caught:
        uf2.read(path, flash_size_bytes=256)
    assert caught.value.fault is Fault.TARGET_RANGE


def test_added_data_keeps_the_family_of_the_image() -> None:
    image = uf2.parse(uf2.build(TWO_PAGES, family_id=SAMD51), "a.uf2", family_id=SAMD51)
    joined = uf2.with_data(image, FLASH, b"x")
    assert uf2.parse(joined, "joined", family_id=SAMD51).blocks[0].address == FLASH


def tags(area: bytes) -> list[tuple[int, bytes]]:
    """Those of an image whose only block has `area` behind its 256 bytes of payload."""
    data = bytearray(uf2.build(TWO_PAGES[:256]))
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


def test_a_file_without_a_name_is_the_image() -> None:
    with pytest.raises(Uf2Error, match=r"^image: the file is empty; "):
        uf2.parse(b"")


def test_each_chip_of_a_file_is_named_once() -> None:
    data = uf2.build(TWO_PAGES[:256], family_id=SAMD51) + uf2.build(TWO_PAGES, family_id=0xBFDD4EEE)
    assert refused(data) == (
        "block 0: is for ESP32-S2, SAMD51 (family 0x55114460), not RP2040 or RP2350;"
        " choose the image made for this board"
    )
    assert refused(uf2.build(TWO_PAGES), family_id=SAMD51) == (
        "block 0: is for RP2040 (family 0xE48BFF56), not SAMD51; choose the image made for this board"
    )


@pytest.mark.parametrize(
    ("low", "high"), [(0x1000_0000, 0x1020_0000), (0x1500_0000, 0x1500_4000), (0x2000_0000, 0x2004_2000)]
)
def test_memory_is_written_from_its_first_byte_to_its_last(low: int, high: int) -> None:
    page = TWO_PAGES[:256]
    first, last = uf2.parse(uf2.build(page, low)), uf2.parse(uf2.build(page, high - 256))
    assert (first.ranges(), last.ranges()) == ({low: page}, {high - 256: page})
    assert first.in_ram == last.in_ram == (low != FLASH)
    for outside in (low - 256, high, 0, 0xFFFF_FF00):
        assert refused(uf2.build(page, outside)) == (
            f"block 0: target address 0x{outside:08x} is outside the 2048 KiB flash"
            " (0x10000000 to 0x101fffff) and RAM; choose the image made for this board"
        )


def test_an_image_for_ram_has_no_flash() -> None:
    with pytest.raises(Uf2Error) as caught:
        uf2.parse(uf2.build(TWO_PAGES, 0x2000_0100), "x.uf2").flash_bytes()
    assert str(caught.value) == (
        "x.uf2: loads into RAM at 0x20000100 and programs no flash; build it for flash (not as no_flash)"
    )
    assert (caught.value.fault, caught.value.file, caught.value.block) == (Fault.RAM_IMAGE, "x.uf2", None)


def test_an_md5_counts_where_the_image_holds_all_that_it_is_of() -> None:
    right = hashlib.md5(TWO_PAGES).digest()
    two = uf2.build(TWO_PAGES)
    assert uf2.parse(with_md5(two, FLASH, 512, right)).blocks[0].md5 == (FLASH, 512, right)
    assert refused(with_md5(two, FLASH, 512, bytes(16))) == (
        f"block 0: MD5 of 0x10000000 + 512 bytes is {right.hex()}, the block says {bytes(16).hex()}; get the file again"
    )
    for start, length in ((FLASH - 1, 512), (FLASH, 513), (FLASH + 1, 512), (FLASH + 512, 1)):
        uf2.parse(with_md5(two, start, length, bytes(16)))
    assert refused(patched(with_md5(two, FLASH, 512, right), 0, 16, 453)) == (
        "block 0: payload size is 453 bytes, not 1 to 452; get the file again"
    )


def test_what_no_flag_announces_is_not_looked_at() -> None:
    data = bytearray(uf2.build(TWO_PAGES[:256]))
    data[32 + 256 : 32 + 476] = b"\x05" * 220
    (block,) = uf2.parse(bytes(data)).blocks
    assert (block.md5, block.tags) == (None, ())


def test_a_payload_of_another_size_is_told_as_such() -> None:
    for size in (1, 128, 255, 476):
        assert refused(patched(uf2.build(TWO_PAGES), 0, 16, size)) == (
            f"block 0: payload size is {size} bytes, an RP2040 takes 256; convert it again with 256-byte blocks"
        )


def test_what_is_half_a_block_or_none_at_the_end() -> None:
    good = uf2.build(TWO_PAGES)
    for extra in (1, 511, 513):
        assert refused(good + b"x" * extra) == (
            f"block 2: {extra} bytes follow the last block; cut them off or get the file again"
        )
    for size in (1, 3, 4, 511):
        more = uf2.build(TWO_PAGES)[:size]
        assert refused(good + more) == (
            f"block 2: the file ends after {size} of 512 bytes ({1024 + size} bytes in all); get the file again"
        )
    assert refused(good[:512] + b"x" * 512).startswith("block 1: first magic is 0x78787878, not 0x0A324655; ")


def test_the_writer_tells_what_it_refuses() -> None:
    empty, aligned, outside, twice = Fault.EMPTY, Fault.ALIGNMENT, Fault.TARGET_RANGE, Fault.OVERLAP
    for fault, ranges, line in (
        (empty, {}, "there is nothing to write; give at least one byte"),
        (empty, {FLASH: b""}, "there is nothing to write; give at least one byte"),
        (aligned, {FLASH + 1: b"x"}, "start 0x10000001 is not a multiple of 256; align it"),
        (outside, {-256: b"x"}, "0x-100 + 1 bytes is not a 32-bit range; move it"),
        (outside, {0xFFFF_FF00: bytes(257)}, "0xffffff00 + 257 bytes is not a 32-bit range; move it"),
        (twice, {0x1000: b"x", 0xF00: bytes(257)}, "address 0x00001000 is given twice; give it once"),
        (twice, {0: bytes(257), 256: b"y"}, "address 0x00000100 is given twice; give it once"),
    ):
        with pytest.raises(Uf2Error) as caught:
            uf2.build_ranges(ranges)
        assert str(caught.value) == f"new image: {line}"
        assert (caught.value.fault, caught.value.block) == (fault, None)
    assert len(uf2.build(bytes(256), 0xFFFF_FF00)) == len(uf2.build(bytes(1), 0)) == 512


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


pages = st.dictionaries(
    st.integers(0, (2 << 20) // 256 - 1).map(lambda page: FLASH + page * 256),
    st.binary(min_size=1, max_size=256),
    min_size=1,
    max_size=12,
)


@given(pages)
def test_round_trip(content: dict[int, bytes]) -> None:
    data = uf2.build_ranges(content)
    image = uf2.parse(data)
    read = {block.address: block.payload for block in image.blocks}
    assert read == {address: page.ljust(256, b"\xff") for address, page in content.items()}
    assert sum(map(len, image.flash_bytes().values())) == image.size == 256 * len(content)
    assert uf2.build_ranges(image.ranges()) == data


@given(st.binary(max_size=1500))
def test_any_bytes_give_an_image_or_one_fault(data: bytes) -> None:
    expect_image_or_fault(data)


@given(st.data())
def test_mutated_files_give_an_image_or_one_fault(data: st.DataObject) -> None:
    mutated = bytearray(GOOD)
    fields = st.sampled_from([0, 4, 8, 12, 16, 20, 24, 28, 32, 288, 484, 508])
    words = st.one_of(
        st.integers(0, 0xFFFFFFFF),
        st.integers(0, 8),
        st.sampled_from([0x2000, 0x2001, 0x6000, 0xA000, 0xE000, 0x3000, FLASH, 0x20000000, 0xE48BFF59, 256, 476]),
    )
    for _ in range(data.draw(st.integers(1, 4))):
        block, offset = data.draw(st.integers(0, 4)), data.draw(fields)
        struct.pack_into("<I", mutated, block * 512 + offset, data.draw(words))
    cut = data.draw(st.integers(0, len(mutated)))
    expect_image_or_fault(bytes(mutated))
    expect_image_or_fault(bytes(mutated[:cut]))


def expect_image_or_fault(data: bytes) -> None:
    try:
        image = uf2.parse(data, "fuzz")
    except Uf2Error as error:
        assert "\n" not in str(error) and str(error).startswith("fuzz")
        return
    for address, content in image.ranges().items():
        assert content and address % 256 == 0
    assert uf2.parse(uf2.build_ranges(image.ranges())).ranges() == image.ranges()
