"""Runs random programs that raise exceptions on the engine's Cortex-M33 and on QEMU's, and compares what they leave.

A program is a row of steps in thread mode, and one for each of eight kinds of exceptions. Each exception notes the
system registers and its frame, makes a fault return behind the instruction at fault, and executes its steps. The end is
the end of thread mode's steps, or one exception too many. QEMU runs many programs, with a reset before each.

`python -m tests.engine.fuzz_m33_exceptions --programs 100000` is the long mode.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from portbench_engine import M33Bench

from tests.engine.fuzzing import PROGRAM, Report, command, missing, semihosted

QEMU: Final = "qemu-system-arm"
LACK: Final = missing(QEMU, "qemu-system-arm")

# The same in all programs: vectors, the handler of all exceptions, the end.
VECTORS: Final = 0x2000_0000
KNOWN: Final = 0x2000_0180
"""Value of registers that would be UNKNOWN: FILL."""
HANDLER: Final = 0x2000_0200
FINAL: Final = 0x2000_0500
END: Final = 0x2000_0700
STATE: Final = 0x2000_0800
"""The next entry of the record; exceptions left; where to go on after a lost PC; what a fault adds to xPSR."""
COMMON_SIZE: Final = 0x1000
# A program's own: its steps in thread mode, then those of the exceptions by the last three bits of their numbers.
CODE: Final = 0x2000_1000
BODIES: Final = CODE + 0x400
BODY_SIZE: Final = 0x100
CODE_SIZE: Final = 0xC00
# The memory that is compared.
WINDOW: Final = 0x2000_2000
MAIN_STACK: Final = 0x2000_2C00
PROCESS_STACK: Final = 0x2000_2800
RECORD: Final = 0x2000_3000
WINDOW_SIZE: Final = 0x1C00
FILL: Final = 0x2000_2DE0
"""Value that, as a frame, leads out of Thumb state and to no exception that is active."""
IT_BLOCK: Final = 0x0600_0C00
"""Bits of xPSR that are not all 0 in an IT block."""
MOST_EXCEPTIONS: Final = 12
ENTRY_SIZE: Final = 0x94
SHCSR_NOTED, CFSR_NOTED = 0x2C, 0x30
"""Their offsets in an entry."""

SCS: Final = 0xE000_E000
NOWHERE: Final = 0x7000_3900
"""No memory of either machine, nor is there any at its low half, where a return next to MOVT leads."""

PRIMASK, BASEPRI, BASEPRI_MAX, FAULTMASK, CONTROL = 16, 17, 18, 19, 20
MSP, PSP, MSPLIM, PSPLIM, IPSR = 8, 9, 10, 11, 5


class Code:
    """Thumb instructions at an address, with labels."""

    def __init__(self, address: int) -> None:
        self.address = address
        self.halves: list[int] = []
        self._labels: dict[str, int] = {}
        self._branches: list[tuple[int, int | None, str]] = []

    @property
    def here(self) -> int:
        return self.address + 2 * len(self.halves)

    def put(self, *halves: int) -> None:
        self.halves += halves

    def wide_constant(self, opcode: int, register: int, half: int) -> None:
        self.put(opcode | half >> 12 | (half >> 11 & 1) << 10, register << 8 | (half >> 8 & 7) << 12 | half & 0xFF)

    def constant(self, register: int, value: int) -> None:
        self.wide_constant(0xF240, register, value & 0xFFFF)
        self.wide_constant(0xF2C0, register, value >> 16)

    def load(self, register: int, base: int, offset: int = 0) -> None:
        self.put(0xF8D0 | base, register << 12 | offset)

    def store(self, register: int, base: int, offset: int = 0) -> None:
        self.put(0xF8C0 | base, register << 12 | offset)

    def move(self, to: int, register: int) -> None:
        self.put(0x4600 | (to & 8) << 4 | register << 3 | to & 7)

    def mrs(self, register: int, special: int) -> None:
        self.put(0xF3EF, 0x8000 | register << 8 | special)

    def msr(self, special: int, register: int) -> None:
        self.put(0xF380 | register, 0x8800 | special)

    def barrier(self) -> None:
        """DSB, ISB."""
        self.put(0xF3BF, 0x8F4F, 0xF3BF, 0x8F6F)

    def label(self, name: str) -> None:
        self._labels[name] = len(self.halves)

    def branch(self, name: str, condition: int | None = None) -> None:
        """B. Conditions: 0 EQ, 1 NE, 3 LO, 5 PL, 8 HI."""
        self._branches.append((len(self.halves), condition, name))
        self.put(0)

    def jump(self, register: int, target: int) -> None:
        self.constant(register, target | 1)
        self.put(0x4700 | register << 3)

    def bytes(self) -> bytes:
        for at, condition, name in self._branches:
            offset = self._labels[name] - at - 2
            if condition is None:
                self.halves[at] = 0xE000 | offset & 0x7FF
            else:
                assert -128 <= offset < 128
                self.halves[at] = 0xD000 | condition << 8 | offset & 0xFF
        return struct.pack(f"<{len(self.halves)}H", *self.halves)


def _log_system(code: Code, base: int, offset: int) -> int:
    """Stores the system registers at `offset` from `base`, by way of R2 and R3; returns the next offset."""

    def note() -> None:
        nonlocal offset
        code.store(2, base, offset)
        offset += 4

    for special in (IPSR, MSP, PSP, CONTROL, PRIMASK, BASEPRI, FAULTMASK):
        code.mrs(2, special)
        note()
    code.constant(3, SCS + 0xD00)
    # ICSR, SHCSR, CFSR, HFSR.
    for register in (0x04, 0x24, 0x28, 0x2C):
        code.load(2, 3, register)
        note()
    # MMFAR and BFAR, if CFSR says that they are valid.
    for register, shift in ((0x34, 24), (0x38, 16)):
        code.load(2, 3, register)
        code.load(1, 3, 0x28)
        code.put(0x0009 | shift << 6)
        skip = f"valid {register} {code.here}"
        code.put(0x2900)
        code.branch(skip, 4)
        code.put(0x2200)
        code.label(skip)
        note()
    # FPCCR, FPCAR, SFSR.
    for register in (0x234, 0x238, 0xE4):
        code.load(2, 3, register)
        note()
    # The interrupts that are pending and active.
    code.constant(3, SCS + 0x200)
    for register in (0, 0x100):
        code.load(2, 3, register)
        note()
    return offset


def _frame_to_r0(code: Code, name: str) -> None:
    """Sets R0 to the frame of which R9 is the EXC_RETURN."""
    code.move(0, 9)
    code.put(0x220C, 0x4002, 0x2A0C)
    code.branch(name, 0)
    code.mrs(0, MSP)
    code.branch(name + " end")
    code.label(name)
    code.mrs(0, PSP)
    code.label(name + " end")


def _handler() -> bytes:
    """Notes the exception at R8, keeps EXC_RETURN in R9, and calls the exception's steps."""
    code = Code(HANDLER)
    code.constant(0, STATE)
    code.load(1, 0)
    code.store(8, 1, 0)
    code.store(9, 1, 4)
    code.move(8, 1)
    code.move(9, 14)
    code.put(0xF201, 0x0200 | ENTRY_SIZE)
    code.store(2, 0)
    code.store(9, 8, 8)
    offset = _log_system(code, 8, 12)
    code.store(4, 8, offset)
    offset += 4
    # A frame that has got the FPU's registers at once leaves S0 to S15 and FPSCR UNKNOWN: QEMU clears them, the engine
    # keeps them. With LSPEN and LSPACT clear, and the FPU on, they are set.
    code.constant(3, SCS + 0xD88)
    code.load(2, 3, 0x1AC)
    code.put(0x07D1)
    code.branch("known", 1)
    code.put(0x0051)
    code.branch("known", 4)
    code.load(2, 3)
    code.put(0x0292)
    code.branch("known", 0)
    # VLDM R1, {S0-S15}; VMSR FPSCR, R2.
    code.constant(1, KNOWN)
    code.put(0x2200, 0xEC91, 0x0A10, 0xEEE1, 0x2A10)
    code.label("known")
    # So are the flags, where an exception follows another at once: MSR APSR, R8.
    code.put(0xF388, 0x8C00)
    code.constant(0, STATE)
    code.load(2, 0, 4)
    code.put(0x3A01)
    code.store(2, 0, 4)
    code.put(0x2A00)
    code.branch("goes on", 1)
    code.jump(0, FINAL)
    code.label("goes on")
    # A frame that could not be pushed ends the program, and so does a fault or a call that waits.
    for noted, bits, name in ((CFSR_NOTED, 0x0010_1010, "pushed"), (SHCSR_NOTED, 0x0020_F000, "has a frame")):
        code.load(2, 8, noted)
        code.constant(3, bits)
        code.put(0x421A)
        code.branch(name, 0)
        code.jump(0, FINAL)
        code.label(name)
    _frame_to_r0(code, "process")
    # A frame outside of the window is left alone.
    code.constant(2, VECTORS)
    code.put(0x1A82, 0x0B92)
    code.branch("steps", 1)
    for i in range(8):
        code.load(2, 0, 4 * i)
        code.store(2, 8, offset + 4 * i)
    assert offset + 32 <= ENTRY_SIZE
    code.mrs(2, IPSR)
    code.put(0x3A03, 0x2A04)
    code.branch("steps", 8)
    code.load(2, 0, 24)
    code.constant(3, END)
    code.put(0x429A)
    code.branch("not the end", 1)
    code.jump(0, FINAL)
    code.label("not the end")
    code.constant(3, CODE)
    code.put(0x1AD3, 0x0B1B)
    code.branch("inside", 0)
    code.constant(3, STATE)
    code.load(2, 3, 8)
    code.branch("return")
    # Faults return behind their instruction: not SVC that could not be taken, nor a return that has failed or has left
    # Thumb state.
    code.label("inside")
    code.load(3, 8, CFSR_NOTED)
    code.put(0x2B00)
    code.branch("return", 0)
    code.constant(1, 0x0006_0808)
    code.put(0x420B)
    code.branch("return", 1)
    code.constant(1, 0x0008_0000)
    code.put(0x420B)
    code.branch("behind", 0)
    # No coprocessor: a coprocessor's instruction, or a frame with the FPU's registers?
    code.put(0x8813, 0xF403, 0x436C, 0xF5B3, 0x4F6C)
    code.branch("return", 1)
    code.label("behind")
    # By 4, or by 2 where its first halfword is below 0xE800: a deferred save may fail before any instruction.
    code.put(0x8811, 0x0AC9, 0x3202, 0x291D)
    code.branch("return", 3)
    code.put(0x3202)
    code.label("return")
    code.store(2, 0, 24)
    code.load(2, 0, 28)
    code.constant(3, STATE)
    code.load(3, 3, 12)
    code.put(0x431A)
    code.store(2, 0, 28)
    code.label("steps")
    # CFSR, HFSR and SFSR are cleared for the next fault.
    code.constant(3, SCS + 0xD00)
    for register in (0x28, 0x2C, 0xE4):
        code.load(2, 3, register)
        code.store(2, 3, register)
    # It may still have what the exception before has left there.
    code.move(12, 8)
    code.mrs(2, IPSR)
    code.put(0x0752, 0x0D52)
    code.constant(3, BODIES | 1)
    code.put(0x189B, 0x4798)
    code.move(0, 9)
    code.load(9, 8, 4)
    code.load(8, 8, 0)
    code.put(0x4700)
    return code.bytes()


def _final() -> bytes:
    """Notes everything behind the exceptions, and ends."""
    code = Code(FINAL)
    code.constant(0, RECORD + MOST_EXCEPTIONS * ENTRY_SIZE)
    code.put(0xF3EF, 0x8200)
    code.store(2, 0)
    offset = _log_system(code, 0, 4)
    for register in range(4, 8):
        code.store(register, 0, offset)
        offset += 4
    # Without a context of the FPU its registers can be read as they are.
    code.constant(3, SCS + 0xD88)
    code.constant(2, 0x00F0_0000)
    code.store(2, 3)
    code.constant(3, SCS + 0xF34)
    code.put(0x2200)
    code.store(2, 3)
    code.barrier()
    # VMRS R2, FPSCR; then VSTM R0, {S0-S31}.
    code.put(0xEEF1, 0x2A10)
    code.store(2, 0, offset)
    code.put(0xF200, 0x0000 | (offset + 4))
    code.put(0xEC80, 0x0A20)
    code.jump(0, END + 0x10)
    return code.bytes()


def _common(end: list[int]) -> bytes:
    """The memory from VECTORS on that all programs share; `end`: what follows the last note."""
    memory = bytearray(COMMON_SIZE)
    for address, content in (
        (VECTORS, struct.pack("<I", HANDLER | 1) * 68),
        (KNOWN, struct.pack("<I", FILL) * 16),
        (HANDLER, _handler()),
        (FINAL, _final()),
        # Unprivileged code ends by UDF.
        (END, struct.pack("<H", 0xDE00)),
        (END + 0x10, struct.pack(f"<{len(end)}H", *end)),
        (STATE, struct.pack("<4I", RECORD, MOST_EXCEPTIONS, 0, 0)),
    ):
        memory[address - VECTORS : address - VECTORS + len(content)] = content
    return bytes(memory)


@dataclass(frozen=True)
class Program:
    """The memory from CODE on, and its steps by name."""

    code: bytes
    steps: tuple[str, ...]


# What a step may use: R0 to R3 are lost with it, R4 to R7 live on. R8 and R9 are the handler's.
SCRATCH, VALUE = 0, 1


class Steps(Code):
    """Code of random steps."""

    def draw(self, rng: random.Random, kinds: Kinds, count: int, end: int) -> Iterator[str]:
        """Adds at most `count` steps, which begin before `end`, and yields their names."""
        for step in rng.choices([*kinds], [*kinds.values()], k=count):
            if self.here < end:
                step(self, rng)
                yield step.__name__[1:]

    def scratch(self, value: int) -> None:
        """Sets R0. Next to MOVW and MOVT a return may skip one: without the other half, no stale one is used."""
        # MOV R0, #0.
        self.put(0xF04F, 0x0000)
        self.constant(SCRATCH, value)

    def write(self, address: int, value: int) -> None:
        self.scratch(address)
        self.constant(VALUE, value)
        self.store(VALUE, SCRATCH)

    def change(self, address: int, clear: int, value: int) -> None:
        """Changes some bits of a register."""
        self.scratch(address)
        self.constant(VALUE, clear)
        # Nothing else is set where unprivileged code cannot read it.
        self.constant(2, 0)
        self.constant(3, value)
        self.load(2, SCRATCH)
        # BICS R2, R1; ORRS R2, R3.
        self.put(0x438A, 0x431A)
        self.store(2, SCRATCH)
        self.barrier()

    def _arithmetic(self, rng: random.Random) -> None:
        n, m, d = (4 + rng.randrange(4) for _ in range(3))
        self.put(rng.choice((0x1800, 0x1A00)) | m << 6 | n << 3 | d)

    def _pend(self, rng: random.Random) -> None:
        kind = rng.randrange(5)
        if kind == 0:
            self.write(SCS + 0xD04, rng.choice((1 << 28, 1 << 28, 1 << 26, 1 << 26, 1 << 31)))
        elif kind == 1:
            self.write(SCS + 0xF00, rng.randrange(8))
        else:
            self.write(SCS + 0x200, 1 << rng.randrange(8))
        self.barrier()

    def _withdraw(self, rng: random.Random) -> None:
        if rng.random() < 0.5:
            self.write(SCS + 0xD04, rng.choice((1 << 27, 1 << 25)))
        else:
            self.write(SCS + 0x280, rng.getrandbits(8))
        self.barrier()

    def _prioritise(self, rng: random.Random) -> None:
        value = sum((rng.randrange(16) << 4) << (8 * i) for i in range(4))
        self.write(SCS + rng.choice((0x400, 0x404, 0xD18, 0xD1C, 0xD20)), value)
        self.barrier()

    def _enable_faults(self, rng: random.Random) -> None:
        bits = rng.getrandbits(4) << 16
        self.change(SCS + 0xD24, 0xF_0000, bits)

    def _enable_interrupts(self, rng: random.Random) -> None:
        self.write(SCS + rng.choice((0x100, 0x180)), rng.getrandbits(8))
        self.barrier()

    def _mask(self, rng: random.Random) -> None:
        if rng.random() < 0.4:
            # CPSIE and CPSID of I.
            self.put(0xB662 | rng.randrange(2) << 4)
        else:
            special = rng.choice((PRIMASK, BASEPRI, BASEPRI, BASEPRI_MAX))
            # QEMU has eight bits of priority.
            self.scratch(rng.randrange(2) if special == PRIMASK else rng.randrange(16) << 4)
            self.msr(special, SCRATCH)
        self.barrier()

    def _set_faultmask(self, rng: random.Random) -> None:
        """In thread mode only: QEMU also sets FAULTMASK in NMI and HardFault, where it stays clear (MSR, CPS)."""
        if rng.random() < 0.5:
            self.put(0xB661 | rng.randrange(2) << 4)
        else:
            self.constant(SCRATCH, rng.randrange(2))
            self.msr(FAULTMASK, SCRATCH)
        self.barrier()

    def _call(self, rng: random.Random) -> None:
        self.put(0xDF00 | rng.getrandbits(8))

    def _undefined(self, rng: random.Random) -> None:
        # UDF in both widths; four bytes each.
        self.put(*rng.choice(((0xDE00, 0xBF00), (0xF7F0, 0xA000))))

    def _wrong_access(self, rng: random.Random) -> None:
        self.scratch(NOWHERE + 4 * rng.randrange(64))
        if rng.random() < 0.5:
            self.load(4 + rng.randrange(4), SCRATCH)
        else:
            self.store(4 + rng.randrange(4), SCRATCH)

    def _unaligned(self, rng: random.Random) -> None:
        self.scratch(WINDOW + 4 * rng.randrange(64) + rng.randrange(1, 4))
        # LDR, STR, which may be unaligned; LDRD, LDM, LDREX, STL, which may not.
        allowed = ((0xF8D0, 0x1000), (0xF8C0, 0x1000))
        refused = ((0xE9D0, 0x1200), (0xE890, 0x0006), (0xE850, 0x1F00), (0xE8C0, 0x1FAF))
        self.put(*rng.choice(allowed + refused))

    def _divide(self, rng: random.Random) -> None:
        # UDIV and SDIV by R1.
        self.constant(VALUE, rng.choice((0, 3)))
        self.put(rng.choice((0xFBB4, 0xFB94)), 0xF4F1)

    def _coprocessor(self, rng: random.Random) -> None:
        # MRC and MCR of coprocessors 0 and 7: there are none.
        self.put(0xEE00 | rng.randrange(2) << 4, 0x1010 | rng.choice((0, 7)) << 8)

    def _leave_thumb(self, rng: random.Random) -> None:
        target = rng.choice((WINDOW + 4 * rng.randrange(16), NOWHERE | 1))
        # The handler goes on at a multiple of 4: QEMU checks that first, where Thumb state is lost.
        if self.here % 4:
            self.put(0xBF00)
        self.write(STATE + 8, self.here + 40)
        self.scratch(target)
        self.put(0x4700, 0xBF00)

    def _float(self, rng: random.Random) -> None:
        kind = rng.randrange(4)
        d = rng.randrange(32)
        if kind == 0:
            # VMOV Sd, R4 to R7.
            self.put(0xEE00 | d >> 1, (4 + rng.randrange(4)) << 12 | 0x0A10 | (d & 1) << 7)
        elif kind == 1:
            # VMOV.F32 Sd, #imm.
            self.put(0xEEB0 | (d & 1) << 6 | rng.getrandbits(4), (d >> 1) << 12 | 0x0A00 | rng.getrandbits(4))
        elif kind == 2:
            # VMSR FPSCR, R0: the modes and the flags.
            self.constant(SCRATCH, rng.getrandbits(5) << 22 | rng.getrandbits(4) << 28 | rng.getrandbits(5))
            self.put(0xEEE1, 0x0A10)
        else:
            # VSTR S16 to S31 to memory.
            self.scratch(WINDOW + 0x100 + 4 * rng.randrange(32))
            self.put(0xED80 | (d & 1) << 6, (8 + (d >> 2)) << 12 | 0x0A00)

    def _configure_float(self, rng: random.Random) -> None:
        if rng.random() < 0.3:
            self.write(SCS + 0xF3C, rng.getrandbits(5) << 22)
            self.barrier()
        else:
            self.change(SCS + 0xF34, 0xC000_0000, rng.randrange(4) << 30)

    def _defer(self, rng: random.Random) -> None:
        """Changes what FPCCR and FPCAR say of registers that are to be saved, which an instruction does then."""
        kind = rng.randrange(8)
        if kind == 0:
            # CONTROL.FPCA: ORR R0, R0, #4.
            self.mrs(SCRATCH, CONTROL)
            self.put(0xF040, 0x0004)
            self.msr(CONTROL, SCRATCH)
            self.barrier()
            return
        if kind < 5:
            at = rng.choice((NOWHERE + 8 * rng.randrange(16), WINDOW + 0x200 + 8 * rng.randrange(16)))
            self.write(SCS + 0xF38, at)
        else:
            # LSPACT; LSPACT, USER, THREAD; MMRDY, BFRDY, UFRDY; HFRDY; SPLIMVIOL; CLRONRET.
            bits = rng.choice((1, 1, 0xB, 0x460, 0x460, 0x10, 0x200, 1 << 28))
            self.change(SCS + 0xF34, bits, rng.getrandbits(32) & bits)
        if rng.random() < 0.7:
            self._float(rng)

    def _configure_access(self, rng: random.Random) -> None:
        self.write(SCS + 0xD88, rng.choice((0xF0_0000, 0xF0_0000, 0x50_0000, 0)))
        self.barrier()

    def _configure_traps(self, rng: random.Random) -> None:
        # UNALIGN_TRP, DIV_0_TRP, USERSETMPEND.
        self.change(SCS + 0xD14, 0x1A, rng.getrandbits(5) & 0x1A)

    def _control(self, rng: random.Random) -> None:
        self.constant(SCRATCH, rng.choice((0, 2, 2, 2, 1, 3, 8, 10)))
        self.msr(CONTROL, SCRATCH)
        self.barrier()

    def _other_stack(self, rng: random.Random) -> None:
        special, top = rng.choice(((MSP, MAIN_STACK), (PSP, PROCESS_STACK)))
        at = top - 4 * rng.randrange(0x40) if rng.random() < 0.85 else rng.choice((NOWHERE, NOWHERE + 4))
        self.scratch(at)
        self.msr(special, SCRATCH)

    def _limit(self, rng: random.Random) -> None:
        special, pointer = rng.choice(((MSPLIM, MSP), (PSPLIM, PSP)))
        below = rng.choice((0, 8, 0x18, 0x20, 0x28, 0x60, 0x68, 0x70, 0x100))
        self.mrs(SCRATCH, pointer)
        # SUBW R0, R0, #below.
        self.put(0xF2A0, below)
        self.msr(special, SCRATCH)

    def _push(self, rng: random.Random) -> None:
        # STMDB SP!, {R4, R5}; SUB.W SP, #8; and back.
        self.put(*rng.choice(((0xE92D, 0x0030), (0xF1AD, 0x0D08))))
        self.put(0xF10D, 0x0D08)

    def _return_otherwise(self, rng: random.Random) -> None:
        # EOR R9, R9, #: RES0, SPSEL, mode, FTYPE, ES, DCRS.
        self.put(0xF089, 0x0900 | rng.choice((2, 4, 4, 8, 8, 12, 16, 16, 1, 32)))

    def _edit_frame(self, rng: random.Random) -> None:
        _frame_to_r0(self, f"frame {self.here}")
        # Of a frame in the window only.
        self.constant(2, VECTORS)
        self.put(0x1A82, 0x0B92)
        skip = f"no frame {self.here}"
        self.branch(skip, 1)
        bits = rng.choice((1 << 24, 1 << 9, 1 << 20, 1, 11, 0xF000_0000))
        if bits == 1 << 24:
            # At a multiple of 4 only: see _leave_thumb.
            self.load(2, 0, 24)
            self.put(0x0792)
            self.branch(skip, 1)
        self.load(2, 0, 28)
        self.constant(3, bits)
        # EORS R2, R3.
        self.put(0x405A)
        self.store(2, 0, 28)
        self.label(skip)


Kinds = dict[Callable[[Steps, random.Random], None], int]
"""Steps and their weights."""

EVERYWHERE: Final[Kinds] = {
    Steps._arithmetic: 10,
    Steps._prioritise: 6,
    Steps._enable_faults: 5,
    Steps._enable_interrupts: 5,
    Steps._mask: 8,
    Steps._call: 6,
    Steps._undefined: 6,
    Steps._wrong_access: 8,
    Steps._unaligned: 5,
    Steps._divide: 3,
    Steps._coprocessor: 3,
    Steps._leave_thumb: 4,
    Steps._configure_traps: 3,
    Steps._control: 8,
    Steps._limit: 6,
    Steps._push: 4,
    Steps._pend: 16,
    Steps._withdraw: 4,
    Steps._configure_float: 4,
    Steps._configure_access: 3,
    Steps._float: 10,
}
IN_THREAD_MODE: Final = EVERYWHERE | {Steps._defer: 3, Steps._other_stack: 5, Steps._set_faultmask: 3}
IN_HANDLERS: Final = EVERYWHERE | {Steps._defer: 16, Steps._return_otherwise: 12, Steps._edit_frame: 12}


def random_programs(seed: int) -> Iterator[Program]:
    """Endless random programs."""
    rng = random.Random(seed)
    while True:
        main = Steps(CODE)
        for register in (*range(8), 10, 11, 12, 14):
            main.constant(register, rng.getrandbits(32))
        main.constant(8, 0)
        main.constant(9, 0)
        # APSR, with all of its bits.
        main.put(0xF381, 0x8C00)
        main.constant(0, 0)
        main.msr(CONTROL, 0)
        main.constant(0, PROCESS_STACK - 4 * rng.randrange(4))
        main.msr(PSP, 0)
        main.write(SCS + 0xD24, rng.choice((0, 7 << 16, rng.getrandbits(4) << 16)))
        main.write(SCS + 0x100, rng.getrandbits(8))
        for _ in range(rng.randrange(4)):
            main._prioritise(rng)
        main.write(SCS + 0xD0C, 0x05FA_0000 | rng.choice((0, 0, 3, 4, 5, 6, 7)) << 8)
        main.write(SCS + 0xD88, rng.choice((0xF0_0000, 0xF0_0000, 0xF0_0000, 0x50_0000, 0)))
        main.write(SCS + 0xF34, rng.choice((0xC000_0000, 0xC000_0000, 0x8000_0000, 0x4000_0000, 0)))
        main.write(STATE + 12, rng.choice((1 << 24, 1 << 24, 1 << 24, 0)))
        main.write(STATE + 8, CODE + 0x3C0)
        main.barrier()
        names = ["|", *main.draw(rng, IN_THREAD_MODE, rng.randrange(3, 12), CODE + 0x370)]
        end = Code(CODE + 0x3C0)
        end.mrs(0, IPSR)
        end.put(0x2800)
        end.branch("final", 1)
        end.mrs(0, CONTROL)
        end.put(0x07C0)
        end.branch("final", 0)
        end.jump(0, END)
        end.label("final")
        end.jump(0, FINAL)
        steps = main.bytes()
        # NOP up to the end.
        content = steps + b"\x00\xbf" * ((0x3C0 - len(steps)) // 2) + end.bytes()
        content = content.ljust(BODIES - CODE, b"\0")
        for number in range(8):
            body = Steps(BODIES + number * BODY_SIZE)
            end_of_steps = body.address + BODY_SIZE - 0x60
            names += [f"| {number}:", *body.draw(rng, IN_HANDLERS, rng.choice((0, 0, 1, 1, 2, 3)), end_of_steps)]
            body.put(0x4770)
            content += body.bytes().ljust(BODY_SIZE, b"\0")
        yield Program(content, tuple(names))


# QEMU's machine boots from here: its own vectors, the loader, the common memory, the programs.
BOOT: Final = 0x1000_0000
BLOCKED: Final = 0x10_0000
"""Bytes from BOOT on that programs do not reach. They are at address 0 too, where the engine has no memory, and where
what a handler leaves in R1 points to."""
NAME: Final = BOOT + BLOCKED
LOADER: Final = NAME + 0x40
DONE: Final = NAME + 0x200
COMMON: Final = NAME + 0x1000
TABLE: Final = COMMON + COMMON_SIZE
KEPT: Final = 0x2800_0000
"""Memory that a reset leaves: programs begun, the handle of QEMU's output, parameters of a call of its semihosting."""
SEMIHOSTING: Final = 0xBEAB
PROTECTION: Final = 0x5800_7000
"""The memory protection controller of BOOT: CTRL, BLK_LUT at 0x1c with a bit for each KiB, INT_EN at 0x28."""


def _boot(programs: list[bytes]) -> bytes:
    """Build the image that QEMU boots: it runs the programs one after the other, each after a reset."""
    code = Code(LOADER)
    code.constant(4, KEPT)
    code.load(5, 4)
    code.put(0x2D00)
    code.branch("opened", 1)
    # SYS_OPEN of the output.
    for offset, value in ((8, NAME), (12, 4), (16, 3)):
        code.constant(0, value)
        code.store(0, 4, offset)
    code.put(0x2001, 0xF104, 0x0108, SEMIHOSTING)
    code.store(0, 4, 4)
    code.label("opened")
    code.constant(0, len(programs))
    code.put(0x4285)
    code.branch("more", 1)
    code.constant(1, 0x20026)
    code.put(0x2018, SEMIHOSTING)
    code.label("more")
    code.put(0x1C6E)
    code.store(6, 4)
    # The program's address: MLA R1, R5, R0, R1.
    code.constant(0, CODE_SIZE)
    code.constant(1, TABLE)
    code.put(0xFB05, 0x1100)
    for name, to, source, size in (("code", CODE, None, CODE_SIZE), ("common", VECTORS, COMMON, COMMON_SIZE)):
        code.constant(0, to)
        if source is not None:
            code.constant(1, source)
        code.constant(2, size)
        code.label(name)
        code.put(0x3A04, 0x588B, 0x5083)
        code.branch(name, 1)
    code.constant(0, WINDOW)
    code.constant(2, WINDOW_SIZE)
    code.constant(3, FILL)
    code.label("fill")
    code.put(0x3A04, 0x5083)
    code.branch("fill", 1)
    # SEC_RESP (a fault) and AUTOINC; then the blocks are Non-secure, until the next reset. No interrupt tells it.
    code.constant(0, PROTECTION)
    code.constant(1, 0x110)
    code.store(1, 0)
    code.constant(1, 0xFFFF_FFFF)
    for _ in range(BLOCKED >> 15):
        code.store(1, 0, 0x1C)
    code.put(0x2100)
    code.store(1, 0, 0x28)
    code.constant(0, SCS + 0xD08)
    code.constant(1, VECTORS)
    code.store(1, 0)
    code.constant(0, MAIN_STACK)
    code.msr(MSP, 0)
    code.jump(0, CODE)
    done = Code(DONE)
    done.constant(4, KEPT)
    # SYS_WRITE of the window; then a reset.
    done.load(0, 4, 4)
    done.store(0, 4, 8)
    for offset, value in ((12, WINDOW), (16, WINDOW_SIZE)):
        done.constant(0, value)
        done.store(0, 4, offset)
    done.put(0x2005, 0xF104, 0x0108, SEMIHOSTING)
    done.constant(0, SCS + 0xD0C)
    done.constant(1, 0x05FA_0004)
    done.store(1, 0)
    done.put(0xE7FE)
    to_done = Code(END + 0x10)
    to_done.jump(0, DONE)
    to_done.bytes()
    image = bytearray(TABLE - BOOT)
    for address, content in (
        (BOOT, struct.pack("<2I", MAIN_STACK, LOADER | 1)),
        (NAME, b":tt\0"),
        (LOADER, code.bytes()),
        (DONE, done.bytes()),
        (COMMON, _common(to_done.halves)),
    ):
        image[address - BOOT : address - BOOT + len(content)] = content
    return bytes(image) + b"".join(programs)


def on_qemu(programs: list[bytes]) -> list[bytes]:
    """The windows that the programs leave on QEMU's core: fewer than programs, if it has given up at the next one."""
    machine = [QEMU, "-machine", "mps2-an505", "-cpu", "cortex-m33", *ONE_AT_A_TIME]
    left, _ = semihosted([*machine, "-device", f"loader,file={PROGRAM},addr={BOOT:#x},force-raw=on"], _boot(programs))
    return [left[at : at + WINDOW_SIZE] for at in range(0, len(left), WINDOW_SIZE)]


ONE_AT_A_TIME: Final = ["-singlestep"]
"""An exception is taken behind the instruction that makes it pending."""


def on_engine(program: bytes) -> bytes | None:
    """The window that the program leaves on the engine's core; none, if it locks up or does not end."""
    bench = M33Bench()
    # WFI, and a loop for what wakes it.
    bench.write_sram(VECTORS, _common([0xBF30, 0xE7FE]))
    bench.write_sram(CODE, program)
    bench.write_sram(WINDOW, struct.pack("<I", FILL) * (WINDOW_SIZE // 4))
    bench.start([0] * 13 + [MAIN_STACK, 0, CODE], 0, 0, [0] * 32, VECTORS)
    bench.run(MOST_CYCLES)
    if bench.registers()[15] not in (END + 0x12, END + 0x10):
        return None
    return bench.read_sram(WINDOW, WINDOW_SIZE)


MOST_CYCLES: Final = 30_000
BATCH: Final = 400


def fuzz(seed: int, count: int, most_failures: int = 5, engine: Callable[[bytes], bytes | None] = on_engine) -> Report:
    """Compares `count` programs that end, or until `most_failures` differences are found."""
    report = Report()
    programs = random_programs(seed)
    while report.cases < count and len(report.failures) < most_failures:
        batch: list[tuple[Program, bytes]] = []
        while len(batch) < min(BATCH, count - report.cases):
            program = next(programs)
            left = engine(program.code)
            if left is None:
                report.locked_up += 1
            else:
                batch.append((program, left))
        report.cases += len(batch)
        while batch and len(report.failures) < most_failures:
            theirs = on_qemu([program.code for program, _ in batch])
            for (program, left), other in zip(batch, theirs, strict=False):
                report.exceptions += _exceptions(left)
                if len(report.failures) < most_failures and settled(left) != settled(other):
                    report.failures.append(_difference(program, left, other))
            batch = batch[len(theirs) :]
            if batch:
                report.failures.append(f"QEMU gives up: {' '.join(batch[0][0].steps)}")
                batch = batch[1:]
    return report


ENTRY: Final = [
    "r8", "r9", "exc_return", "ipsr", "msp", "psp", "control", "primask", "basepri", "faultmask", "icsr", "shcsr",
    "cfsr", "hfsr", "mmfar", "bfar", "fpccr", "fpcar", "sfsr", "pending", "active", "r4",
    "f.r0", "f.r1", "f.r2", "f.r3", "f.r12", "f.lr", "f.pc", "f.xpsr",
]  # fmt: skip
END_ENTRY: Final = ("apsr", *ENTRY[3:21], "r4", "r5", "r6", "r7", "fpscr", *(f"s{i}" for i in range(32)))


def _names() -> Iterator[tuple[int, str]]:
    """Offsets and names of the words of a window."""
    for at in range(0, RECORD - WINDOW, 4):
        yield at, f"memory 0x{WINDOW + at:08x}"
    for entry in range(MOST_EXCEPTIONS):
        for i, name in enumerate(ENTRY):
            yield RECORD - WINDOW + entry * ENTRY_SIZE + 4 * i, f"exception {entry}: {name}"
    for i, name in enumerate(END_ENTRY):
        yield RECORD - WINDOW + MOST_EXCEPTIONS * ENTRY_SIZE + 4 * i, f"end: {name}"


NAMES: Final = dict(_names())
OFFSETS: Final = {name: at for at, name in NAMES.items()}


def settled(window: bytes) -> bytes:
    """A window without what the manual leaves open."""
    for entry in (f"exception {i}" for i in range(MOST_EXCEPTIONS)):
        thumb, pc = _word(window, f"{entry}: f.xpsr") >> 24 & 1, _word(window, f"{entry}: f.pc")
        start = OFFSETS[f"{entry}: r8"]
        if not thumb and (pc % 4 or pc - VECTORS >> 14):
            # Which fault comes first, where neither the state nor the address is right?
            return window[RECORD - WINDOW : start]
        if _word(window, f"{entry}: f.xpsr") & IT_BLOCK and _word(window, f"{entry}: ipsr") != FILL:
            # Of a frame that nothing has pushed. Many instructions are UNPREDICTABLE in an IT block.
            return window[RECORD - WINDOW : start + ENTRY_SIZE]
    return window


def _word(window: bytes, name: str) -> int:
    value: int = struct.unpack_from("<I", window, OFFSETS[name])[0]
    return value


def _exceptions(left: bytes) -> int:
    """Count the exceptions that a program has noted."""
    return sum(_word(left, f"exception {i}: ipsr") != FILL for i in range(MOST_EXCEPTIONS))


def _difference(program: Program, left: bytes, other: bytes) -> str:
    lines = [" ".join(program.steps)]
    # In the order of time: the record, then memory.
    for at in sorted(NAMES, key=lambda at: (at < RECORD - WINDOW, at)):
        ours, theirs = (struct.unpack_from("<I", window, at)[0] for window in (left, other))
        if ours != theirs:
            lines.append(f"  {NAMES[at]}: {ours:08x}, on QEMU {theirs:08x}")
    return "\n".join(lines[:12])


if __name__ == "__main__":
    command(fuzz, "programs", 100_000, LACK)
