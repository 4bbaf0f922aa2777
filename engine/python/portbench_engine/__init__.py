"""An emulated RP2040 or RP2350 board in simulated time: equal inputs give equal runs, to the picosecond.

    from portbench_engine import Board

    board = Board.from_uf2("micropython.uf2")
    board.console.expect(">>> ")
    board.console.write(b"6 * 7\\r")
    print(board.console.expect("42"))

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
    Hazard3Bench,
    M33Bench,
    Machine,
    SdMedium,
    TlsConnection,
    TlsError,
    TlsPeer,
    flash_of_image,
)
from portbench_engine.board import PS_PER_S, Board
from portbench_engine.boot_rom import bootrom

__all__ = [
    "CHIPS",
    "MCUS",
    "PS_PER_S",
    "RADIOS",
    "SD_CARDS",
    "Board",
    "ChipLan",
    "CpuBench",
    "EngineError",
    "GdbSession",
    "Hazard3Bench",
    "M33Bench",
    "Machine",
    "SdMedium",
    "TlsConnection",
    "TlsError",
    "TlsPeer",
    "bootrom",
    "flash_of_image",
]
