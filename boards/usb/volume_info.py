"""What a board's drive says about itself: INFO_UF2.TXT of the boot loader, boot_out.txt of CircuitPython."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

INFO_UF2 = "INFO_UF2.TXT"
BOOT_OUT = "boot_out.txt"
_MOST_BYTES = 4096

Kind = Literal["bootloader", "circuitpython"]


@dataclass(frozen=True)
class VolumeInfo:
    """`version`: the boot loader's or CircuitPython's. `machine` and `uid` are CircuitPython's, None where not told."""

    kind: Kind
    board_id: str
    version: str | None
    machine: str | None = None
    uid: str | None = None


def read_volume_info(volume: Path) -> VolumeInfo | None:
    """What the drive mounted at `volume` is; None for a drive that is no board's, or gone."""
    text = _read(volume / INFO_UF2)
    if text is not None:
        return parse_info_uf2(text)
    text = _read(volume / BOOT_OUT)
    return None if text is None else parse_boot_out(text)


def parse_info_uf2(text: str) -> VolumeInfo | None:
    """INFO_UF2.TXT as the UF2 specification has it; RP2040 datasheet section 2.8.4.1."""
    board_id = re.search(r"^Board-ID: *(\S+)", text, re.MULTILINE)
    version = re.search(r"^UF2 Bootloader v(\S+)", text, re.MULTILINE)
    return VolumeInfo("bootloader", board_id[1], version[1] if version else None) if board_id else None


def parse_boot_out(text: str) -> VolumeInfo | None:
    """boot_out.txt as CircuitPython writes it (`main.c`): the banner, `Board ID:`, `UID:`."""
    banner = re.search(r"CircuitPython (\S+) on \d{4}-\d\d-\d\d; ([^\r\n]+)", text)
    board_id = re.search(r"^Board ID: *(\S+)", text, re.MULTILINE)
    uid = re.search(r"^UID: *([0-9A-Fa-f]+)", text, re.MULTILINE)
    if not board_id:
        return None
    return VolumeInfo(
        "circuitpython",
        board_id[1],
        banner[1] if banner else None,
        banner[2].strip() if banner else None,
        uid[1] if uid else None,
    )


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
