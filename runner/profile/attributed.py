"""Names of functions with flash cache misses, from an ELF file, a map or the image."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from portbench.errors import PortbenchError
from portbench.firmware.uf2 import flash_content
from portbench.runner.profile.names import image_symbols
from portbench.runner.profile.recovered import BYTECODE_LOOP, bytecode_loop, mbedtls_regions
from portbench.runner.profile.symbols import Symbol, Symbols, region

_MOST_MISSING: Final = 100
_MOST_IN_SRAM: Final = 400
KnownBy = Literal["elf", "map", "image"]


def with_names(
    attribution: dict[str, Any] | None, image: Path | None, elf: Path | None = None
) -> dict[str, Any] | None:
    """Convert a board's attribution (`boards.emulated.attribution`) to that of `results.attribution`, with names.

    Raises PortbenchError for an `elf` without names. A file beside the image without names is ignored.
    """
    if attribution is None:
        return None
    rest = dict(attribution)
    lines: list[tuple[int, int]] = [(address, count) for address, count in rest.pop("flash_lines", ())]
    if image is not None:
        known_by, symbols = certain_symbols(image, elf)
        rest["functions"] = functions(symbols, known_by, lines)
    return rest


def certain_symbols(image: Path, elf: Path | None) -> tuple[KnownBy, list[Symbol]]:
    """Functions whose start and end are certain, and parts of mbedTLS, with the source of the names."""
    names: list[Symbol] = []
    try:
        names = [symbol for symbol in image_symbols(image, elf) if symbol.size]
    except PortbenchError:
        if elf is not None:
            raise
    if names:
        return "map" if any(symbol.section for symbol in names) else "elf", names
    flash = flash_content(image)
    loop = bytecode_loop(flash)
    # The interpreter's loop covers at least all targets of its table.
    found = [] if loop is None else [Symbol(loop.start, loop.end - loop.start, BYTECODE_LOOP)]
    return "image", found + [Symbol(each.start, each.end - each.start, each.name) for each in mbedtls_regions(flash)]


def functions(symbols: Sequence[Symbol], known_by: KnownBy, lines: Iterable[tuple[int, int]]) -> list[dict[str, Any]]:
    """Functions with misses, most first, then functions in SRAM."""
    known = Symbols(symbols)
    misses: Counter[Symbol] = Counter()
    for address, count in lines:
        symbol = known.find(address)
        if symbol is not None:
            misses[symbol] += count
    missing = sorted(misses, key=lambda symbol: (-misses[symbol], symbol))[:_MOST_MISSING]
    quiet = [symbol for symbol in symbols if region(symbol.start) == "SRAM" or symbol.name == BYTECODE_LOOP]
    rest = sorted(set(quiet) - set(missing))[:_MOST_IN_SRAM]
    return [
        {
            "name": symbol.name,
            "address": f"0x{symbol.start:08x}",
            "bytes": symbol.size,
            "misses": misses[symbol],
            "known_by": known_by,
            "section": symbol.section,
        }
        for symbol in [*missing, *rest]
    ]
