"""Runs random Armv8-M instructions on the engine's Cortex-M33 and on `unicorn`'s, and compares what they leave.

`python -m tests.engine.fuzz_m33 --instructions 1000000` is the long mode.
"""

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from portbench_engine import M33Bench

from tests.engine.cores import DATA, STACK, VECTORS, WINDOW, WINDOW_SIZE, Unicorn, write_handler
from tests.engine.fuzzing import Report, command
from tests.engine.instructions import Encoding

BASES: Final = range(4, 8)
"""Registers that hold addresses."""
EDGES: Final = [0, 1, 2, 31, 32, 33, 255, 256, 0x7FFF, 0x8000, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFF]
SINGLES: Final = [
    0, 1, 0x007F_FFFF, 0x0080_0000, 0x3F00_0000, 0x3F80_0000, 0x3F80_0001, 0x4B00_0000, 0x4F00_0000, 0x5F00_0000,
    0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0001, 0x7FC0_0000, 0x7FC1_2345, 0x3300_0000, 0x3880_0000, 0x477F_E000, 0x477F_F000,
]  # fmt: skip
SET_FLAGS: Final = (0xF38C, 0x8C00)
"""MSR APSR_nzcvqg, R12"""
GET_FLAGS: Final = (0xF3EF, 0x8C00)
"""MRS R12, APSR"""


def _field(pattern: str, letter: str, word: int) -> int:
    value = 0
    for i, c in enumerate(pattern):
        if c == letter:
            value = value << 1 | word >> (len(pattern) - 1 - i) & 1
    return value


def encoding(name: str, pattern: str, weight: int = 10, distinct: str = "") -> Encoding:
    """An encoding whose register fields (letters a, d, n, m, t of four bits) avoid SP and PC.

    The registers of `distinct` differ.
    """
    pattern = pattern.replace(" ", "")
    registers = [c for c in "adnmtu" if pattern.count(c) == 4]

    def valid(word: int) -> bool:
        values = [_field(pattern, c, word) for c in registers]
        chosen = [_field(pattern, c, word) for c in distinct]
        return not {13, 15} & set(values) and len(set(chosen)) == len(chosen)

    return Encoding(name, pattern, weight, valid)


def _all() -> list[Encoding]:
    found = []
    codes = {"AND": 0, "BIC": 1, "ORR": 2, "ORN": 3, "EOR": 4, "ADD": 8, "ADC": 10, "SBC": 11, "SUB": 13, "RSB": 14}
    for name, number in codes.items():
        code = f"{number:04b}"
        found.append(encoding(f"{name} (constant)", f"11110i0{code}snnnn 0jjjddddiiiiiiii"))
        found.append(encoding(f"{name} (shifted)", f"1110101{code}snnnn 0jjjddddiikkmmmm"))
    for name, code in (("TST", "0000"), ("TEQ", "0100"), ("CMN", "1000"), ("CMP", "1101")):
        found.append(encoding(f"{name} (constant)", f"11110i0{code}1nnnn 0jjj1111iiiiiiii"))
        found.append(encoding(f"{name} (shifted)", f"1110101{code}1nnnn 0jjj1111iikkmmmm"))
    for name, code in (("MOV", "0010"), ("MVN", "0011")):
        found.append(encoding(f"{name} (constant)", f"11110i0{code}s1111 0jjjddddiiiiiiii"))
        found.append(encoding(f"{name} (shifted)", f"1110101{code}s1111 0jjjddddiikkmmmm"))
    found += [
        encoding("MOVW", "11110i100100jjjj 0kkkddddiiiiiiii"),
        encoding("MOVT", "11110i101100jjjj 0kkkddddiiiiiiii"),
        encoding("ADDW", "11110i100000nnnn 0kkkddddiiiiiiii"),
        encoding("SUBW", "11110i101010nnnn 0kkkddddiiiiiiii"),
        encoding("ADR", "11110i1000001111 0kkkddddiiiiiiii", 3),
        encoding("ADR (before)", "11110i1010101111 0kkkddddiiiiiiii", 3),
        encoding("PKH", "111010101100nnnn 0iiiddddiij0mmmm"),
        encoding("SSAT", "1111001100j0nnnn 0001ddddii0iiiii"),
        encoding("USAT", "1111001110j0nnnn 0010ddddii0iiiii"),
        encoding("SSAT16", "111100110010nnnn 0000dddd0000iiii"),
        encoding("USAT16", "111100111010nnnn 0000dddd0000iiii"),
        encoding("SBFX", "111100110100nnnn 000idddd1i000iii"),
        encoding("UBFX", "111100111100nnnn 000idddd1i000iii"),
        encoding("BFI", "111100110110nnnn 000idddd1i01111i"),
        encoding("BFC", "1111001101101111 000idddd1i01111i"),
        encoding("shift by register", "111110100kksnnnn 1111dddd0000mmmm"),
        encoding("extend and add", "1111101000kknnnn 1111dddd10rrmmmm"),
        encoding("extend bytes and add", "11111010010knnnn 1111dddd10rrmmmm"),
        encoding("extend", "1111101000kk1111 1111dddd10rrmmmm"),
        encoding("extend byte", "11111010010k1111 1111dddd10rrmmmm"),
        encoding("QADD and so on", "111110101000nnnn 1111dddd10kkmmmm", 20),
        encoding("SEL", "111110101010nnnn 1111dddd1000mmmm", 20),
        encoding("MUL", "111110110000nnnn 1111dddd0000mmmm"),
        encoding("MLA", "111110110000nnnn aaaadddd0000mmmm"),
        encoding("MLS", "111110110000nnnn aaaadddd0001mmmm"),
        encoding("SMULxy", "111110110001nnnn 1111dddd00kkmmmm"),
        encoding("SMLAxy", "111110110001nnnn aaaadddd00kkmmmm"),
        encoding("SMUAD", "111110110010nnnn 1111dddd000kmmmm"),
        encoding("SMLAD", "111110110010nnnn aaaadddd000kmmmm"),
        encoding("SMULWy", "111110110011nnnn 1111dddd000kmmmm"),
        encoding("SMLAWy", "111110110011nnnn aaaadddd000kmmmm"),
        encoding("SMUSD", "111110110100nnnn 1111dddd000kmmmm"),
        encoding("SMLSD", "111110110100nnnn aaaadddd000kmmmm"),
        encoding("SMMUL", "111110110101nnnn 1111dddd000kmmmm"),
        encoding("SMMLA", "111110110101nnnn aaaadddd000kmmmm"),
        encoding("SMMLS", "111110110110nnnn aaaadddd000kmmmm"),
        encoding("USAD8", "111110110111nnnn 1111dddd0000mmmm"),
        encoding("USADA8", "111110110111nnnn aaaadddd0000mmmm"),
        encoding("long multiply", "1111101110k0nnnn ttttdddd0000mmmm", 20, "td"),
        encoding("long multiply and add", "1111101111k0nnnn ttttdddd0000mmmm", 20, "td"),
        encoding("UMAAL", "111110111110nnnn ttttdddd0110mmmm", 10, "td"),
        encoding("SMLALxy", "111110111100nnnn ttttdddd10kkmmmm", 10, "td"),
        encoding("SMLALD", "111110111100nnnn ttttdddd110kmmmm", 10, "td"),
        encoding("SMLSLD", "111110111101nnnn ttttdddd110kmmmm", 10, "td"),
        encoding("SDIV", "111110111001nnnn 1111dddd1111mmmm", 20),
        encoding("UDIV", "111110111011nnnn 1111dddd1111mmmm", 20),
        encoding("shift (16 bits)", "00000iiiiimmmddd", 5),
        encoding("LSR (16 bits)", "00001iiiiimmmddd", 5),
        encoding("ASR (16 bits)", "00010iiiiimmmddd", 5),
        encoding("add, subtract (16 bits)", "00011kkmmmnnnddd", 20),
        encoding("constant (16 bits)", "001kkdddiiiiiiii", 30),
        encoding("register (16 bits)", "010000kkkkmmmddd", 40),
        encoding("extend (16 bits)", "10110010kkmmmddd"),
        encoding("REV (16 bits)", "1011101000mmmddd"),
        encoding("REV16 (16 bits)", "1011101001mmmddd"),
        encoding("REVSH (16 bits)", "1011101011mmmddd"),
        encoding("CBZ", "1011k0i1iiiiinnn"),
        encoding("B (16 bits)", "1101000iiiiiiiii", 5),
        # Loads and stores: R4 to R7 hold the address, R8 an index.
        encoding("load or store, 12 bits", "1111100010kl01nn tttt0000iiiiiiii", 20),
        encoding("load, signed", "1111100110k101nn tttt0000iiiiiiii"),
        encoding("word, 12 bits", "11111000110l01nn tttt0000iiiiiiii"),
        encoding("by register", "1111100000kl01nn tttt000000ss1000"),
        encoding("word by register", "11111000010l01nn tttt000000ss1000"),
        encoding("word, post-indexed", "11111000010l01nn 00tt10u1iiiiiiii"),
        encoding("word, pre-indexed", "11111000010l01nn 00tt11u1iiiiiiii"),
        encoding("byte, negative", "11111000000l01nn tttt1100iiiiiiii"),
        encoding("LDRD, STRD", "11101001u1wl01nn 00tt10dd0000iiii", 20),
        encoding("LDMIA", "1110100010w101nn 0001iiii00001iii"),
        encoding("STMDB", "1110100100w001nn 0001iiii00001iii"),
        encoding("LDMIA (16 bits)", "1100110100001iii", 5),
        encoding("STMIA (16 bits)", "1100010100001iii", 5),
        encoding("PUSH", "1011010iiiiiiii1", 5),
    ]
    for name, code in (
        ("ADD8", "000"),
        ("ADD16", "001"),
        ("ASX", "010"),
        ("SUB8", "100"),
        ("SUB16", "101"),
        ("SAX", "110"),
    ):
        for how, kind in (("", "00"), ("saturating ", "01"), ("halving ", "10")):
            found.append(encoding(how + name, f"111110101{code}nnnn 1111dddd0u{kind}mmmm", 5))
    found += [
        encoding(f"CLZ and so on {i}", f"111110101011{r} 1111dddd1000{r}") for i, r in enumerate(("0001", "1010"))
    ]
    found += [
        encoding(f"REV and so on {i}", f"111110101001{r} 1111dddd10kk{r}") for i, r in enumerate(("0010", "1001"))
    ]
    for name, top, rest in (
        ("VMLA, VMLS", "111011100d00", "k"),
        ("VNMLA, VNMLS", "111011100d01", "k"),
        ("VMUL, VNMUL", "111011100d10", "k"),
        ("VADD, VSUB", "111011100d11", "k"),
        ("VDIV", "111011101d00", "0"),
        ("VFNMA, VFNMS", "111011101d01", "k"),
        ("VFMA, VFMS", "111011101d10", "k"),
        ("VSEL", "111111100dcc", "0"),
        ("VMAXNM, VMINNM", "111111101d00", "k"),
    ):
        found.append(encoding(name, f"{top}vvvv wwww1010x{rest}y0zzzz", 20))
    for name, code, kinds in (
        ("VMOV, VABS", "0000", "k1"),
        ("VNEG, VSQRT", "0001", "k1"),
        ("VCVT from half", "0010", "k1"),
        ("VCVT to half", "0011", "k1"),
        ("VCMP", "0100", "k1"),
        ("VRINTR, VRINTZ", "0110", "k1"),
        ("VRINTX", "0111", "01"),
        ("VCVT from integer", "1000", "k1"),
        ("VCVT to integer", "110k", "k1"),
        ("VCVT from fixed", "101k", "k1"),
        ("VCVT to fixed", "111k", "k1"),
    ):
        fixed = "fixed" in name
        # With 16 bits a fraction of at most 16.
        pattern = f"111011101d11{code} wwww1010{kinds}y0zzzz"
        if fixed:
            pattern = f"111011101d11{code} wwww1010j1y00zzz"
        found.append(encoding(name, pattern, 20))
    found += [
        encoding("VCMP with 0", "111011101d110101 wwww1010k1000000"),
        encoding("VMOV (constant)", "111011101d11iiii wwww10100000iiii"),
        encoding("VRINTA and so on", "111111101d1110kk wwww101001y0zzzz", 20),
        encoding("VCVTA and so on", "111111101d1111kk wwww1010k1y0zzzz", 20),
        encoding("VMOV (core)", "11101110000lvvvv tttt1010x0010000", 10),
        encoding("VMRS to flags", "1110111011110001 1111101000010000", 5),
        encoding("VMOV (two)", "11101100010lnnnn tttt101000y1zzz0", 10, "nt"),
        encoding("VLDR, VSTR", "11101101ud0l01nn wwww101000iiiiii", 20),
        encoding("VLDR, VSTR (double)", "11101101u00l01nn wwww101100iiiiii", 10),
        encoding("VLDM, VSTM", "111011001dwl01nn 0www10100000 01ii", 10),
    ]
    return found


ENCODINGS: Final = _all()
BRANCHES: Final = ("CBZ", "B (16 bits)")


@dataclass(frozen=True)
class Case:
    """One instruction, in an IT block or not, and what it starts from."""

    encoding: Encoding
    word: int
    condition: int | None
    registers: tuple[int, ...]
    fpscr: int
    singles: tuple[int, ...]

    @property
    def code(self) -> bytes:
        wide = self.encoding.is_wide
        own = (self.word >> 16, self.word & 0xFFFF) if wide else (self.word,)
        if self.encoding.name in BRANCHES:
            return struct.pack("<3H", *SET_FLAGS, *own)
        it = () if self.condition is None else (0xBF08 | self.condition << 4,)
        return struct.pack(f"<{4 + len(it) + len(own)}H", *SET_FLAGS, *it, *own, *GET_FLAGS)

    @property
    def instructions(self) -> int:
        return 2 if self.encoding.name in BRANCHES else 3 + (self.condition is not None)


@dataclass(frozen=True)
class Left:
    """State that a case leaves: registers, N to Q, FPSCR, singles, memory."""

    registers: tuple[int, ...]
    flags: int
    fpscr: int
    singles: tuple[int, ...]
    window: bytes


class Engine:
    def __init__(self) -> None:
        self.bench = M33Bench()
        write_handler(self.bench)

    def run(self, case: Case, window: bytes) -> Left:
        bench = self.bench
        bench.write_sram(WINDOW, window)
        bench.start(case.registers, 0, case.fpscr, case.singles, VECTORS)
        done = 0
        while done < case.instructions:
            done += bench.run(1) or case.instructions
        left = bench.read_sram(WINDOW, WINDOW_SIZE)
        return Left(tuple(bench.registers()), bench.xpsr >> 27, bench.fpscr, tuple(bench.singles()), left)


class UnicornM33(Unicorn):
    def __init__(self) -> None:
        super().__init__("M33", "MCLASS")
        singles = self._constants(*(f"S{i}" for i in range(32)))
        status = self._constants("FPSCR", "XPSR")
        self._read = [*self._general, *singles, *status]
        self._write = [*singles, *status, *self._general]
        # VMOV S0, S0: the first instruction of the FPU begins a context, with FPSCR from FPDSCR.
        self._write_window(b"\xb0\xee\x40\x0a")
        self._uc.emu_start(WINDOW | 1, WINDOW + 4)

    def run(self, case: Case, window: bytes) -> Left:
        uc = self._uc
        self._write_window(window)
        values = [*case.singles, case.fpscr, 1 << 24, *case.registers]
        uc.reg_write_batch(list(zip(self._write, values, strict=True)))
        try:
            if case.encoding.name in BRANCHES:
                uc.emu_start(WINDOW | 1, 0xFFFF_FFFE, count=case.instructions)
            else:
                # A count leaves out what its condition skips.
                uc.emu_start(WINDOW | 1, WINDOW + len(case.code))
        except self._error:
            return Left((), 0, 0, (), b"")
        values = uc.reg_read_batch(self._read)
        flags = values[-1] >> 27 & 31
        return Left(tuple(values[:16]), flags, values[48], tuple(values[16:48]), self.window())


def _word(rng: random.Random) -> int:
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(EDGES)
    return rng.randrange(64) if kind < 0.4 else rng.getrandbits(32)


def _single(rng: random.Random) -> int:
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(SINGLES) | rng.getrandbits(1) << 31
    if kind < 0.6:
        return 0x3E80_0000 + rng.getrandbits(25) | rng.getrandbits(1) << 31
    return rng.getrandbits(32)


def random_cases(seed: int) -> Iterator[Case]:
    """Endless random cases."""
    rng = random.Random(seed)
    weights = [e.weight for e in ENCODINGS]
    while True:
        encoding = rng.choices(ENCODINGS, weights)[0]
        registers = [_word(rng) for _ in range(13)]
        for base in BASES:
            registers[base] = DATA + 0x200 + rng.randrange(0, 64) * 4
        registers[8] = rng.randrange(32)
        condition = rng.randrange(14) if encoding.name not in BRANCHES and rng.random() < 0.2 else None
        fpscr = rng.choice((0, 0x10, rng.getrandbits(5) << 22 & 0x07C0_0000 | rng.getrandbits(5)))
        if encoding.name == "VCVT from fixed":
            # It always rounds to the nearest; unicorn rounds as FPSCR says (Armv8-M ARM, VCVT between float and fixed).
            fpscr &= ~0x00C0_0000
        singles = tuple(_single(rng) for _ in range(32))
        start = (*registers, STACK, WINDOW | 1, WINDOW)
        yield Case(encoding, encoding.random(rng), condition, start, fpscr, singles)


def fuzz(seed: int, count: int, most_failures: int = 5) -> Report:
    """Compares `count` instructions, or until `most_failures` differences are found."""
    engine, reference, cases, report = Engine(), UnicornM33(), random_cases(seed), Report()
    data = random.Random(seed).randbytes(WINDOW_SIZE)
    while report.cases < count and len(report.failures) < most_failures:
        case = next(cases)
        report.cases += 1
        window = case.code + data[len(case.code) :]
        ours, theirs = engine.run(case, window), reference.run(case, window)
        if ours != theirs:
            report.failures.append(_difference(case, ours, theirs))
    return report


def _difference(case: Case, ours: Left, theirs: Left) -> str:
    lines = [f"{case.encoding.name} {case.word:08x} it={case.condition} fpscr={case.fpscr:08x} pc={WINDOW:x}"]
    if not theirs.registers:
        return lines[0] + ": the reference faults"
    for i, (a, b) in enumerate(zip(ours.registers, theirs.registers, strict=True)):
        if a != b:
            lines.append(f"  r{i} {case.registers[i]:08x} -> {a:08x}, reference {b:08x}")
    for i, (a, b) in enumerate(zip(ours.singles, theirs.singles, strict=True)):
        if a != b:
            lines.append(f"  s{i} {case.singles[i]:08x} -> {a:08x}, reference {b:08x}")
    lines.append(f"  flags {ours.flags:05b} {theirs.flags:05b}, fpscr {ours.fpscr:08x} {theirs.fpscr:08x}")
    if case.encoding.pattern.startswith(("11101110", "11111110")):
        word = case.word
        n, m = word >> 15 & 0x1E | word >> 7 & 1, word << 1 & 0x1E | word >> 5 & 1
        d = word >> 11 & 0x1E | word >> 22 & 1
        lines.append("  " + " ".join(f"s{i}={case.singles[i]:08x}" for i in (n, m, d)))
    if ours.window != theirs.window:
        lines.append("  memory differs")
    return "\n".join(lines)


if __name__ == "__main__":
    command(fuzz, "instructions", 1_000_000)
