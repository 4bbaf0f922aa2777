"""SIO's divider and interpolators against `rp2040py`'s, register by register."""

import random
from typing import Any, Final

import pytest
from portbench_engine import CpuBench
from rp2040py.rp2040 import RP2040
from rp2040py.utils.logging import ConsoleLogger, LogLevel

SIO: Final = 0xD000_0000
DIVIDER: Final = [*range(0x60, 0x70, 4)]
QUOTIENT: Final = 0x70
READ_DIVIDER: Final = [*range(0x60, 0x78, 4)]
INTERPOLATORS: Final = [0x80, 0xC0]
# Offsets within an interpolator.
ACCUM: Final = [0x00, 0x04]
WRITABLE: Final = [0x00, 0x04, 0x08, 0x0C, 0x10, 0x2C, 0x30, 0x34, 0x38, 0x3C]
CTRL: Final = [0x2C, 0x30]
ADD: Final = [0x34, 0x38]
POP: Final = [0x14, 0x18, 0x1C]
READABLE: Final = [0x00, 0x04, 0x08, 0x0C, 0x10, 0x20, 0x24, 0x28, 0x2C, 0x30]
FORCE_MSB: Final = 3 << 19
CTRL_BITS: Final = 0x7F_FFFF & ~FORCE_MSB
"""FORCE_MSB is left out: `rp2040py` takes lane 1's from lane 0 and puts it into the accumulators."""


def random_value(rng: random.Random) -> int:
    return rng.choice([rng.getrandbits(32), rng.getrandbits(16), rng.getrandbits(8), 0, 0xFFFF_FFFF, 0x8000_0000])


@pytest.fixture
def other() -> Any:
    mcu = RP2040()
    mcu.logger = ConsoleLogger(LogLevel.ERROR)
    return mcu


def test_interpolators(other: Any) -> None:
    rng = random.Random(1)
    bench = CpuBench()
    for _ in range(1500):
        for base in INTERPOLATORS:
            for _ in range(8):
                offset = rng.choice(WRITABLE)
                value = random_value(rng)
                if offset in CTRL:
                    value = rng.getrandbits(32) & CTRL_BITS
                elif offset in ADD:
                    value &= 0xFF_FFFF  # the register is 24 bits wide
                bench.write(SIO + base + offset, value)
                other.write_uint32(SIO + base + offset, value)
            for offset in [*READABLE, rng.choice(POP), *ACCUM]:
                ours, theirs = bench.read(SIO + base + offset), other.read_uint32(SIO + base + offset)
                assert ours == theirs, f"0x{base + offset:x}: 0x{ours:x}, rp2040py: 0x{theirs:x}"


def test_force_msb_is_for_the_bus_only() -> None:
    bench = CpuBench()
    base = SIO + INTERPOLATORS[0]
    whole = 31 << 10
    bench.write(base + CTRL[0], whole | 1 << 19)
    bench.write(base + CTRL[1], whole | 2 << 19)
    bench.write(base + ACCUM[0], 5)
    bench.write(base + ACCUM[1], 6)
    assert [bench.read(base + offset) for offset in (0x20, 0x24, 0x28)] == [0x1000_0005, 0x2000_0006, 11]
    assert bench.read(base + POP[0]) == 0x1000_0005
    assert [bench.read(base + offset) for offset in ACCUM] == [5, 6]


def test_divider(other: Any) -> None:
    rng = random.Random(2)
    bench = CpuBench()
    for register in DIVIDER:
        bench.write(SIO + register, 1)
        other.write_uint32(SIO + register, 1)
    for _ in range(4000):
        register = rng.choice(DIVIDER)
        value = random_value(rng)
        bench.write(SIO + register, value)
        other.write_uint32(SIO + register, value)
        for read in READ_DIVIDER:
            ours, theirs = bench.read(SIO + read), other.read_uint32(SIO + read)
            if read == QUOTIENT and bench.read(SIO + 0x64) == 0:
                # All ones, which the signed divider negates for a negative dividend; rp2040py compares without sign.
                negative = register >= 0x68 and bench.read(SIO + 0x60) >> 31
                assert ours == (1 if negative else 0xFFFF_FFFF)
                continue
            assert ours == theirs, f"0x{read:x} after 0x{value:x} to 0x{register:x}"
