"""The engine's Cortex-M33 and its exceptions against QEMU's."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.conftest import NO_ENGINE

pytest.importorskip("portbench_engine", reason=NO_ENGINE)

from tests.engine.fuzz_m33_exceptions import QEMU, fuzz, on_engine

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which(QEMU) is None, reason=f"{QEMU} is missing; run: sudo apt-get install qemu-system-arm"
    ),
]

LONG = "PORTBENCH_FUZZ_LONG" in os.environ


@pytest.mark.timeout(3600 if LONG else 300)
def test_random_exceptions_end_as_on_qemu() -> None:
    """PORTBENCH_FUZZ_LONG=1 compares 100 000 programs instead of 800."""
    report = fuzz(seed=20261127, count=100_000 if LONG else 800)
    assert report.failures == []
    assert report.exceptions >= 2000


def test_the_fuzzer_notices_a_wrong_bit() -> None:
    def wrong(program: bytes) -> bytes | None:
        window = on_engine(program)
        return window and bytes([window[0] ^ 1]) + window[1:]

    assert fuzz(seed=1, count=10, most_failures=1, engine=wrong).failures
