"""What mutants survived for want of a test: lines to the letter, limits to the byte, and what is passed on."""

from __future__ import annotations

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
    large = tmp_path / "large.uf2"
    with large.open("wb") as file:
        file.truncate(uf2.MAX_FILE_BYTES + 1)
    assert line(large) == "67108865 bytes, more than 67108864; choose a UF2 image for RP2040"


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
    status = os.stat_result([0o100644, *[0] * 9])
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


def test_what_is_joined_keeps_its_family_and_names_what_overlaps() -> None:
    image = uf2.parse(uf2.build(CONTENT, family_id=SAMD51), "a.uf2", family_id=SAMD51)
    for joined in (uf2.merge(image), uf2.with_data(image, FLASH, b"x")):
        assert uf2.parse(joined, "joined", family_id=SAMD51).blocks[0].address == FLASH
    other = uf2.parse(uf2.build(CONTENT[:256], FLASH + 256), "b.uf2")
    with pytest.raises(Uf2Error) as caught:
        uf2.merge(uf2.parse(uf2.build(CONTENT), "a.uf2"), other)
    assert str(caught.value) == (
        "b.uf2: block 0: address 0x10000100 is in an image before it too; use with_data to replace content"
    )


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
