"""Sources of function names."""

import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from portbench.errors import PortbenchError
from portbench.firmware.uf2 import FLASH_BASE, flash_content
from portbench.runner.profile.linker_map import map_symbols
from portbench.runner.profile.model import sampled_profile
from portbench.runner.profile.names import elf_symbols
from portbench.runner.profile.recovered import BytecodeLoop, bytecode_loop, call_targets, mbedtls_regions
from portbench.runner.profile.symbols import Symbol, Symbols, region
from tests.conftest import Image

words = st.text("abcdefgh_0123456789", min_size=1, max_size=40)


def test_an_address_has_the_name_of_what_it_lies_in() -> None:
    symbols = Symbols([Symbol(0x100, 8, "f"), Symbol(0x200, 0, "g"), Symbol(0x1000_0000, 4, "h")])
    assert [symbols.name(at) for at in (0x100, 0x107, 0x108, 0x200, 0x1FF, 0x1000_0000)] == [
        *("f", "f", "0x00000100..", "g", "0x00000100..", "h"),
    ]
    assert symbols.name(0x1200) == "0x00001200..", "code far behind the last one has no name"
    assert Symbols([Symbol(0x1FFF_FFFE, 0, "f")]).find(0x2000_0000) is None, "no function reaches from flash into SRAM"
    assert (region(0x10), region(0x1000_0000), region(0x2004_0000), region(0xFFFF_FFFE)) == (
        *("ROM", "flash", "SRAM", "elsewhere"),
    )


def test_of_functions_with_one_beginning_the_longest_counts_then_the_first_name() -> None:
    symbols = Symbols([Symbol(0x100, 4, "a"), Symbol(0x100, 8, "c"), Symbol(0x100, 8, "b")])
    assert [symbols.name(at) for at in (0x100, 0x107, 0x108)] == ["b", "b", "0x00000100.."]


def test_beginnings_are_added_where_no_function_with_an_end_is() -> None:
    symbols = Symbols([Symbol(0x100, 0x10, "f"), Symbol(0x200, 0, "g")])
    more = symbols.with_starts([0x100, 0x108, 0x110, 0x200, 0x210])
    assert more.starts == [0x100, 0x110, 0x200, 0x210] and symbols.starts == [0x100, 0x200]
    assert [more.name(at) for at in (0x108, 0x110, 0x120, 0x20F, 0x210, 0x300)] == [
        *("f", "0x00000110", "0x00000110", "g", "0x00000210", "0x00000210"),
    ]


@given(st.dictionaries(st.integers(0, 2000), st.integers(0, 50)), st.lists(st.integers(0, 2000)), st.integers(0, 2000))
def test_starts_cut_only_what_has_no_end(sizes: dict[int, int], starts: list[int], address: int) -> None:
    symbols = Symbols(Symbol(start, size, f"f{start}") for start, size in sizes.items())
    more = symbols.with_starts(starts)
    assert set(more.starts) <= set(sizes) | set(starts)
    before, after = symbols.find(address), more.find(address)
    if before is not None and before.size:
        assert after == before
    if after is not None:
        assert after.start <= address and after.start == max(each for each in more.starts if each <= address)


sections = st.lists(st.tuples(words, st.integers(1, 0x7FFF_FFFF), st.integers(0, 0xFFFF)), max_size=20)


@given(sections)
def test_a_map_says_where_code_is(placed: list[tuple[str, int, int]]) -> None:
    """GNU ld prints the place of a long name in the next line; discarded sections come before."""
    lines = [
        "Discarded input sections",
        "",
        " .text.gone     0x00000000       0x10 gone.o",
        "Linker script and memory map",
    ]
    for name, start, size in placed:
        if len(name) > 8:
            lines += [f" .text.{name}", f"                0x{start:08x} {size:#10x} lib.a({name}.o)"]
        else:
            lines.append(f" .text.{name:<9} 0x{start:08x} {size:#10x} lib.a({name}.o)")
        lines += [f"                0x{start:08x}                {name}", " *(.text*)", " *fill*  0x10 0x2 "]
        lines.append(f" .rodata.{name} 0x{start:08x} {size:#10x} lib.a({name}.o)")
    found = map_symbols("\n".join(lines))
    assert found == [Symbol(start, size, name) for name, start, size in placed if size]


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert map_symbols(text) == []
    map_symbols("Linker script and memory map\n" + text)


def test_sections_without_a_name_have_the_files() -> None:
    text = "Linker script and memory map\n .text          0x10000200       0x40 /build/obj/crt0.S.o\n"
    (found,) = map_symbols(text)
    assert found == Symbol(0x1000_0200, 0x40, "crt0.S.o") and found.section == ".text obj/crt0.S.o"
    (deeper,) = map_symbols(text.replace("/build", "/home/me/build"))
    assert deeper.section == ".text obj/crt0.S.o"


def test_an_elf_files_functions(tmp_path: Path) -> None:
    compiler = shutil.which("arm-none-eabi-gcc")
    if compiler is None:
        pytest.skip("arm-none-eabi-gcc is not installed; run: sudo .ci/install-system-packages")
    source, elf, linked = tmp_path / "x.c", tmp_path / "x.elf", tmp_path / "x.map"
    source.write_text("int g(int x) { return x * 3; }\nint main(void) { return g(2); }\nint data = 5;\n")
    flags = [
        "-mcpu=cortex-m0plus",
        "-mthumb",
        "-ffunction-sections",
        "-nostdlib",
        "-Wl,-emain",
        "-Wl,-Ttext=0x10000100",
    ]
    subprocess.run([compiler, *flags, f"-Wl,-Map={linked}", "-o", elf, source], check=True, timeout=60)
    functions = {symbol.name: symbol for symbol in elf_symbols(elf)}
    assert set(functions) == {"g", "main"}
    assert all(
        symbol.start & 1 == 0 and symbol.size and region(symbol.start) == "flash" for symbol in functions.values()
    )
    mapped = {symbol.name: symbol.start for symbol in map_symbols(linked.read_text())}
    assert {name: mapped[name] for name in functions} == {name: symbol.start for name, symbol in functions.items()}
    subprocess.run([compiler.removesuffix("gcc") + "strip", elf], check=True, timeout=60)
    with pytest.raises(PortbenchError, match="has no functions in its symbol table"):
        elf_symbols(elf)
    with pytest.raises(PortbenchError, match="is not an ELF file"):
        elf_symbols(source)


def elf_file() -> bytes:
    """Build an ELF file of 64 bits, whose offsets can be beyond all files, with `main` and `g`."""
    names = b"\0main\0g\0.symtab\0.strtab\0"
    functions = ((1, 0x1000_0101, 8), (6, 0x1000_0109, 4))
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", name, 0x12, 0, 1, *place) for name, *place in functions)
    tables = bytes(64) + struct.pack("<IIQQQQIIQQ", 8, 2, 0, 0, 64, len(symbols), 2, 1, 8, 24)
    tables += struct.pack("<IIQQQQIIQQ", 16, 3, 0, 0, 64 + len(symbols), len(names), 0, 0, 1, 0)
    at = 64 + len(symbols) + len(names)
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQI6H", 2, 183, 1, 0, 0, at, 0, 64, 0, 0, 64, 3, 2)
    return head + symbols + names + tables


TABLE = len(elf_file()) - 2 * 64
"""Entry of the symbols in the table of sections."""


@given(st.dictionaries(st.integers(0, len(elf_file()) - 1), st.integers(0, 255), max_size=4), st.integers(0, 500))
@example({}, 500)
@example({TABLE + 24 + 7: 0x20}, 500)
@example({TABLE + 24 + 7: 0xFF}, 500)
def test_a_damaged_elf_file_is_named(bytes_at: dict[int, int], length: int) -> None:
    data = bytearray(elf_file())
    for place, byte in bytes_at.items():
        data[place] = byte
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.elf")
        path.write_bytes(data[:length])
        try:
            found = elf_symbols(path)
        except PortbenchError as error:
            assert str(error).startswith(f"--elf: {path}: ") and (bytes_at or length < len(data))
        else:
            assert found and (bytes_at or [each.name for each in found] == ["main", "g"])


def bl(at: int, to: int) -> bytes:
    """BL at byte `at` of the code, to byte `to`."""
    offset = to - at - 4
    sign = 1 if offset < 0 else 0
    j1, j2 = (1 - (offset >> bit & 1 ^ sign) for bit in (23, 22))
    high = 0xF000 | sign << 10 | offset >> 12 & 0x3FF
    return struct.pack("<HH", high, 0xD000 | j1 << 13 | j2 << 11 | offset >> 1 & 0x7FF)


@given(st.integers(0, 500), st.integers(0, 500))
def test_a_call_leads_to_a_beginning(caller: int, function: int) -> None:
    code = bytearray(b"\x00\xbf" * 1200)
    code[2 * caller : 2 * caller + 4] = bl(2 * caller, 1400 + 2 * function)
    assert call_targets(bytes(code), FLASH_BASE) == [], "called once, and looks like nothing"
    code[1400 + 2 * function : 1402 + 2 * function] = b"\x10\xb5"  # push {r4, lr}
    assert call_targets(bytes(code), FLASH_BASE) == [FLASH_BASE + 1400 + 2 * function]
    code[1400 + 2 * function : 1402 + 2 * function] = b"\x00\xbf"
    code[1100:1104] = bl(1100, 1400 + 2 * function)
    assert call_targets(bytes(code), FLASH_BASE) == [FLASH_BASE + 1400 + 2 * function], "called twice"
    code[1103] &= 0xEF  # BLX, to code that this core does not have
    assert call_targets(bytes(code), FLASH_BASE) == []


def library(order: str) -> bytes:
    """A flash with a function of 256 bytes for each letter, and the tables of those of AES, GCM and the SHAs."""
    code = bytearray(b"\x00\xbf" * 0x800)
    tables = {
        "a": bytes.fromhex("637c777bf26b6fc53001672bfed7ab76"),
        "g": struct.pack("<4H", 0, 0x1C20, 0x3840, 0x2460),
        "s": struct.pack("<4I", 0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5),
        "h": struct.pack("<2Q", 0x428A2F98D728AE22, 0x7137449123EF65CD),
    }
    for number, (letter, table) in enumerate(tables.items()):
        place = 0xC00 + 0x40 * number
        code[place : place + len(table)] = table
        function = 0x100 + 0x100 * order.index(letter)
        code[function + 0xF0 : function + 0xF4] = struct.pack("<I", FLASH_BASE + place)
    for number in range(len(order) + 1):
        function = 0x100 + 0x100 * number
        code[function : function + 2] = b"\x10\xb5"  # push {r4, lr}
        code[4 * number : 4 * number + 4] = bl(4 * number, function)
    return bytes(code)


def test_big_numbers_are_between_aes_and_gcm() -> None:
    found = {region.name.split(" ")[0]: (region.start, region.end) for region in mbedtls_regions(library("abegsxh"))}
    assert {name: (start - FLASH_BASE, end - FLASH_BASE) for name, (start, end) in found.items()} == {
        "mbedtls_aes_": (0x100, 0x200),
        "mbedtls_mpi_": (0x200, 0x400),
        "mbedtls_gcm_": (0x400, 0x500),
        "mbedtls_sha256_": (0x500, 0x600),
        "mbedtls_sha512_": (0x700, 0x800),
    }


@pytest.mark.parametrize("order", ["gabsh", "hasgb"])
def test_a_library_in_another_order_has_no_names(order: str) -> None:
    assert mbedtls_regions(library(order)) == []


def test_an_image_without_the_library_has_none() -> None:
    assert mbedtls_regions(bytes(4096)) == []


@given(st.binary(max_size=400))
def test_any_bytes_may_be_code(code: bytes) -> None:
    assert all(0x2000_0000 <= at < 0x2000_0000 + len(code) for at in call_targets(code, 0x2000_0000))
    assert bytecode_loop(code) is None


def entry_table(base: int) -> list[int]:
    """Places of opcodes as in MicroPython: 64, 16 and 16 of them have one each, and unused ones have the first."""
    table = [base + 4 * (opcode % 50) for opcode in range(256)]
    for place, (first, last) in enumerate(((0x70, 0xB0), (0xB0, 0xC0), (0xC0, 0xD0)), 60):
        table[first:last] = [base + 4 * place] * (last - first)
    return table


@pytest.mark.parametrize("base", [0x1001_BFAA, 0x2000_263C])
def test_the_bytecode_loop_is_found_by_its_table(base: int) -> None:
    def flash(table: list[int]) -> bytes:
        return bytes(4000) + struct.pack("<256I", *table) + bytes(4000)

    assert bytecode_loop(flash(entry_table(base))) == BytecodeLoop(FLASH_BASE + 4000, base, base + 4 * 62)
    odd = [place + 1 for place in entry_table(base)]
    assert bytecode_loop(flash(odd)) is None, "a table of functions"
    assert bytecode_loop(flash([base] * 256)) is None
    far = entry_table(base)
    far[3] += 0x8000
    assert bytecode_loop(flash(far)) is None
    assert bytecode_loop(flash(entry_table(base)) * 2) is None, "two are one too many"


@pytest.mark.parametrize(
    ("runtime", "loop"),
    [
        ("micropython-1.26.0", BytecodeLoop(0x1007_0490, 0x1001_BFAA, 0x1001_D110)),
        ("micropython-1.28.0", BytecodeLoop(0x1007_0CE0, 0x1001_C03E, 0x1001_D1A4)),
        ("wiznet-hardwired", BytecodeLoop(0x1004_F7BC, 0x2000_1F64, 0x2000_2F1E)),
        ("circuitpython-9.1.4", BytecodeLoop(0x100F_8644, 0x2000_4F20, 0x2000_6026)),
    ],
)
def test_the_loop_of_an_image(runtime: str, loop: BytecodeLoop, image: Image) -> None:
    assert bytecode_loop(flash_content(image(runtime))) == loop


def test_code_outside_a_function_is_not_charged_to_it() -> None:
    symbols = Symbols([Symbol(0x1000_0100, 8, "f")])
    raw = {"hz": 100, "samples": [(0, 0x1000_0104, 1), (0, 0x1000_0108, 2)], "evictions": []}
    profile = sampled_profile(raw, symbols, (0.0, 1.0), 100, "x")
    assert {each.name: each.cycles for each in profile.functions} == {"f": 1, "0x10000100..": 2}
