"""Runs random programs on the engine's core and on reference cores, and compares registers, flags and memory.

`python -m tests.engine.fuzz_cpu --instructions 10000000` is the long mode.
"""

import contextlib
import itertools
import random
import struct
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.engine import instructions
from tests.engine.cores import (
    CODE_SIZE,
    DATA,
    PROCESS_STACK,
    STACK,
    WINDOW,
    WINDOW_SIZE,
    EngineCore,
    Reference,
    Rp2040pyCore,
    Start,
    State,
    UnicornCore,
)
from tests.engine.fuzzing import Report, command

CYCLES: Final = 80
"""Length of a program: about 45 instructions."""
POOL_SIZE: Final = 4000
PROGRAMS_PER_POOL: Final = 400
PROGRAMS_PER_CODE: Final = 4
EDGES: Final = [0, 1, 2, 31, 32, 33, 255, 256, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF]

KNOWN_FAULTS: Final = {
    "rp2040py": {
        "ADCS (registers)": "ADCS adds the carry to an operand first, and loses it at 0xffffffff",
        "ASRS (registers)": "ASRS by 0 changes C",
        "LSLS (registers)": "LSLS by 0 or by more than 32 gets C wrong",
        "LSRS (registers)": "LSRS by 0 or by more than 32 gets C wrong",
        "RORS (registers)": "RORS by 0 changes C",
        "SBCS (registers)": "SBCS loses the borrow where the subtrahend is 0xffffffff",
        "MRS (other)": "MRS does not know IAPSR, EAPSR, EPSR and IEPSR",
        "MRS (MSP, PSP)": "MRS does not know privilege",
        "MRS (PRIMASK)": "MRS does not know privilege",
        "MSR (PRIMASK)": "MSR does not know privilege",
        "MSR (other)": "MSR to xPSR writes IPSR, and IAPSR and EAPSR are not known",
        "MSR (PSP)": "MSR keeps the low bits of PSP, and does not know privilege",
        "STM": "STM does not write back a base that is in the list",
        "MSR (CONTROL)": "MSR does not know privilege",
        "BLX (LR)": "BLX LR writes LR before it reads it",
    },
    "unicorn": {
        "MSR (PSP)": "MSR keeps the low bits of PSP",
        "MRS (APSR)": "MSR sets and MRS reads a Q flag, which ARMv6-M does not have",
        "MRS (other)": "MSR sets and MRS reads a Q flag, which ARMv6-M does not have",
        "undefined 16 bits": "CBZ and CBNZ, which ARMv6-M does not have, are executed",
        "MSR (CONTROL)": "a Cortex-M0 has no unprivileged mode",
        "ADD (to SP)": "ADD keeps the low bits of SP",
        "MOV (to SP)": "MOV keeps the low bits of SP",
    },
}
"""The manual contradicts a reference there: differences are counted and not failures."""


@dataclass
class KnownReport(Report):
    """`known`: differences in which the manual contradicts the reference."""

    left_window: int = 0
    """programs that used an address outside the window, compared up to there only"""
    known: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return "\n  known: ".join(
            [super().__str__(), *(f"{what}: {count}" for what, count in sorted(self.known.items()))]
        )


def _word(rng: random.Random) -> int:
    kind = rng.random()
    if kind < 0.5:
        return DATA + 4 * rng.randrange(-64, 256)
    if kind < 0.55:
        return DATA + rng.randrange(1024)
    if kind < 0.6:
        return WINDOW + rng.randrange(0, CODE_SIZE, 2) | 1
    if kind < 0.75:
        return rng.choice(EDGES)
    return rng.randrange(64) if kind < 0.85 else rng.getrandbits(32)


def random_programs(seed: int) -> Iterator[Start]:
    """Endless random programs."""
    rng = random.Random(seed)
    for number in itertools.count():
        if number % PROGRAMS_PER_POOL == 0:
            pool = instructions.pool(rng, POOL_SIZE)
            words = [_word(rng) for _ in range((WINDOW_SIZE - CODE_SIZE) // 4)]
            data = struct.pack(f"<{len(words)}I", *words)
        if number % PROGRAMS_PER_CODE == 0:
            parts = rng.choices(pool, k=CODE_SIZE // 2)
            code = array("H", [h for part in parts for h in part][: CODE_SIZE // 2]).tobytes()
        turn = rng.randrange(0, len(data), 4)
        window = code + data[turn:] + data[:turn]
        registers = [_word(rng) for _ in range(13)]
        # Where tame instructions take their addresses from.
        registers[4:8] = [DATA + 4 * rng.randrange(0, 192) for _ in range(4)]
        sp = STACK + 4 * rng.randrange(-16, 16)
        lr = WINDOW + rng.randrange(0, CODE_SIZE, 2) | 1
        pc = WINDOW + CODE_SIZE // 2 + rng.randrange(-64, 64, 2)
        psp = PROCESS_STACK + 4 * rng.randrange(-16, 16)
        yield Start((*registers, sp, lr, pc), rng.getrandbits(4) << 28, psp, window)


def _access(first: int, state: State) -> tuple[int, int] | None:
    """Address and alignment of the load or store `first`; None if it is neither."""
    registers = state.registers
    top = first >> 12
    if top == 5:
        size = (4, 2, 1, 1, 4, 2, 1, 2)[first >> 9 & 7]
        address = registers[first >> 3 & 7] + registers[first >> 6 & 7]
    elif top in (6, 7, 8):
        size = {6: 4, 7: 1, 8: 2}[top]
        address = registers[first >> 3 & 7] + (first >> 6 & 31) * size
    elif top == 9:
        address, size = registers[13] + (first & 255) * 4, 4
    elif top == 12:
        address, size = registers[first >> 8 & 7], 4
    elif first & 0xFE00 in (0xB400, 0xBC00):
        address, size = registers[13] - (36 if first & 0xFE00 == 0xB400 else 0), 4
    elif first & 0xF800 == 0x4800:
        address, size = (registers[15] & ~3) + 4 + (first & 255) * 4, 4
    else:
        return None
    return address & 0xFFFF_FFFF, size


@dataclass
class Comparison:
    """The engine's core against reference cores."""

    references: list[Reference]
    engine: EngineCore = field(default_factory=EngineCore)
    report: KnownReport = field(default_factory=KnownReport)

    def run(self, start: Start) -> None:
        """Runs one program everywhere and notes every difference."""
        engine = self.engine
        engine.start(start)
        executed = engine.run_cycles(CYCLES)
        self.report.cases += 1
        self.report.instructions += executed
        exception = engine.exception
        if engine.lost:
            # The stack was no good for an exception's frame.
            for reference in self.references:
                self._by_steps(start, reference, executed, None)
            return
        if exception:
            self.report.exceptions += 1
            # Neither the handler's WFI nor what faulted.
            executed -= 1 + (engine.bench.states[0] == "Wfi")
        state = engine.state()
        window = _without_frame(engine.window(), state if exception else None)
        for reference in self.references:
            reference.start(start)
            try:
                reference.run(executed)
                if exception and reference.state().registers[15] != state.registers[15]:
                    # A jump that leads to where nothing executes has itself been executed.
                    reference.run(1)
                seen = _without_frame(reference.window(), state if exception else None)
                agrees = reference.state() == state and seen == window
                if agrees and exception and reference.has_faults:
                    agrees = reference.run(1)
            except Exception:
                # Wild accesses bring some peripherals of rp2040py to their end.
                agrees = False
            if not agrees:
                self._by_steps(start, reference, executed + bool(exception), state)

    def _by_steps(self, start: Start, reference: Reference, executed: int, end: State | None) -> None:
        """Finds the instruction at which `reference` differs. `end`: where the engine's core came in one go."""
        engine, report = self.engine, self.report
        engine.start(start)
        reference.start(start)
        for _ in range(executed):
            before = engine.state()
            at = before.registers[15]
            if not WINDOW <= at < WINDOW + CODE_SIZE - 2:
                report.left_window += 1
                return
            first, second = struct.unpack("<2H", engine.bench.read_sram(at, 4))
            encoding = instructions.identify(first, second)
            access = _access(first, before)
            if encoding is None or (access and not WINDOW <= access[0] <= WINDOW + WINDOW_SIZE - 36):
                report.left_window += 1
                return
            engine.run_cycles(1)
            if engine.lost:
                return
            after = engine.state()
            if engine.exception:
                jumped = after.registers[15] != before.registers[15]
                if jumped:
                    reference.run(1)
                elif not reference.has_faults or reference.run(1):
                    return
                other = reference.state()
                if other != after or not jumped:
                    misaligned = access is not None and access[0] % access[1] != 0
                    name = "misaligned" if misaligned else encoding.name
                    self._note(reference.name, name, first, second, before, after, other)
                return
            reference.run(1)
            other = reference.state()
            if other != after or (access and reference.window() != engine.window()):
                self._note(reference.name, encoding.name, first, second, before, after, other)
                return
        if end is not None and engine.state() != end:
            here = engine.state()
            report.failures.append(f"the engine's core ends elsewhere in one go than by steps: {end} instead of {here}")

    def _note(
        self, reference: str, name: str, first: int, second: int, before: State, after: State, other: State
    ) -> None:
        known = KNOWN_FAULTS.get(reference, {}).get(name)
        if known:
            self.report.known[f"{reference}: {known}"] += 1
            return
        self.report.failures.append(
            f"{name} {first:04x} {second:04x}: {reference} differs\n  before    {before}\n  engine    {after}\n"
            f"  {reference:9} {other}"
        )


def _without_frame(window: bytes, interrupted: State | None) -> bytes:
    """`window` without what an exception has pushed below the stack pointer of `interrupted`."""
    if interrupted is None:
        return window
    end = (interrupted.registers[13] & ~7) - WINDOW
    start = end - 32
    if start < 0 or end > len(window):
        return window
    return window[:start] + window[end:]


def references() -> list[Reference]:
    """Those that are installed."""
    found: list[Reference] = [Rp2040pyCore()]
    with contextlib.suppress(ImportError):
        found.append(UnicornCore())
    return found


def fuzz(seed: int, count: int, against: list[Reference] | None = None, most_failures: int = 5) -> KnownReport:
    """Compares until `count` instructions have run or `most_failures` differences are found."""
    comparison = Comparison(references() if against is None else against)
    programs = random_programs(seed)
    while comparison.report.instructions < count and len(comparison.report.failures) < most_failures:
        comparison.run(next(programs))
    return comparison.report


if __name__ == "__main__":
    command(fuzz, "instructions", 10_000_000)
