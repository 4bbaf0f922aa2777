"""The second stage on flash chips whose quad enable bit is set, clear, or cannot be set."""

import struct

import pytest
from rp2040py.peripherals.peripheral import BasePeripheral
from rp2040py.rp2040 import RP2040
from rp2040py.utils.logging import ConsoleLogger, LogLevel

from portbench.firmware import uf2
from tests.ping_pong import NATIVE_IMAGE

CTRLR0, SSIENR, BAUDR, SR, DR0, SPI_CTRLR0 = 0x00, 0x08, 0x14, 0x28, 0x60, 0xF4
BYTE_FRAMES = 7 << 16
SR_TFNF_TFE = 0x06
QE = 0x02

QUAD = (0x005F0300, 0xA0002022, 2)
"""CTRLR0, SPI_CTRLR0, BAUDR for EBh continuous read: quad, 32-bit frames, mode bits A0h, 4 dummy clocks, clk_sys / 2"""
SERIAL = (0x001F0300, 0x03000218, 4)


class FlashBehindSsi(BasePeripheral):
    """SSI whose transfers end when its status is read, and the status registers of a W25Q16JV."""

    def __init__(self, mcu: RP2040, status1: int, status2: int, *, quad_can_be_enabled: bool = True) -> None:
        super().__init__(mcu, "SSI")
        self.status = [status1, status2]
        self.quad_can_be_enabled = quad_can_be_enabled
        self.registers: dict[int, int] = {}
        self.commands: list[bytes] = []
        self._sent = bytearray()
        self._received: list[int] = []
        self._volatile_enabled = False

    def read_uint32(self, offset: int) -> int:
        if offset == SR:
            self._end_transfer()
            return SR_TFNF_TFE
        if offset == DR0:
            return self._received.pop(0)
        return self.registers.get(offset, 0)

    def write_uint32(self, offset: int, value: int) -> None:
        if offset == DR0:
            assert self.registers[SSIENR] == 1
            if self.registers[CTRLR0] == BYTE_FRAMES:
                self._sent.append(value)
            return
        if offset not in (SSIENR, 0x10):
            assert not self.registers.get(SSIENR), f"register {offset:#x} written while the SSI is enabled"
        if offset == SSIENR and not value:
            self._received.clear()
        self.registers[offset] = value

    def _end_transfer(self) -> None:
        if not self._sent:
            return
        command = bytes(self._sent)
        self._sent.clear()
        self.commands.append(command)
        answer = [0xFF] * len(command)
        if command[0] in (0x05, 0x35):
            answer[1] = self.status[command[0] == 0x35]
        elif command[0] == 0x50:
            self._volatile_enabled = True
        elif command[0] == 0x01 and self._volatile_enabled:
            self._volatile_enabled = False
            keep = 0xFF if self.quad_can_be_enabled else ~QE & 0xFF
            self.status = [command[1], command[2] & keep]
        self._received += answer


def boot(status1: int, status2: int, *, quad_can_be_enabled: bool = True) -> tuple[RP2040, FlashBehindSsi]:
    """Runs the second stage until it enters the image."""
    mcu = RP2040()
    mcu.logger = ConsoleLogger(LogLevel.ERROR)
    (content,) = uf2.read(NATIVE_IMAGE).flash_bytes().values()
    mcu.flash[: len(content)] = content
    ssi = FlashBehindSsi(mcu, status1, status2, quad_can_be_enabled=quad_can_be_enabled)
    mcu.peripherals[0x18000] = ssi
    stack, reset = struct.unpack_from("<2I", content, 256)
    mcu.core.sp = 0x2004_1F00
    mcu.core.pc = uf2.FLASH_BASE
    for _ in range(1000):
        if mcu.core.pc == reset & ~1:
            break
        mcu.step()
    else:
        pytest.fail(f"the second stage did not enter the image; pc={mcu.core.pc:#x}")
    assert (mcu.core.sp, mcu.ppb.read_uint32(0xD08)) == (stack, 0x1000_0100)
    assert ssi.registers[SSIENR] == 1
    return mcu, ssi


def final(ssi: FlashBehindSsi) -> tuple[int, int, int]:
    return ssi.registers[CTRLR0], ssi.registers[SPI_CTRLR0], ssi.registers[BAUDR]


def test_quad_enabled_already() -> None:
    _mcu, ssi = boot(0x1C, QE)
    assert ssi.commands == [b"\x35\x35"]
    assert final(ssi) == QUAD


def test_enables_quad_for_this_power_up_and_keeps_the_other_bits() -> None:
    _mcu, ssi = boot(0x1C, 0x41)
    assert [command[0] for command in ssi.commands] == [0x35, 0x05, 0x50, 0x01, 0x35]
    assert ssi.commands[3] == bytes([0x01, 0x1C, 0x43])
    assert final(ssi) == QUAD


def test_stays_serial_without_quad() -> None:
    _mcu, ssi = boot(0, 0, quad_can_be_enabled=False)
    assert [command[0] for command in ssi.commands] == [0x35, 0x05, 0x50, 0x01, 0x35]
    assert final(ssi) == SERIAL
