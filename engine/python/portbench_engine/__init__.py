"""An emulated RP2040 or RP2350 board in simulated time: equal inputs give equal runs, to the picosecond.

    from pathlib import Path
    from portbench_engine import Machine, bootrom, flash_of_uf2

    board = Machine(bootrom(), flash_of_uf2(Path("micropython.uf2").read_bytes()))
    board.expect(">>> ", within_ps=10**13)
    board.console_write(b"6 * 7\\r")
    print(board.expect("42", within_ps=10**12))

`portbench_engine.devices` has the classes for devices of your own on I2C, SPI and UART.
"""

from portbench_engine._native import (
    CHIPS,
    MCUS,
    RADIOS,
    SD_CARDS,
    ChipLan,
    CpuBench,
    EngineError,
    GdbSession,
    M33Bench,
    Machine,
    SdMedium,
    flash_of_uf2,
)
from portbench_engine.boot_rom import bootrom

__all__ = [
    "CHIPS",
    "MCUS",
    "RADIOS",
    "SD_CARDS",
    "ChipLan",
    "CpuBench",
    "EngineError",
    "GdbSession",
    "M33Bench",
    "Machine",
    "SdMedium",
    "bootrom",
    "flash_of_uf2",
]
