"""The engine's Hazard3 core against QEMU's RV32."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.conftest import NO_ENGINE

pytest.importorskip("portbench_engine", reason=NO_ENGINE)

from tests.engine.fuzz_hazard3 import QEMU, fuzz, on_engine

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which(QEMU) is None, reason=f"{QEMU} is missing; run: sudo apt-get install qemu-system-misc"
    ),
]

LONG = "PORTBENCH_FUZZ_LONG" in os.environ


@pytest.mark.timeout(3600 if LONG else 300)
def test_random_programs_end_as_on_qemu() -> None:
    """PORTBENCH_FUZZ_LONG=1 compares 10^6 instructions instead of 60 000."""
    report = fuzz(seed=20261126, count=1_000_000 if LONG else 60_000)
    assert report.failures == []
    assert report.instructions >= 60_000


def test_the_fuzzer_notices_a_wrong_bit() -> None:
    def wrong(memory: bytes) -> bytes:
        record = on_engine(memory)
        return bytes([record[0] ^ 1]) + record[1:]

    assert fuzz(seed=1, count=2000, engine=wrong).failures
