"""Functions of an image by name, from its ELF file or its linker map."""

from io import BytesIO
from pathlib import Path

from portbench.errors import PortbenchError
from portbench.runner.profile.linker_map import map_symbols
from portbench.runner.profile.symbols import Symbol


def image_symbols(image: Path, elf: Path | None) -> list[Symbol]:
    """Functions that `elf` names, or the ELF or map file beside the image that has the image's name."""
    beside = (image.with_suffix(ending) for ending in (".elf", ".elf.map", ".map"))
    path = elf or next((path for path in beside if path.is_file()), None)
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


def elf_symbols(path: Path) -> list[Symbol]:
    """All functions of an ELF file. Raises PortbenchError for a file without symbols, and OSError."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    try:
        elf = ELFFile(BytesIO(path.read_bytes()))  # of a file, a damaged offset would be an OSError
        tables = [section for section in elf.iter_sections() if isinstance(section, SymbolTableSection)]
        found = [
            Symbol(symbol["st_value"] & ~1, symbol["st_size"], symbol.name)
            for table in tables
            for symbol in table.iter_symbols()
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF" and symbol.name
        ]
    except (ELFError, ValueError, OverflowError) as error:
        raise PortbenchError(
            f"--elf: {path}: is not an ELF file ({error}); name the file that the image was made from"
        ) from None
    if not found:
        raise PortbenchError(f"--elf: {path}: has no functions in its symbol table; name an unstripped file")
    return found
