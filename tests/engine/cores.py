"""Three Cortex-M0+ cores behind one interface: the engine's, `rp2040py`'s and, if it is installed, `unicorn`'s."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from portbench_engine import CpuBench, M33Bench

VECTORS: Final = 0x2000_0000
HANDLER: Final = 0x2000_0100
"""Every exception stops here, in a WFI."""
WINDOW: Final = 0x2000_1000
"""The memory that a program may use, code first."""
WINDOW_SIZE: Final = 0x2000
CODE_SIZE: Final = 0x400
DATA: Final = WINDOW + 0x1000
STACK: Final = WINDOW + WINDOW_SIZE - 0x400
PROCESS_STACK: Final = WINDOW + WINDOW_SIZE - 0x800


@dataclass(frozen=True)
class Start:
    """State in which a program begins."""

    registers: tuple[int, ...]
    """R0 to R12, SP, LR, PC"""
    apsr: int
    psp: int
    window: bytes
    """contents of WINDOW_SIZE bytes from WINDOW"""


@dataclass(frozen=True)
class State:
    """State that a program left. `registers` are R0 to R12, SP, LR, PC.

    `primask`, `msp` and `psp` are 0 where unprivileged code has ended the program: it cannot read them.
    """

    registers: tuple[int, ...]
    apsr: int
    primask: int
    control: int
    msp: int
    psp: int

    @staticmethod
    def of(registers: Iterable[int], apsr: int, primask: int, control: int, msp: int, psp: int) -> State:
        if control & 1:
            primask = msp = psp = 0
        return State(tuple(registers), apsr, primask, control, msp, psp)

    def __str__(self) -> str:
        names = [f"r{i}" for i in range(13)] + ["sp", "lr", "pc"]
        values = " ".join(f"{name}={value:x}" for name, value in zip(names, self.registers, strict=True))
        special = f"primask={self.primask} control={self.control} msp={self.msp:x} psp={self.psp:x}"
        return f"{values} apsr={self.apsr >> 28:04b} {special}"


class Reference(Protocol):
    """A core to compare with."""

    name: str
    has_faults: bool
    """whether `run` can tell that an instruction faults"""

    def start(self, start: Start) -> None: ...

    def run(self, instructions: int) -> bool:
        """Executes up to that many; true if one of them could not be executed, which is where the PC then is."""

    def state(self) -> State: ...

    def window(self) -> bytes: ...


def write_handler(bench: CpuBench | M33Bench) -> None:
    """Handle every exception by WFI, and a loop for what wakes it."""
    bench.write_sram(VECTORS, struct.pack("<I", HANDLER | 1) * ((HANDLER - VECTORS) // 4) + b"\x30\xbf\xfd\xe7")


class EngineCore:
    """The engine's own core."""

    name = "engine"

    def __init__(self) -> None:
        self.bench = CpuBench()
        write_handler(self.bench)

    def start(self, start: Start) -> None:
        self.bench.write_sram(WINDOW, start.window)
        self.bench.start(start.registers, start.apsr, VECTORS, start.psp)

    def run_cycles(self, cycles: int) -> int:
        """Returns the instructions executed, the handler's WFI included."""
        return self.bench.run(cycles)

    @property
    def exception(self) -> int:
        """Number of the exception that ended the program, 0 if none did."""
        return self.bench.xpsr & 0x3F

    @property
    def lost(self) -> bool:
        """An exception's frame went where there is no SRAM: the program's state cannot be told any more."""
        if self.bench.states[0] == "LockedUp":
            return True
        if not self.exception:
            return False
        frame = self._frame(self.bench.registers())
        return not 0x2000_0000 <= frame <= 0x2000_0000 + 264 * 1024 - 32

    def _frame(self, registers: list[int]) -> int:
        return self.bench.psp if registers[14] & 4 else self.bench.msp

    def state(self) -> State:
        """The program's state; if an exception ended it, at that exception."""
        bench = self.bench
        registers, apsr = bench.registers(), bench.xpsr & 0xF000_0000
        msp, psp = bench.msp, bench.psp
        if self.exception:
            frame = self._frame(registers)
            r0, r1, r2, r3, r12, lr, pc, xpsr = struct.unpack("<8I", bench.read_sram(frame, 32))
            before = frame + 0x20 + (4 if xpsr & 0x200 else 0)
            if registers[14] & 4:
                psp = before
            else:
                msp = before
            registers = [r0, r1, r2, r3, *registers[4:12], r12, before, lr, pc]
            apsr = xpsr & 0xF000_0000
        return State.of(registers, apsr, int(bench.primask), bench.control, msp, psp)

    def window(self) -> bytes:
        return self.bench.read_sram(WINDOW, WINDOW_SIZE)


class Rp2040pyCore:
    """`rp2040py`'s core. It has no faults: `run` never returns true."""

    name = "rp2040py"
    has_faults = False

    def __init__(self) -> None:
        from rp2040py.rp2040 import RP2040
        from rp2040py.utils.logging import ConsoleLogger, LogLevel

        self.mcu: Any = RP2040()
        self.mcu.logger = ConsoleLogger(LogLevel.NONE if hasattr(LogLevel, "NONE") else LogLevel.ERROR)

    def start(self, start: Start) -> None:
        core = self.mcu.core
        offset = WINDOW - 0x2000_0000
        self.mcu.sram[offset : offset + WINDOW_SIZE] = start.window
        core.pending_interrupts = core.enabled_interrupts = 0
        core.pending_nmi = core.pending_pend_sv = core.pending_svcall = core.pending_systick = False
        core.interrupts_updated = core.waiting = core.event_registered = core.pm = core.n_priv = False
        core.sp_sel = core.current_mode = core.ipsr = 0
        for i, value in enumerate(start.registers):
            core.registers[i] = value
        core.banked_sp = start.psp
        core.apsr = start.apsr

    def run(self, instructions: int) -> bool:
        execute = self.mcu.core.execute_instruction
        for _ in range(instructions):
            execute()
        return False

    def state(self) -> State:
        core = self.mcu.core
        control = 2 * core.sp_sel | int(core.n_priv)
        return State.of(core.registers, core.apsr, int(core.pm), control, core.sp_main, core.sp_process)

    def window(self) -> bytes:
        offset = WINDOW - 0x2000_0000
        return bytes(self.mcu.sram[offset : offset + WINDOW_SIZE])


class Unicorn:
    """`unicorn`, which is QEMU, with SRAM. `modes`: besides Thumb."""

    def __init__(self, model: str, *modes: str) -> None:
        unicorn: Any = importlib.import_module("unicorn")
        self._arm: Any = importlib.import_module("unicorn.arm_const")
        self._error: Any = unicorn.UcError
        mode = sum(getattr(unicorn, f"UC_MODE_{name}") for name in ("THUMB", *modes))
        self._uc: Any = unicorn.Uc(unicorn.UC_ARCH_ARM, mode)
        self._uc.ctl_set_cpu_model(getattr(self._arm, f"UC_CPU_ARM_CORTEX_{model}"))
        self._uc.mem_map(0x2000_0000, 264 * 1024)
        self._general = self._constants(*(f"R{i}" for i in range(13)), "SP", "LR", "PC")

    def _constants(self, *names: str) -> list[int]:
        """Unicorn's numbers of registers."""
        return [getattr(self._arm, f"UC_ARM_REG_{name}") for name in names]

    def _write_window(self, content: bytes) -> None:
        self._uc.mem_write(WINDOW, content)
        # Its translations do not notice that.
        self._uc.ctl_flush_tb()

    def window(self) -> bytes:
        return bytes(self._uc.mem_read(WINDOW, WINDOW_SIZE))


class UnicornCore(Unicorn):
    """`unicorn`'s Cortex-M0."""

    name = "unicorn"
    has_faults = True

    def __init__(self) -> None:
        # The mode MCLASS would make it a Cortex-M33, whatever the model is set to.
        super().__init__("M0")
        self._special = self._constants("XPSR", "PRIMASK", "CONTROL", "MSP", "PSP")
        self._all = [*self._general, *self._special]
        # Unprivileged code has no way back to privilege, not even from outside.
        self._reset = self._uc.context_save()

    def start(self, start: Start) -> None:
        uc = self._uc
        xpsr, _, _, msp, psp = self._special
        self._write_window(start.window)
        uc.context_restore(self._reset)
        special = [(msp, start.registers[13]), (psp, start.psp), (xpsr, start.apsr | 1 << 24)]
        uc.reg_write_batch([*special, *zip(self._general, start.registers, strict=True)])

    def run(self, instructions: int) -> bool:
        if instructions == 0:
            return False
        try:
            self._uc.emu_start(self._uc.reg_read(self._general[15]) | 1, 0xFFFF_FFFE, count=instructions)
        except self._error:
            return True
        return False

    def state(self) -> State:
        *registers, xpsr, primask, control, msp, psp = self._uc.reg_read_batch(self._all)
        return State.of(registers, xpsr & 0xF000_0000, primask & 1, control & 3, msp, psp)
