"""Reading, checking and writing UF2 images.

Format: the UF2 specification (microsoft/uf2, README.md). What a chip accepts: RP2040 datasheet section 2.8.4.2, "UF2
format details": 256-byte payloads on 256-byte boundaries, one family id, the whole image in flash or the whole image in
RAM. Blocks of other families and "not main flash" blocks are ignored by the chip and skipped here.
`uf2_families.BOOT_LOADERS` has what differs from chip to chip.
"""

import hashlib
import os
import stat
import struct
from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from portbench.firmware import uf2_families
from portbench.firmware.uf2_families import BOOT_LOADERS, BootLoader, chip_name, taken_with
from portbench.firmware.uf2_faults import Fault as Fault
from portbench.firmware.uf2_faults import Uf2Error as Uf2Error

BLOCK_SIZE: Final = 512
PAGE_SIZE: Final = 256  # the only payload size that the boot loaders accept
SECTOR_SIZE: Final = 4096  # the smallest part of flash that can be erased
MAX_PAYLOAD: Final = 476
MAX_FILE_BYTES: Final = 64 << 20  # a 16 MiB flash, the most that XIP can address, needs a 32 MiB file

MAGIC_START0: Final = 0x0A324655
MAGIC_START1: Final = 0x9E5D5157
MAGIC_END: Final = 0x0AB16F30

FLAG_NOT_MAIN_FLASH: Final = 0x0000_0001
FLAG_FILE_CONTAINER: Final = 0x0000_1000
FLAG_FAMILY_ID: Final = 0x0000_2000
FLAG_MD5: Final = 0x0000_4000
FLAG_EXTENSION_TAGS: Final = 0x0000_8000

FLASH_BASE: Final = 0x1000_0000

_HEADER: Final = struct.Struct("<8I")
_U32: Final = struct.Struct("<I")
_MD5_TIMES: Final = 8
"""Limit of MD5s over the image: its parts and the whole are two, but the whole in each block took minutes."""
_MD5_BYTES: Final = 24  # start address, length, 16 bytes of MD5, at the end of the data area

_AT_ONCE: Final = getattr(os, "O_NONBLOCK", 0)
_AGAIN = "get the file again"
_KNOWN = " or ".join(dict.fromkeys(loader.mcu for loader in BOOT_LOADERS.values()))
_FAMILY_IDS = ", ".join(
    f"0x{family:08X} for {chip_name(family)}" for family in BOOT_LOADERS if family != uf2_families.RP2350_ABSOLUTE
)
_OTHER_BOARD = "choose the image made for this board"


@dataclass(frozen=True, slots=True)
class Uf2Block:
    """One 512-byte block. `index` is its place in the file, `block_no` the number that it carries."""

    index: int
    flags: int
    address: int
    payload: bytes
    block_no: int
    num_blocks: int
    family_id: int
    tags: tuple[tuple[int, bytes], ...] = ()
    md5: tuple[int, int, bytes] | None = None
    """Start address, length and MD5 of the flash region that this block speaks of, where it carries one."""

    @property
    def main_flash(self) -> bool:
        """True if the boot loader writes this block."""
        return not self.flags & FLAG_NOT_MAIN_FLASH

    @property
    def end(self) -> int:
        """First address after the payload."""
        return self.address + len(self.payload)


@dataclass(frozen=True)
class Uf2Image:
    """A checked image for one chip family."""

    name: str
    family_id: int
    blocks: tuple[Uf2Block, ...]
    """Blocks that the chip writes, by address."""
    in_ram: bool
    """The boot loader loads it into RAM and runs it; nothing is programmed."""
    skipped_blocks: int = 0
    """Blocks of other families and "not main flash" blocks."""
    tags: dict[int, bytes] = field(default_factory=dict)
    """Extension tags of the written blocks, last one wins."""

    @property
    def size(self) -> int:
        """Bytes that the chip writes."""
        return sum(len(block.payload) for block in self.blocks)

    def ranges(self) -> dict[int, bytes]:
        """Contiguous content by start address, lowest first."""
        parts: dict[int, list[bytes]] = {}
        start = end = -1
        for block in self.blocks:
            if block.address != end:
                start = block.address
                parts[start] = []
            parts[start].append(block.payload)
            end = block.end
        return {address: b"".join(pieces) for address, pieces in parts.items()}

    def flash_bytes(self) -> dict[int, bytes]:
        """Contiguous flash content by start address (XIP addresses, 0x10000000 and up).

        Raises `Uf2Error` (`Fault.RAM_IMAGE`) for an image that is loaded into RAM.
        """
        if self.in_ram:
            raise Uf2Error(
                Fault.RAM_IMAGE,
                self.name,
                f"loads into RAM at 0x{self.blocks[0].address:08x} and programs no flash",
                "build it for flash (not as no_flash)",
            )
        return self.ranges()

    def programmed(self, flash: bytes = b"") -> bytes:
        """`flash`, the contents from its start, with this image programmed into it. Added bytes are blank.

        Raises as `flash_bytes` does.
        """
        content = bytearray(flash)
        for address, data in self.flash_bytes().items():
            start = address - FLASH_BASE
            content += b"\xff" * (start + len(data) - len(content))
            content[start : start + len(data)] = data
        return bytes(content)


def flash_content(path: Path, flash_bytes: int = 0) -> bytes:
    """A blank flash of `flash_bytes` with the image in file `path`; 0: up to the end of the image.

    Raises `Uf2Error`.
    """
    return read(path, flash_size_bytes=flash_bytes or None).programmed(b"\xff" * flash_bytes)


def read(path: Path, *, family_id: int | None = None, flash_size_bytes: int | None = None) -> Uf2Image:
    """Read and check the image in file `path`, see `parse`. Raises `Uf2Error`."""
    return parse(read_bytes(path), str(path), family_id=family_id, flash_size_bytes=flash_size_bytes)


def read_bytes(path: Path) -> bytes:
    """Content of the file `path`. Raises `Uf2Error` for one that is unreadable or too large for an image."""
    try:
        # Opening a pipe would wait for a writer.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _AT_ONCE)) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise Uf2Error(Fault.UNREADABLE, str(path), "is not a regular file", "name a UF2 image")
            if found.st_size > MAX_FILE_BYTES:
                raise Uf2Error(
                    Fault.TOO_LARGE,
                    str(path),
                    f"{found.st_size} bytes, more than {MAX_FILE_BYTES}",
                    f"choose a UF2 image for {_KNOWN}",
                )
            return file.read(found.st_size)  # memory for all bytes that are asked for is taken at once
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Uf2Error(
            Fault.UNREADABLE, str(path), f"cannot be read ({reason})", "check the path and its permissions"
        ) from error


def parse(
    data: bytes,
    name: str = "image",
    *,
    family_id: int | None = None,
    flash_size_bytes: int | None = None,
) -> Uf2Image:
    """Check the UF2 file `data` as an image for `family_id` and a flash of `flash_size_bytes`.

    A file without blocks of that family may be for other cores of the same chip. None: the family that the file is for,
    which must be one alone, and the usual flash of its boards. `name` is the file's name for messages. Raises
    `Uf2Error` at the first fault.
    """
    blocks = _split(data, name)
    if family_id is None:
        family_id = _family(blocks, name)
    else:
        found = {block.family_id for block in _without_skipped(blocks)}
        wanted = chip_name(family_id)
        family_id = next((family for family in taken_with(family_id) if family in found), None)
        if family_id is None:
            raise _wrong_chip(blocks, name, wanted)
    mine = [block for block in blocks if block.family_id == family_id]
    loader = boot_loader(family_id)
    _check_numbering(mine, name)
    written = sorted((block for block in mine if block.main_flash), key=lambda block: block.address)
    if not written:
        raise Uf2Error(Fault.NO_CONTENT, name, "no block is for main flash", _OTHER_BOARD)
    for block in written:
        _check_payload(block, name, loader)
    in_ram = _check_targets(written, name, flash_size_bytes or loader.usual_flash_bytes, loader)
    image = Uf2Image(
        name=name,
        family_id=family_id,
        blocks=tuple(written),
        in_ram=in_ram,
        skipped_blocks=len(blocks) - len(written),
        tags={tag: value for block in written for tag, value in block.tags},
    )
    _check_md5(image)
    return image


def boot_loader(family_id: int) -> BootLoader:
    """Return the boot loader for images of a family; for another microcontroller's, the RP2040's."""
    return BOOT_LOADERS.get(family_id, BOOT_LOADERS[uf2_families.RP2040])


def _wrong_chip(blocks: list[Uf2Block], name: str, wanted: str) -> Uf2Error:
    families = [block.family_id for block in _without_skipped(blocks)]
    chips = ", ".join(sorted({chip_name(family) for family in families}))
    problem = f"is for {chips} (family 0x{families[0]:08X}), not {wanted}"
    return Uf2Error(Fault.WRONG_CHIP, name, problem, _OTHER_BOARD, block=0, families=tuple(families))


def _family(blocks: list[Uf2Block], name: str) -> int:
    """The family that a file with one image is for."""
    families = list(dict.fromkeys(block.family_id for block in _without_skipped(blocks)))
    images = [family for family in families if family in BOOT_LOADERS]
    if len(images) > 1:  # a block for the end of another flash works around erratum RP2350-E10, too
        images = [family for family in images if family != uf2_families.RP2350_ABSOLUTE]
    if len(images) > 1:
        chips = " and ".join(map(chip_name, images))
        raise Uf2Error(Fault.SEVERAL_IMAGES, name, f"holds images for {chips}", "take a file with one image")
    if not images:
        raise _wrong_chip(blocks, name, _KNOWN)
    return images[0]


def _without_skipped(blocks: list[Uf2Block]) -> list[Uf2Block]:
    """The blocks without those that a boot loader skips by their family and address; all, if there are no others."""
    skipped = {loader.skipped for loader in BOOT_LOADERS.values()}
    return [block for block in blocks if (block.family_id, block.address) not in skipped] or blocks


def _split(data: bytes, name: str) -> list[Uf2Block]:
    """All blocks of the file, each one well-formed by itself."""
    if not data:
        raise Uf2Error(Fault.EMPTY, name, "the file is empty", _AGAIN)
    magic = _U32.pack(MAGIC_START0)
    if data[:4] != magic[: len(data)]:
        raise Uf2Error(
            Fault.NOT_UF2, name, f"is not a UF2 file (starts with {data[:8].hex(' ')})", "choose a .uf2 image"
        )
    whole, rest = divmod(len(data), BLOCK_SIZE)
    blocks: list[Uf2Block] = []
    left: dict[int, int] = {}  # family id -> blocks still to come, by its own count
    for index in range(whole):
        raw = data[index * BLOCK_SIZE : (index + 1) * BLOCK_SIZE]
        if raw[:4] != magic and left and not any(left.values()):
            extra = len(data) - index * BLOCK_SIZE
            raise Uf2Error(
                Fault.TRAILING, name, f"{extra} bytes follow the last block", "cut them off or " + _AGAIN, block=index
            )
        block = _parse_block(raw, index, name)
        blocks.append(block)
        left[block.family_id] = max(left.get(block.family_id, block.num_blocks) - 1, 0)
    if rest:
        tail = data[whole * BLOCK_SIZE :]
        if left and not any(left.values()) and tail[:4] != magic[: len(tail)]:
            raise Uf2Error(
                Fault.TRAILING, name, f"{rest} bytes follow the last block", "cut them off or " + _AGAIN, block=whole
            )
        raise Uf2Error(
            Fault.TRUNCATED,
            name,
            f"the file ends after {rest} of {BLOCK_SIZE} bytes ({len(data)} bytes in all)",
            _AGAIN,
            block=whole,
        )
    return blocks


def _parse_block(raw: bytes, index: int, name: str) -> Uf2Block:
    """One block from its 512 bytes; checks what does not depend on the chip or on other blocks."""
    start0, start1, flags, address, payload_size, block_no, num_blocks, family_id = _HEADER.unpack_from(raw)
    (end,) = _U32.unpack_from(raw, BLOCK_SIZE - 4)
    for label, value, expected in (
        ("first magic", start0, MAGIC_START0),
        ("second magic", start1, MAGIC_START1),
        ("final magic", end, MAGIC_END),
    ):
        if value != expected:
            raise Uf2Error(Fault.MAGIC, name, f"{label} is 0x{value:08X}, not 0x{expected:08X}", _AGAIN, block=index)
    if flags & FLAG_FILE_CONTAINER:
        raise Uf2Error(
            Fault.FILE_CONTAINER,
            name,
            f"holds part of a file (flags 0x{flags:08X}), not firmware",
            _OTHER_BOARD,
            block=index,
        )
    if not flags & FLAG_FAMILY_ID:
        ours = address >= FLASH_BASE
        raise Uf2Error(
            Fault.NO_FAMILY,
            name,
            f"names no chip family (flags 0x{flags:08X})"
            + ("" if ours else f", and writes to 0x{address:08X}, where no flash is"),
            f"convert it again with the family id {_FAMILY_IDS}" if ours else _OTHER_BOARD,
            block=index,
        )
    room = MAX_PAYLOAD - (_MD5_BYTES if flags & FLAG_MD5 else 0)
    # LibreTiny's files begin with a block of tags alone; they are for other chips, which is found later.
    least = 1 if family_id in BOOT_LOADERS else 0
    if not least <= payload_size <= room:
        problem = f"payload size is {payload_size} bytes, not {least} to {room}"
        raise Uf2Error(Fault.PAYLOAD_SIZE, name, problem, _AGAIN, block=index)
    if block_no >= num_blocks:
        raise Uf2Error(
            Fault.BLOCK_NUMBER, name, f"is number {block_no} of {num_blocks} (numbered from 0)", _AGAIN, block=index
        )
    body = raw[_HEADER.size : _HEADER.size + MAX_PAYLOAD]
    md5 = None
    if flags & FLAG_MD5:
        region = body[-_MD5_BYTES:]
        md5 = (_U32.unpack_from(region)[0], _U32.unpack_from(region, 4)[0], region[8:])
    tags: tuple[tuple[int, bytes], ...] = ()
    if flags & FLAG_EXTENSION_TAGS:
        tags = tuple(_parse_tags(body[payload_size:room], index, name))
    return Uf2Block(index, flags, address, body[:payload_size], block_no, num_blocks, family_id, tags, md5)


def _parse_tags(area: bytes, index: int, name: str) -> Iterable[tuple[int, bytes]]:
    """Extension tags: a size byte (which counts these four), a 24-bit type, data; each starts on 4 bytes."""
    offset = 0
    while offset + 4 <= len(area):
        size = area[offset]
        tag = int.from_bytes(area[offset + 1 : offset + 4], "little")
        if size == 0 and tag == 0:
            return
        if size < 4 or offset + size > len(area):
            raise Uf2Error(
                Fault.EXTENSION,
                name,
                f"extension tag 0x{tag:06x} claims {size} bytes, {len(area) - offset} are left",
                _AGAIN,
                block=index,
            )
        yield tag, area[offset + 4 : offset + size]
        offset += (size + 3) & ~3


def _check_numbering(blocks: list[Uf2Block], name: str) -> None:
    """Every number from 0 to numBlocks - 1 once, and one numBlocks for all."""
    total = blocks[0].num_blocks
    seen: dict[int, Uf2Block] = {}
    for block in blocks:
        if block.num_blocks != total:
            raise Uf2Error(
                Fault.BLOCK_COUNT,
                name,
                f"says {block.num_blocks} blocks in all, block {blocks[0].index} says {total}",
                _AGAIN,
                block=block.index,
            )
        first = seen.setdefault(block.block_no, block)
        if first is not block:
            raise Uf2Error(
                Fault.DUPLICATE,
                name,
                f"number {block.block_no} is there already (block {first.index})",
                _AGAIN,
                block=block.index,
            )
    if len(seen) != total:
        missing = next(number for number in range(total) if number not in seen)
        raise Uf2Error(
            Fault.MISSING,
            name,
            f"{total - len(seen)} of {total} blocks are missing, the first one is number {missing}",
            _AGAIN,
        )


def _check_payload(block: Uf2Block, name: str, loader: BootLoader) -> None:
    if len(block.payload) != PAGE_SIZE:
        raise Uf2Error(
            Fault.PAYLOAD_SIZE,
            name,
            f"payload size is {len(block.payload)} bytes, an {loader.mcu} takes {PAGE_SIZE}",
            f"convert it again with {PAGE_SIZE}-byte blocks",
            block=block.index,
        )
    if block.address % PAGE_SIZE:
        raise Uf2Error(
            Fault.ALIGNMENT,
            name,
            f"target address 0x{block.address:08x} is not a multiple of {PAGE_SIZE}",
            "convert it again with page-aligned blocks",
            block=block.index,
        )


def _check_targets(written: list[Uf2Block], name: str, flash_size_bytes: int, loader: BootLoader) -> bool:
    """True if the image goes to RAM; raises when a target is outside memory, mixed or written twice."""
    flash_end = FLASH_BASE + flash_size_bytes
    ram: list[Uf2Block] = []
    for block in written:
        if any(low <= block.address and block.end <= high for low, high in loader.ram):
            ram.append(block)
        elif block.address < FLASH_BASE or block.end > flash_end:
            raise Uf2Error(
                Fault.TARGET_RANGE,
                name,
                f"target address 0x{block.address:08x} is outside the {flash_size_bytes >> 10} KiB flash"
                f" (0x{FLASH_BASE:08x} to 0x{flash_end - 1:08x}) and RAM",
                _OTHER_BOARD,
                block=block.index,
            )
    if ram and len(ram) != len(written):
        raise Uf2Error(
            Fault.MIXED_TARGETS,
            name,
            f"target address 0x{ram[0].address:08x} is RAM, block {written[0].index} goes to flash",
            f"split it: an {loader.mcu} takes one or the other",
            block=ram[0].index,
        )
    for before, block in pairwise(written):
        if block.address < before.end:
            raise Uf2Error(
                Fault.OVERLAP,
                name,
                f"target address 0x{block.address:08x} is written by block {before.index} too",
                _AGAIN,
                block=block.index,
            )
    return bool(ram)


def _check_md5(image: Uf2Image) -> None:
    """Check each MD5 whose whole region is in the image. Other regions are about flash that stays unchanged."""
    regions = {block.md5: block for block in image.blocks if block.md5 is not None}
    if not regions:
        return
    ranges = image.ranges()
    bases = list(ranges)
    left = _MD5_TIMES * image.size
    for (start, length, expected), block in regions.items():
        base = bases[max(bisect(bases, start) - 1, 0)]
        content = memoryview(ranges[base])
        if not (base <= start and start + length <= base + len(content)):
            continue
        left -= length
        if left < 0:
            problem = f"with this block, MD5s cover more than {_MD5_TIMES} times the image's {image.size} bytes"
            raise Uf2Error(Fault.MD5, image.name, problem, "write the file with fewer MD5s", block=block.index)
        actual = hashlib.md5(content[start - base : start - base + length], usedforsecurity=False).digest()
        if actual != expected:
            raise Uf2Error(
                Fault.MD5,
                image.name,
                f"MD5 of 0x{start:08x} + {length} bytes is {actual.hex()}, the block says {expected.hex()}",
                _AGAIN,
                block=block.index,
            )


def build(payload: bytes, base: int = FLASH_BASE, family_id: int = uf2_families.RP2040) -> bytes:
    """A UF2 file that writes `payload` at `base` (a multiple of 256); the last page is filled with 0xFF."""
    return build_ranges({base: payload}, family_id)


def build_ranges(ranges: dict[int, bytes], family_id: int = uf2_families.RP2040) -> bytes:
    """A UF2 file that writes each range at its start address (a multiple of 256)."""
    pages: dict[int, bytes] = {}
    for base, content in ranges.items():
        if base % PAGE_SIZE:
            raise Uf2Error(
                Fault.ALIGNMENT, "new image", f"start 0x{base:08x} is not a multiple of {PAGE_SIZE}", "align it"
            )
        if base < 0 or base + len(content) > 1 << 32:
            raise Uf2Error(
                Fault.TARGET_RANGE, "new image", f"0x{base:x} + {len(content)} bytes is not a 32-bit range", "move it"
            )
        for offset in range(0, len(content), PAGE_SIZE):
            if base + offset in pages:
                raise Uf2Error(
                    Fault.OVERLAP, "new image", f"address 0x{base + offset:08x} is given twice", "give it once"
                )
            pages[base + offset] = content[offset : offset + PAGE_SIZE].ljust(PAGE_SIZE, b"\xff")
    if not pages:
        raise Uf2Error(Fault.EMPTY, "new image", "there is nothing to write", "give at least one byte")
    return b"".join(
        _HEADER.pack(MAGIC_START0, MAGIC_START1, FLAG_FAMILY_ID, address, PAGE_SIZE, number, len(pages), family_id)
        + page.ljust(MAX_PAYLOAD, b"\0")
        + _U32.pack(MAGIC_END)
        for number, (address, page) in enumerate(sorted(pages.items()))
    )


def with_data(image: Uf2Image, address: int, data: bytes) -> bytes:
    """The image as a UF2 file with `data` written at `address`, over what the image has there.

    The rest of a new page is 0xFF, and so are all pages up to the last in sectors that either touches: the RP2040's
    boot loader erases a sector for each 16 block numbers, whatever addresses they have (RP2040-E14), so without them
    it leaves out some of `data`. Sectors that neither touches stay out of the file.
    """
    pages = {block.address: block.payload for block in image.blocks}
    first = address - address % PAGE_SIZE
    for page in range(first, address + len(data), PAGE_SIZE):
        content = bytearray(pages.get(page, b"\xff" * PAGE_SIZE))
        low, high = max(page, address), min(page + PAGE_SIZE, address + len(data))
        content[low - page : high - page] = data[low - address : high - address]
        pages[page] = bytes(content)
    for sector in {page - page % SECTOR_SIZE for page in pages}:
        for page in range(sector, min(sector + SECTOR_SIZE, max(pages)), PAGE_SIZE):
            pages.setdefault(page, b"\xff" * PAGE_SIZE)
    return build_ranges(pages, image.family_id)
