"""The identity that an image holds, and entries for images that are in no catalogue.

Sources: the banner strings of MicroPython (`py/mpconfig.h`, MICROPY_BANNER_NAME_AND_VERSION and
MICROPY_BANNER_MACHINE) and CircuitPython (`shared/runtime/pyexec.c`), and the Pico SDK's `binary_info`
(`src/common/pico_binary_info/include/pico/binary_info/structure.h`).
"""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

from portbench.console import shown
from portbench.errors import PortbenchError
from portbench.firmware import uf2
from portbench.firmware.catalogue import Family, FirmwareEntry

IMAGE_FAMILIES: Final = tuple(family for family in Family if not family.traits.hosted)
"""The families that an image can have."""

NATIVE_PROGRAM: Final = b"portbench-native"
"""The name that the native client holds and reports."""

_CIRCUITPYTHON = re.compile(rb"CircuitPython (\d[\w.+\-]*) on \d{4}-\d\d-\d\d(?:; ([ -~]+))?")
_MICROPYTHON = re.compile(rb"MicroPython (?:v?(\d+\.[\w.+\-]*)|[0-9a-f]{7,40}(?:-dirty)?) on \d{4}-\d\d-\d\d")
"""A build of a shallow clone names the commit alone: it has no version."""
_PLATFORM = re.compile(rb"MicroPython-(\d+\.\d+\.\d+(?:-preview)?)-")
"""The start of `platform.platform()`. A fork's banner may have the version of the fork's tags instead."""
_MACHINE = re.compile(rb"\0; ([ -~]+ with RP2[ -~]*)\0")
_FROZEN = re.compile(rb"(?<![\w/])([A-Za-z_]\w*)(?:/__init__)?\.py(?=\0)")
_MAIN = b"\0main.py\0"
"""The script that MicroPython runs after its boot; an image that has the name twice has it frozen, too."""
_WIZNETS_CLASS = b"WIZNET5K"
_LWIP = b"lwip\0"
"""The name of a module. A build with that class and without lwIP uses the chip's own TCP/IP."""
_CYW43439_FIRMWARE = b"43439a0-roml/"
"""The beginning of the version that the radio's own firmware names; each driver of the chip brings that firmware."""

_MARKER_START = struct.pack("<I", 0x7188EBF2)
_MARKER_END = 0xE71AA390
_SEARCHED_BYTES = 0x400  # the SDK asks for the marker in the first 256 bytes after boot2
_TAG_RASPBERRY_PI = int.from_bytes(b"RP", "little")
_TYPE_ID_AND_STRING = 6
_IDS = {
    0x02031C86: "program_name",
    0x11A9BC3A: "program_version",
    0x9DA22254: "build_date",
    0x1856239A: "program_url",
    0xB63CFFBB: "pico_board",
    0x5360B3AB: "sdk_version",
}


@dataclass(frozen=True)
class Identity:
    """The runtime, version and board that an image names; None where it names none."""

    family: Family | None
    version: str | None
    machine: str | None
    program: dict[str, str]
    """Strings of `binary_info`: program_name, program_version, build_date, program_url, pico_board, sdk_version."""
    frozen: frozenset[str] = frozenset()
    """Python modules and packages in the image (`py/frozenmod.c`, mp_frozen_names). MicroPython: main.py alone."""
    radio: str | None = None
    """The radio chip whose firmware the image holds, as board definitions name it."""


AVR_SUFFIXES: Final = (".hex", ".elf")
"""Endings of an ATmega's images: Intel HEX and ELF."""
_AVR_STARTS: Final = (b":", b"\x7fELF")


@dataclass(frozen=True)
class Uf2File:
    """An image file, read, parsed and identified once on its way from the catalogue to a board's flash.

    `content` is that of a UF2 file; None: an ATmega's Intel HEX or ELF, which names no runtime.
    """

    path: Path
    data: bytes = field(repr=False)
    content: uf2.Uf2Image | None = field(repr=False)

    @classmethod
    def of(cls, path: Path, data: bytes, shown: str | None = None) -> Uf2File:
        """The file `path` with the content `data`; `shown` is its name in errors. Raises PortbenchError."""
        if path.suffix.lower() not in AVR_SUFFIXES:
            return cls(path, data, uf2.parse(data, shown or str(path)))
        if not data.startswith(_AVR_STARTS):
            raise PortbenchError(f"{shown or path}: is neither Intel HEX nor ELF; get the file again")
        return cls(path, data, None)

    @classmethod
    def read(cls, path: Path) -> Uf2File:
        """The file `path`. Raises PortbenchError.

        Planning and measuring a row ask for the same file: the last one is kept while it is unchanged.
        """
        try:
            found = path.stat()
        except OSError:
            return cls.of(path, uf2.read_bytes(path))
        return _read(path, (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def identity(self) -> Identity:
        return Identity(None, None, None, {}) if self.content is None else identify(self.content)

    def check_fits(self, family_id: int, flash_bytes: int) -> None:
        """Raise PortbenchError unless a chip of that UF2 family with a flash of that size takes the image."""
        if self.content is None:
            raise PortbenchError(f"{self.path}: is an image for an ATmega; use a .uf2 file")
        usual = uf2.boot_loader(self.content.family_id).usual_flash_bytes
        if (family_id, flash_bytes) != (self.content.family_id, usual):
            uf2.parse(self.data, str(self.path), family_id=family_id, flash_size_bytes=flash_bytes)


@lru_cache(maxsize=2)
def _read(path: Path, unchanged: tuple[int, ...]) -> Uf2File:
    return Uf2File.of(path, uf2.read_bytes(path))


def identify(image: uf2.Uf2Image) -> Identity:
    """Look for banners and `binary_info` in the content of `image`."""
    ranges = image.ranges()
    program: dict[str, str] = {}
    for content in ranges.values():
        program |= _binary_info(content[:_SEARCHED_BYTES], ranges)
    # A separator keeps a string from running from one range into the next.
    content = b"\0\0".join(ranges.values())
    radio = "CYW43439" if _CYW43439_FIRMWARE in content else None
    if found := _CIRCUITPYTHON.search(content):
        with_machine = next((match for match in _CIRCUITPYTHON.finditer(content) if match[2]), found)
        frozen = frozenset(name.decode() for name in _FROZEN.findall(content))
        return Identity(Family.CIRCUITPYTHON, found[1].decode(), _text(with_machine[2]), program, frozen, radio)
    if found := _MICROPYTHON.search(content):
        hardwired = _WIZNETS_CLASS in content and _LWIP not in content
        family = Family.WIZNET if hardwired else Family.MICROPYTHON
        machine = _MACHINE.search(content)
        name = _text(machine[1]) if machine else None
        version, platform = _text(found[1]), _PLATFORM.search(content)
        if platform and (version is None or release(version) != release(platform[1].decode())):
            version = platform[1].decode()
        frozen = frozenset({"main.py"} if content.count(_MAIN) > 1 else ())
        return Identity(family, version, name, program, frozen, radio)
    own = Family.NATIVE if NATIVE_PROGRAM in content else None
    return Identity(own, program.get("program_version"), program.get("pico_board"), program, radio=radio)


def release(version: str) -> tuple[int, ...]:
    """The three numbers of a release, without the suffix of `git describe`: `1.17-145-g86125de2e` -> (1, 17, 0)"""
    match = re.match(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?", version)
    return tuple(int(part or 0) for part in match.groups()) if match else ()


def entry_for_file(
    image: Uf2File,
    *,
    family: Family | str | None = None,
    board: str = "W5500_EVB_PICO",
    has_radio: bool = False,
    version: str | None = None,
) -> FirmwareEntry:
    """Wrap `image` as an entry with its family's usual profiles; its id is the file's name.

    `family` and `version` are guessed from the image where they are not given. An unknown image is foreign.
    Raises `uf2.Uf2Error` for a bad image and `PortbenchError` for a family that no image can have.
    """
    path, identity = image.path, image.identity
    if family is not None and family not in IMAGE_FAMILIES:
        raise PortbenchError(f"{path}: family is {str(family)!r}; use one of: {', '.join(IMAGE_FAMILIES)}")
    chosen = (identity.family or Family.FOREIGN) if family is None else Family(family)
    return FirmwareEntry(
        id=re.sub(r"[^a-z0-9.\-]+", "-", path.stem.lower()).strip("-.") or "image",
        family=chosen,
        board=board,
        profiles=(has_radio and chosen.traits.radio_profiles) or chosen.traits.profiles,
        version=version or identity.version or "unknown",
        file=shown(path.name),
        path=path,
    )


def _text(raw: bytes | None) -> str | None:
    return raw.decode("ascii") if raw else None


def _binary_info(head: bytes, ranges: dict[int, bytes]) -> dict[str, str]:
    """Strings of the `binary_info` whose header is in `head`; pointers to outside the image are left out."""
    at = head.find(_MARKER_START)
    if at < 0 or at + 20 > len(head):
        return {}
    start, end, _mapping, marker_end = struct.unpack_from("<4I", head, at + 4)
    if marker_end != _MARKER_END or not start <= end <= start + 0x10000:
        return {}
    strings: dict[str, str] = {}
    for slot in range(start, end, 4):
        pointer = _at(ranges, slot, 4)
        entry = _at(ranges, int.from_bytes(pointer, "little"), 12) if pointer else b""
        if not entry:
            continue
        kind, tag, identifier, value = struct.unpack("<HHII", entry)
        name = _IDS.get(identifier)
        if kind == _TYPE_ID_AND_STRING and tag == _TAG_RASPBERRY_PI and name:
            text = _at(ranges, value, 256, short=True).partition(b"\0")[0]
            strings[name] = text.decode("utf-8", "replace")
    return strings


def _at(ranges: dict[int, bytes], address: int, size: int, *, short: bool = False) -> bytes:
    """`size` bytes at `address`; fewer at the end of a range if `short`, else none."""
    for base, content in ranges.items():
        if base <= address < base + len(content):
            piece = content[address - base : address - base + size]
            return piece if short or len(piece) == size else b""
    return b""
