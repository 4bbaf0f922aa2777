"""Names of an image's functions, from the file that has them."""

from __future__ import annotations

from pathlib import Path

from portbench.errors import PortbenchError
from portbench.runner.profile.elf import elf_symbols
from portbench.runner.profile.linker_map import map_symbols
from portbench.runner.profile.symbols import Symbol


def elf_or_map(image: Path, elf: Path | None) -> Path | None:
    """The file that has names: the one that was named, or one beside the image that is called as it is."""
    beside = (image.with_suffix(ending) for ending in (".elf", ".elf.map", ".map"))
    return elf or next((path for path in beside if path.is_file()), None)


def image_symbols(image: Path, elf: Path | None) -> list[Symbol]:
    path = elf_or_map(image, elf)
    if path is None:
        return []
    with path.open("rb") as file:
        is_elf = file.read(4) == b"\x7fELF"
    if is_elf:
        return elf_symbols(path)
    found = map_symbols(path.read_text(encoding="utf-8", errors="replace"))
    if not found:
        raise PortbenchError(f"--elf: {path}: is neither an ELF file nor a linker map of GNU ld")
    return found
