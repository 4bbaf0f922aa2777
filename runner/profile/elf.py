"""Functions of an ELF file, the one that an image was made from."""

from __future__ import annotations

from pathlib import Path

from portbench.errors import PortbenchError
from portbench.runner.profile.symbols import Symbol


def elf_symbols(path: Path) -> list[Symbol]:
    """All functions. Raises PortbenchError for what is no ELF file with symbols, OSError for what cannot be read."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            tables = [section for section in elf.iter_sections() if isinstance(section, SymbolTableSection)]
            found = [
                Symbol(symbol["st_value"] & ~1, symbol["st_size"], symbol.name)
                for table in tables
                for symbol in table.iter_symbols()
                if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF" and symbol.name
            ]
    except (ELFError, UnicodeDecodeError, ValueError) as error:
        raise PortbenchError(
            f"--elf: {path}: is no ELF file ({error}); name the one that the image was made from"
        ) from None
    if not found:
        raise PortbenchError(f"--elf: {path}: has no functions in its symbol table; name one that is not stripped")
    return found
