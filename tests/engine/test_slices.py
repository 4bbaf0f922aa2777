"""However simulated time is cut into calls, the board ends in the same state: what determinism rests on."""

import hashlib
from typing import Final

import pytest
from portbench_engine import Machine

from portbench.boards.emulated.simulation import ps
from portbench.firmware.uf2 import flash_content
from tests.conftest import Image
from tests.engine.consoles import machine
from tests.ping_pong import NATIVE_IMAGE

SRAM: Final = (0x2000_0000, 264 * 1024)


def run(board: Machine, end_us: float, slice_us: float) -> bytes:
    """Runs until `end_us` in calls of `slice_us`, and returns the output."""
    printed = b""
    while board.time_us < end_us:
        board.run_until_ps(ps(min(end_us, board.time_us + slice_us)))
        board.usb_events()
        printed += board.console_read()
    return printed


def digest(board: Machine, printed: bytes) -> str:
    """Hash all that a program could see: registers, cycles, SRAM, flash, and what the LAN and the console saw."""
    stats = board.stats()
    state = [board.time_ps, board.registers(), sorted((k, v) for k, v in stats.items() if k != "core_states"), printed]
    memory = board.read_sram(*SRAM) + board.flash()
    return hashlib.sha256(repr(state).encode() + memory).hexdigest()


@pytest.mark.parametrize("slice_us", [1.0, 1e6, 7.777777, 12345.678901])
def test_native_client_in_slices(slice_us: float) -> None:
    """From power-on through flash, DHCP and 1000 messages."""
    flash = flash_content(NATIVE_IMAGE)
    digests = []
    for size in (1000.0, slice_us):
        board, server = machine(flash, phy_link_delay_us=1000)
        printed = run(board, 350_000, size)
        digests.append(digest(board, printed))
        assert server.answered == 1000
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("entry_id", "end_us"),
    [("micropython-1.26.0", 600_000), ("wiznet-hardwired", 600_000), ("circuitpython-9.1.4", 1_500_000)],
)
def test_real_firmware_in_slices(image: Image, entry_id: str, end_us: float) -> None:
    """From power-on, through USB enumeration, with something typed at a simulated time."""
    flash = flash_content(image(entry_id))
    digests = []
    for size in (1000.0, 1e6, 333.333333, 20.000001):
        board, _ = machine(flash, phy_link_delay_us=1000)
        printed = run(board, end_us - 100_000, size)
        board.console_write(b"1+1\r\n")
        printed += run(board, end_us, size)
        digests.append(digest(board, printed))
    assert len(set(digests)) == 1


def test_power_cycles_repeat() -> None:
    """A board that has run starts again at time 0 as a new one does."""
    flash = flash_content(NATIVE_IMAGE)
    board, _ = machine(flash, phy_link_delay_us=1000)
    first = digest(board, run(board, 50_000, 1000))
    board.power_cycle()
    assert digest(board, run(board, 50_000, 100)) == first
