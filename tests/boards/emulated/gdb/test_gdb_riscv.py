"""gdb-multiarch and snapshots on an RP2350 whose RISC-V cores run, started by a small ROM of the test's own."""

import re
import struct

import pytest
from portbench_engine import Machine

from portbench.boards import Deadline
from portbench.boards.emulated.gdb_server import GdbServer
from tests.boards.emulated.gdb.test_gdb import LIMIT_S, Gdb
from tests.boards.emulated.gdb.test_gdb import server as server

SRAM = 0x2000_0000
FUNCTION = SRAM + 0x10
MS = 10**9
SETTINGS = {"mcu": "RP2350", "flash_bytes": 1 << 20}


def rom() -> bytes:
    """Arm code that sets OTP.ARCHSEL and triggers the watchdog; RISC-V code that jumps to SRAM."""
    arm = [0x4805, 0x2103, 0x6001, 0x4805, 0x4905, 0x6001, 0x4805, 0x4906, 0x6001, 0xE7FE]
    literals = [0x4012_0158, 0x4001_8008, 0x01FF_FFFF, 0x400D_8000, 0x8000_0000]
    content = bytearray(0x8000)
    content[:8] = struct.pack("<2I", 0x2004_0000, 0x41)
    content[0x40 : 0x40 + 20] = struct.pack("<10H", *arm)
    content[0x58 : 0x58 + 20] = struct.pack("<5I", *literals)
    content[0x7DF4:0x7DFC] = struct.pack("<2I", 0x2000_00B7, 0x0000_8067)  # LUI x1, 0x20000; JALR x0, x1
    content[0x7DFC:0x7E00] = struct.pack("<I", 0xFF9F_F06F)  # JAL x0, -8
    return bytes(content)


def program() -> bytes:
    """LUI sp, 0x20040; JAL ra, 12 (FUNCTION); J -4; NOP; FUNCTION: ADDI a0, a0, 1; RET."""
    return struct.pack("<6I", 0x2004_0137, 0x00C0_00EF, 0xFFDF_F06F, 0x0000_0013, 0x0015_0513, 0x0000_8067)


@pytest.fixture
def machine() -> Machine:
    machine = Machine(rom(), b"", SETTINGS)
    machine.write_sram(SRAM, program())
    assert machine.run_until_ps(MS) == "reset: WATCHDOG trigger"
    return machine


def test_a_session_with_riscv_cores(machine: Machine, server: GdbServer) -> None:
    gdb = Gdb(
        server.port,
        "show architecture",
        f"hbreak *{FUNCTION:#x}",
        "continue",
        "continue",
        "p $a0",
        "p/x $ra",
        "p/x $sp",
        "stepi",
        "p $a0",
        "p/x $pc",
        "set var $a0 = 40",
        "x/i $pc",
        "stepi",
        "delete",
        f"hbreak *{FUNCTION + 4:#x}",
        "continue",
        "p $a0",
        "thread 2",
        "p/x $mcause",
    )
    deadline = Deadline(LIMIT_S, "gdb")
    while gdb.runs:
        deadline.check("gdb's end")
        if server.running and server.attached:
            server.serve(machine, 0.0)
            server.ran(machine, machine.run_until_ps(machine.time_ps + MS))
        else:
            server.serve(machine, 0.02)
    said = gdb.end()
    assert "riscv:rv32" in said, said
    values = re.findall(r"^\$\d+ = (\S+)$", said, re.MULTILINE)
    assert values == ["1", hex(SRAM + 8), "0x20040000", "2", hex(FUNCTION + 4), "41", "0x0"], said
    assert re.search(rf"=> {FUNCTION + 4:#x}:\s+ret", said), said


def test_a_snapshot_with_riscv_cores(machine: Machine) -> None:
    machine.run_until_ps(machine.time_ps + 12_345_678)
    again = Machine(rom(), b"", SETTINGS)
    again.restore(machine.snapshot())
    for each in (machine, again):
        each.run_until_ps(2 * MS)
    assert again.snapshot() == machine.snapshot()
    assert again.stats()["instructions"] == machine.stats()["instructions"] > 1000
