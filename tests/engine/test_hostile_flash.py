"""Random flash contents, started by the real boot ROM on a whole board: the host neither crashes nor hangs."""

import os
import random
import struct
import time
from array import array
from typing import Final

import pytest
from portbench_engine import EngineError, Machine

from portbench.boards.emulated.simulation import ps
from portbench.firmware.uf2 import flash_content
from tests.engine import instructions
from tests.engine.consoles import machine
from tests.ping_pong import NATIVE_IMAGE

BOOT2_BYTES: Final = 256
GUESTS: Final = 600 if "PORTBENCH_FUZZ_LONG" in os.environ else 25
SIMULATED_US: Final = 30_000.0
HOST_LIMIT_S: Final = 20.0


def random_program(rng: random.Random) -> bytes:
    """Our second stage, then a vector table and 64 KiB of random code with addresses of the chip between it."""
    pool = [*instructions.pool(rng, 3000), [0xBF30], [0xBF20], [0xBF40]]
    halfwords = [h for parts in rng.choices(pool, k=32_000) for h in parts][:32_000]
    for _ in range(4000):
        at = rng.randrange(0, len(halfwords) - 2, 2)
        base = rng.choice([0x2000_0000, 0x4000_0000, 0x5000_0000, 0x5010_0000, 0xD000_0000, 0xE000_E000, 0x1000_0000])
        reach = 0x4_0000 if base in (0x2000_0000, 0x1000_0000) else 0x7_0000 if base == 0x4000_0000 else 0x1000
        address = base + rng.randrange(0, reach, 4)
        halfwords[at : at + 2] = [address & 0xFFFF, address >> 16]
    entries = [0x2004_0000 - 4 * rng.randrange(64)] + [0x1000_0200 + rng.randrange(0, 60_000, 2) | 1 for _ in range(47)]
    return flash_content(NATIVE_IMAGE)[:BOOT2_BYTES] + struct.pack("<48I", *entries) + array("H", halfwords).tobytes()


def run(board: Machine) -> tuple[int, str]:
    """Runs for the simulated time; returns the instructions, and what ended it before."""
    began = time.process_time()
    end = ""
    try:
        while board.time_us < SIMULATED_US and not end:
            board.run_until_ps(ps(SIMULATED_US))
            board.usb_events()
            board.console_read()
            elapsed = time.process_time() - began
            assert elapsed < HOST_LIMIT_S, f"{elapsed:.0f} s for {board.time_us} us: {board.stats()}"
    except EngineError as error:
        end = str(error)
    return board.stats()["instructions"], end


@pytest.mark.timeout(3600 if GUESTS > 100 else 120)
def test_random_programs_in_flash() -> None:
    """PORTBENCH_FUZZ_LONG=1 runs more of them."""
    total = 0
    for seed in range(GUESTS):
        rng = random.Random(seed)
        board, _ = machine(random_program(rng), phy_link_delay_us=1000)
        executed, end = run(board)
        total += executed
        assert end == "" or end.startswith("not modelled: "), f"seed {seed}: {end}"
    assert total > 20_000 * GUESTS


def test_random_flash_without_a_second_stage_ends_in_the_boot_loader() -> None:
    board, _ = machine(random.Random(1).randbytes(1 << 16))
    while board.time_us < 1_000_000 and not board.usb()["configured"]:
        board.run_until_ps(ps(1_000_000))
        board.usb_events()
    assert (board.usb()["vid"], board.usb()["pid"]) == (0x2E8A, 0x0003)
