"""The engine's Cortex-M33 against `unicorn`'s and QEMU's, and its Hazard3 against QEMU's RV32.

PORTBENCH_FUZZ_LONG=1 compares 10^6 instructions, and 100 000 programs with exceptions.
"""

import os
import struct
from dataclasses import replace

import pytest

from tests.engine import fuzz_hazard3, fuzz_m33_exceptions
from tests.engine.cores import HANDLER, WINDOW, WINDOW_SIZE
from tests.engine.fuzz_m33 import SET_FLAGS, Engine, fuzz, random_cases

pytestmark = pytest.mark.slow

LONG = "PORTBENCH_FUZZ_LONG" in os.environ
TIMEOUT = pytest.mark.timeout(3600 if LONG else 300)
NO_UNICORN = "unicorn is not installed (pip install unicorn)"
on_qemu = {
    module: pytest.mark.skipif(module.LACK is not None, reason=str(module.LACK))  # type: ignore[attr-defined]
    for module in (fuzz_hazard3, fuzz_m33_exceptions)
}


@TIMEOUT
def test_random_instructions_end_as_on_unicorn() -> None:
    pytest.importorskip("unicorn", reason=NO_UNICORN)
    report = fuzz(seed=20260823, count=1_000_000 if LONG else 10_000)
    assert report.failures == []
    assert report.cases >= 10_000
    assert fuzz(seed=3, count=2).failures == [], "the second is the FPU's first"


@TIMEOUT
@on_qemu[fuzz_m33_exceptions]
def test_random_exceptions_end_as_on_qemu() -> None:
    report = fuzz_m33_exceptions.fuzz(seed=20261127, count=100_000 if LONG else 400)
    assert report.failures == []
    assert report.exceptions >= 1000


@TIMEOUT
@on_qemu[fuzz_hazard3]
def test_random_riscv_programs_end_as_on_qemu() -> None:
    report = fuzz_hazard3.fuzz(seed=20261126, count=1_000_000 if LONG else 60_000)
    assert report.failures == []
    assert report.instructions >= 60_000


def test_conversions_from_fixed_point_round_to_the_nearest() -> None:
    """Unicorn follows FPSCR instead: VCVT.F32.S32 S0, S0, #1 of 2^24 + 1 in halves, rounding up."""
    engine = Engine()
    case = replace(next(random_cases(1)), fpscr=0x0040_0000, singles=(0x0100_0001, *[0] * 31))
    code = struct.pack("<5H", *SET_FLAGS, 0xEEBA, 0x0AEF, 0xBF30)
    engine.bench.write_sram(WINDOW, code.ljust(WINDOW_SIZE, b"\0"))
    engine.bench.start(case.registers, 0, case.fpscr, case.singles, HANDLER & ~0xFFF)
    engine.bench.run(100)
    assert (engine.bench.singles()[0], engine.bench.fpscr) == (0x4B00_0000, 0x0040_0010)
