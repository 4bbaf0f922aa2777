"""Runs random RISC-V programs on the engine's Hazard3 and on QEMU's `rv32`, and compares what they leave.

A program executes its instructions in a row. After every few it stores a register, and every trap is noted with its
cause, its place and the instruction's length. At its end it writes the record to QEMU's output by semihosting.

`python -m tests.engine.fuzz_hazard3 --instructions 1000000` is the long mode.
"""

import random
import struct
from collections.abc import Callable
from typing import Final

from portbench_engine import Hazard3Bench

from tests.engine.fuzzing import PROGRAM, Report, command, missing, semihosted

QEMU: Final = "qemu-system-riscv32"
LACK: Final = missing(QEMU, "qemu-system-misc")
CPU: Final = "rv32,zba=true,zbb=true,zbc=false,zbs=true,zbkb=true,f=false,d=false,s=false,v=false,h=false,pmp=false"
"""The part of Hazard3 in Debian 12's QEMU 7.2: neither Zcb, nor Zcmp, nor the custom instructions."""

START: Final = 0x8000_0000
HANDLER: Final = START + 0x100
CODE: Final = START + 0x400
DATA: Final = START + 0x4_0000
DATA_SIZE: Final = 0x1000
RECORD: Final = START + 0x5_0000
RECORD_SIZE: Final = 0x2_8000
PER_PROGRAM: Final = 20_000
STORED_EVERY: Final = 3

# x24 to x31 belong to the frame: x26 is the record's end, x27 the data, x28 to x31 the handler's.
NEXT, BASE = 26, 27
FREE: Final = range(24)
EDGES: Final = [0, 1, 2, 31, 32, 33, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFF]


def _r(funct7: int, rs2: int, rs1: int, funct3: int, rd: int, opcode: int = 0x33) -> int:
    return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode


def _i(imm: int, rs1: int, funct3: int, rd: int, opcode: int = 0x13) -> int:
    return (imm & 0xFFF) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode


def _s(imm: int, rs2: int, rs1: int, funct3: int) -> int:
    return (imm >> 5 & 0x7F) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (imm & 31) << 7 | 0x23


def _constant(register: int, value: int) -> list[int]:
    """LUI and ADDI."""
    low = (value & 0xFFF ^ 0x800) - 0x800
    return [(value - low) & 0xFFFF_F000 | register << 7 | 0x37, _i(low, register, 0, register)]


OPERATIONS: Final = [
    *((0x00, funct3) for funct3 in range(8)),
    *((0x01, funct3) for funct3 in range(8)),
    *((0x20, funct3) for funct3 in (0, 5, 4, 6, 7)),
    *((0x10, funct3) for funct3 in (2, 4, 6)),
    *((0x05, funct3) for funct3 in (4, 5, 6, 7)),
    *((0x30, funct3) for funct3 in (1, 5)),
    *((0x04, funct3) for funct3 in (4, 7)),
    *((0x24, funct3) for funct3 in (1, 5)),
    (0x34, 1),
    (0x14, 1),
]
SHIFTS: Final = [(0x00, 1), (0x00, 5), (0x20, 5), (0x30, 5), (0x14, 1), (0x24, 1), (0x34, 1), (0x24, 5)]
UNARY: Final = [0x600, 0x601, 0x602, 0x604, 0x605]
UNARY_RIGHT: Final = [0x287, 0x698, 0x687]
AMOS: Final = [0, 1, 4, 8, 12, 16, 20, 24, 28]


def _noted(register: int) -> list[int]:
    """A store to the record."""
    return [_s(0, register, NEXT, 2), _i(4, NEXT, 0, NEXT)]


def _size(word: int) -> int:
    """Bytes of an instruction."""
    return 4 if word & 3 == 3 else 2


class Programs(random.Random):
    """A random stream of instructions; each is a function that gives words of 16 or 32 bits."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._kinds: dict[Callable[[], list[int]], int] = {
            self._operation: 40,
            self._immediate: 20,
            self._load_or_store: 15,
            self._compressed: 15,
            self._constant: 10,
            self._branch: 8,
            self._jump: 4,
            self._atomic: 4,
            self._csr: 2,
            self._trap: 2,
        }

    def _register(self) -> int:
        return self.choice(FREE)

    def _operation(self) -> list[int]:
        kind = self.randrange(4)
        if kind < 3:
            funct7, funct3 = self.choice(OPERATIONS)
            rs1, rs2, rd = self._register(), self._register(), self._register()
            if (funct7, funct3, rd) == (0, 2, 0):
                # Hints of Hazard3 to sleep.
                rd = 1
            if (funct7, funct3) == (4, 4) and rs2 == 0:
                rs2 = 1
            return [_r(funct7, rs2, rs1, funct3, rd)]
        if self.random() < 0.5:
            return [_i(self.choice(UNARY), self._register(), 1, self._register())]
        imm = self.choice([*UNARY_RIGHT, 0x08F])
        funct3 = self.choice((1, 5)) if imm == 0x08F else 5
        return [_i(imm, self._register(), funct3, self._register())]

    def _immediate(self) -> list[int]:
        if self.random() < 0.4:
            funct7, funct3 = self.choice(SHIFTS)
            return [_r(funct7, self.randrange(32), self._register(), funct3, self._register(), 0x13)]
        funct3 = self.choice((0, 2, 3, 4, 6, 7))
        imm = self.choice((0, 1, -1, 2047, -2048, self.getrandbits(12)))
        return [_i(imm, self._register(), funct3, self._register())]

    def _constant(self) -> list[int]:
        value = self.choice(EDGES) if self.random() < 0.6 else self.getrandbits(32)
        register = self.randrange(1, 24)
        if self.random() < 0.1:
            # AUIPC, which shows the place.
            return [self.getrandbits(20) << 12 | register << 7 | 0x17]
        return _constant(register, value)

    def _load_or_store(self) -> list[int]:
        size = self.randrange(3)
        imm = self.randrange(-512, 512) << size
        if self.random() < 0.5:
            funct3 = size if size == 2 or self.random() < 0.5 else size | 4
            return [_i(imm, BASE, funct3, self._register(), 3)]
        return [_s(imm, self._register(), BASE, size)]

    def _compressed(self) -> list[int]:
        low, high, imm = self.randrange(8), self.randrange(8), self.getrandbits(6)
        rd, rs2 = self.randrange(1, 24), self.randrange(1, 24)
        six = (imm >> 5) << 12 | (imm & 31) << 2
        which = self.randrange(10)
        # sp, the only implied register, holds no address.
        words = [
            0x0001 | six | rd << 7,
            0x4001 | six | rd << 7,
            0x6001 | ((imm | 1) >> 5) << 12 | (imm & 31 | 1) << 2 | (rd if rd != 2 else 3) << 7,
            0x0000 | (imm | 1) << 7 & 0x1F80 | low << 2,
            0x8001 | high << 7 | self.randrange(2) << 10 | (imm & 31) << 2,
            0x8801 | high << 7 | six,
            0x8C01 | high << 7 | low << 2 | self.randrange(4) << 5,
            0x0002 | rd << 7 | (imm & 31) << 2,
            0x8002 | rd << 7 | rs2 << 2,
            0x9002 | rd << 7 | rs2 << 2,
        ]
        return [words[which]]

    def _skipped(self) -> list[int]:
        """Return the code that a taken branch passes over: an instruction or two."""
        skipped = self._immediate()
        if self.random() < 0.5:
            skipped += self._compressed()
        return skipped

    def _branch(self) -> list[int]:
        skipped = self._skipped()
        if self.random() < 0.3:
            offset = 2 + sum(map(_size, skipped))
            half = 0xC001 | self.randrange(2) << 13 | self.randrange(8) << 7
            half |= (offset >> 3 & 3) << 10 | (offset >> 1 & 3) << 3 | (offset >> 5 & 1) << 2
            return [half, *skipped]
        offset = 4 + sum(map(_size, skipped))
        word = _r(0, self._register(), self._register(), self.choice((0, 1, 4, 5, 6, 7)), 0, 0x63)
        return [word | (offset >> 1 & 15) << 8 | (offset >> 5 & 1) << 25, *skipped]

    def _jump(self) -> list[int]:
        skipped = self._skipped()
        length = sum(map(_size, skipped))
        kind = self.randrange(3)
        rd = self.randrange(24)
        if kind == 0:
            return [(4 + length) << 20 | rd << 7 | 0x6F, *skipped]
        if kind == 1:
            offset = 2 + length
            half = 0x2001 if self.random() < 0.5 else 0xA001
            half |= (offset >> 1 & 7) << 3 | (offset >> 4 & 1) << 11 | (offset >> 5 & 1) << 2
            return [half, *skipped]
        # AUIPC x25; JALR, whose target's lowest bit is ignored.
        odd = self.randrange(2)
        return [25 << 7 | 0x17, _i(8 + length + odd, 25, 0, rd, 0x67), *skipped]

    def _atomic(self) -> list[int]:
        offset = self.randrange(0, 512, 4)
        address = _i(offset, BASE, 0, 25)
        if self.random() < 0.3:
            # A store in between, by this core, is left out: it may or may not end the reservation.
            lr = _r(2 << 2, 0, 25, 2, self._register(), 0x2F)
            sc = _r(3 << 2, self._register(), 25, 2, self._register(), 0x2F)
            return [address, lr, *self._immediate(), sc]
        return [address, _r(self.choice(AMOS) << 2, self._register(), 25, 2, self._register(), 0x2F)]

    def _csr(self) -> list[int]:
        # MSCRATCH, all forms.
        return [_i(0x340, self.randrange(24), self.choice((1, 2, 3, 5, 6, 7)), self._register(), 0x73)]

    def _trap(self) -> list[int]:
        choices = [
            0x0000_0073,
            0x0010_0073,
            0x9002,
            0x0000,
            _r(0x7F, 0, 1, 0, 1),
            _i(0x180, 0, 2, 5, 0x73),
            _i(0xF14, 1, 1, 5, 0x73),
            _i(2044, 0, 2, 5, 0x03),
            _s(2044, 1, 0, 2),
        ]
        return [self.choice(choices)]

    def program(self, count: int) -> tuple[bytes, int]:
        """The memory of a program of at least `count` instructions, and how many they are."""
        words: list[int] = []
        since = 0
        while len(words) < count:
            words += self.choices([*self._kinds], [*self._kinds.values()])[0]()
            since += 1
            if since == STORED_EVERY:
                since = 0
                words += _noted(self.randrange(1, 24))
        for register in range(1, 24):
            words += _noted(register)
        words += [*_constant(5, HANDLER + 0x80), _i(0, 5, 0, 0, 0x67)]
        code = b"".join(word.to_bytes(_size(word), "little") for word in words)
        assert len(code) < DATA - DATA_SIZE - CODE, "the program fits below its data"

        memory = bytearray(RECORD - START)
        start = [*_constant(5, HANDLER), _i(0x305, 5, 1, 0, 0x73)]
        start += [*_constant(NEXT, RECORD), *_constant(BASE, DATA)]
        for register in range(1, 24):
            start += _constant(register, self.choice(EDGES) if self.random() < 0.3 else self.getrandbits(32))
        start += [*_constant(28, CODE), _i(0, 28, 0, 0, 0x67)]
        _put(memory, START, start)
        _put(memory, HANDLER, _HANDLER)
        _put(memory, HANDLER + 0x80, _END)
        _put(memory, _TT, [int.from_bytes(b":tt", "little")])
        memory[CODE - START : CODE - START + len(code)] = code
        data = DATA - DATA_SIZE // 2 - START
        memory[data : data + DATA_SIZE] = self.randbytes(DATA_SIZE)
        return bytes(memory), len(words)


def _put(memory: bytearray, address: int, words: list[int]) -> None:
    raw = struct.pack(f"<{len(words)}I", *words)
    memory[address - START : address - START + len(raw)] = raw


_HANDLER: Final = [
    # Note MCAUSE and MEPC; go on behind the instruction: two bytes, and two more if it is a wide one.
    _i(0x342, 0, 2, 28, 0x73),
    _i(0x341, 0, 2, 29, 0x73),
    _s(0, 28, NEXT, 2),
    _s(4, 29, NEXT, 2),
    _i(8, NEXT, 0, NEXT),
    _i(0, 29, 5, 30, 0x03),
    _i(3, 30, 7, 30),
    _i(3, 30, 4, 30),
    _i(1, 30, 3, 30),
    _i(1, 30, 1, 30),
    _i(2, 30, 0, 30),
    _r(0, 30, 29, 0, 29),
    _i(0x341, 29, 1, 0, 0x73),
    0x3020_0073,
]

_PARAMETERS: Final = HANDLER + 0x180
_SEMIHOSTING: Final = [0x01F0_1013, 0x0010_0073, 0x4070_5013]
_TT: Final = HANDLER + 0x1A0
"""Address of the name of QEMU's own output."""
_END: Final = [
    # SYS_OPEN of the output, SYS_WRITE of the record to it, SYS_EXIT. The engine's run ends at the first of them.
    *_constant(11, _PARAMETERS),
    *_constant(12, _TT),
    _i(4, 0, 0, 13),
    _i(3, 0, 0, 14),
    _s(0, 12, 11, 2),
    _s(4, 13, 11, 2),
    _s(8, 14, 11, 2),
    _i(1, 0, 0, 10),
    *_SEMIHOSTING,
    *_constant(12, RECORD),
    *_constant(13, RECORD_SIZE),
    _s(0, 10, 11, 2),
    _s(4, 12, 11, 2),
    _s(8, 13, 11, 2),
    _i(5, 0, 0, 10),
    *_SEMIHOSTING,
    *_constant(11, 0x20026),
    _i(0x18, 0, 0, 10),
    *_SEMIHOSTING,
    0x0000_006F,
]


def on_engine(memory: bytes) -> bytes:
    """The record that the engine's core leaves."""
    bench = Hazard3Bench()
    # WFI in place of the semihosting call.
    at = memory.index(struct.pack("<3I", *_SEMIHOSTING))
    bench.write_sram(START, memory[:at] + struct.pack("<I", 0x1050_0073) + memory[at + 4 :])
    bench.start(START)
    bench.run(50 * PER_PROGRAM)
    assert bench.state == "Wfi", f"at 0x{bench.pc:08x}: {bench.state}"
    return bench.read_sram(RECORD, RECORD_SIZE)


def on_qemu(memory: bytes) -> bytes:
    """The record that QEMU's core leaves."""
    record, errors = semihosted([QEMU, "-machine", "virt", "-cpu", CPU, "-m", "16M", "-bios", PROGRAM], memory)
    assert len(record) == RECORD_SIZE, f"{len(record)} bytes; {errors}"
    return record


def fuzz(seed: int, count: int, engine: Callable[[bytes], bytes] = on_engine) -> Report:
    """Compares programs of at least `count` instructions in all, or up to the first that differs."""
    report = Report()
    programs = Programs(seed)
    while report.instructions < count and not report.failures:
        memory, instructions = programs.program(min(PER_PROGRAM, count))
        report.instructions += instructions
        ours, theirs = engine(memory), on_qemu(memory)
        if ours != theirs:
            word = next(at for at in range(0, RECORD_SIZE, 4) if ours[at : at + 4] != theirs[at : at + 4])
            pair = [struct.unpack_from("<I", record, word)[0] for record in (ours, theirs)]
            report.failures.append(f"seed {seed}: word {word // 4} of the record is {pair[0]:08x}, not {pair[1]:08x}")
    return report


if __name__ == "__main__":
    command(fuzz, "instructions", 1_000_000, LACK)
