"""A HardFault or lock-up of a guest is reported."""

import struct

from portbench_engine import Machine

from portbench.boards.emulated.liveness import MOST_LINES, Complaints, CpuFaultLog
from portbench.boards.emulated.simulation import ps
from portbench.firmware.uf2 import flash_content
from tests.engine.consoles import machine
from tests.ping_pong import NATIVE_IMAGE

BOOT2_BYTES = 256
PROGRAM = 0x1000_0200
HANDLER = 0x1000_0280
STACK = 0x2004_0000
LOAD_FROM_NOWHERE = [0x2003, 0x0700, 0x6801]  # MOVS R0, #3; LSLS R0, #28; LDR R1, [R0]
BKPT = 0xBE00
SKIP = [0x9806, 0x3002, 0x9006, 0x4770]  # LDR R0, [SP, #24]; ADDS R0, #2; STR R0, [SP, #24]; BX LR
STOP = 0xE7FE


def board(program: list[int], handler: list[int]) -> Machine:
    """Our second stage, a vector table, and `program` with its HardFault handler."""
    vectors = [STACK, PROGRAM | 1] + [HANDLER | 1] * 46
    code = struct.pack(f"<{len(program)}H", *program).ljust(HANDLER - PROGRAM, b"\xff")
    table = struct.pack("<48I", *vectors).ljust(PROGRAM - 0x1000_0100, b"\xff")
    image = flash_content(NATIVE_IMAGE)[:BOOT2_BYTES] + table + code + struct.pack(f"<{len(handler)}H", *handler)
    return machine(image)[0]


def test_a_lock_up_ends_a_slice_once_and_names_itself() -> None:
    guest = board(LOAD_FROM_NOWHERE, [BKPT])
    stops = [guest.run_until_ps(ps(50_000)), guest.run_until_ps(ps(50_000))]
    assert stops == ["locked up", "time"]
    (fault, lock_up), dropped = guest.cpu_faults()
    assert (fault["text"], dropped) == (
        f"core 0 HardFault at pc 0x{PROGRAM + 4:08x}, lr 0x{fault['lr']:08x}, exception 0:"
        " DBUS: nothing to read at 0x30000000",
        0,
    )
    assert {key: lock_up[key] for key in ("core", "locked_up", "pc", "lr", "exception", "cause")} == {
        "core": 0,
        "locked_up": True,
        "pc": HANDLER,
        "lr": 0xFFFF_FFF9,
        "exception": 3,
        "cause": "BKPT without a debugger",
    }
    assert 0 < fault["t_us"] < lock_up["t_us"] < 50_000
    assert guest.cpu_faults() == ([], 0)


def test_a_fault_that_the_guest_handles_does_not_end_its_run() -> None:
    guest = board([*LOAD_FROM_NOWHERE, STOP], SKIP)
    assert guest.run_until_ps(ps(50_000)) == "time"
    reports, _ = guest.cpu_faults()
    assert [(report["locked_up"], report["pc"]) for report in reports] == [(False, PROGRAM + 4)]
    assert guest.registers()[0][15] == PROGRAM + 6


def test_the_log_has_each_fault_once_and_stays_short() -> None:
    lines: list[str] = []
    log = CpuFaultLog(lines.append)
    guest = board(LOAD_FROM_NOWHERE, [0x4770])
    for end_us in (10_000, 20_000, 30_000):
        guest.run_until_ps(ps(end_us))
        log.look(guest)
    assert len(lines) == MOST_LINES + 1
    assert "core 0 HardFault at pc" in lines[0] and "not logged" in lines[-1]
    log.powered_up()
    guest.run_until_ps(ps(31_000))
    log.look(guest)
    assert len(lines) == 2 * (MOST_LINES + 1)


def test_a_fault_is_over_when_its_handler_returns() -> None:
    log = CpuFaultLog([].append)
    guest = board([*LOAD_FROM_NOWHERE, STOP], [0x2001, 0x0400, 0x3801, 0xD1FD, *SKIP])  # counts down from 65536
    seen = []
    for end_us in (20_000, 100_000):
        guest.run_until_ps(ps(end_us))
        log.look(guest)
        seen.append((log.in_fault, log.first is not None))
    assert seen == [(True, True), (False, False)]


def test_a_handled_fault_is_logged_once() -> None:
    lines: list[str] = []
    complaints: list[str] = []
    log = CpuFaultLog(lines.append, Complaints(complaints.append))
    guest = board([*LOAD_FROM_NOWHERE, 0x6801, STOP], SKIP)
    guest.run_until_ps(ps(50_000))
    log.look(guest)
    (line,) = lines
    assert line.endswith(": DBUS: nothing to read at 0x30000000; its handler returned (later ones are not shown)")
    assert (log.first, log.in_fault, complaints) == (None, False, [])


def test_a_reset_ends_a_fault_and_leaves_it_the_first() -> None:
    log = CpuFaultLog([].append)
    guest = board(LOAD_FROM_NOWHERE, [STOP])
    guest.run_until_ps(ps(50_000))
    log.look(guest)
    first = log.first
    assert log.in_fault and first is not None and "core 0 HardFault at pc" in first
    log.look(guest, reset=True)
    assert (log.in_fault, log.first) == (False, first)
