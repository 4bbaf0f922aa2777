"""A radio chip's bus with a whole guest and no firmware: core, PIO, pins and chip, as both drivers begin.

`guest.bin` is the boot's second stage and moves the words that the test puts into its mailbox. To build it again:
arm-none-eabi-gcc -mcpu=cortex-m0plus -mthumb -c guest.S && arm-none-eabi-objcopy -O binary guest.o guest.bin
"""

import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from portbench_engine import Machine, bootrom

from portbench.boards import board_definition
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.simulation import ps

HERE = Path(__file__).parent
COMPILER, OBJCOPY = "arm-none-eabi-gcc", "arm-none-eabi-objcopy"
MAILBOX, RECEIVED = 0x2000_1000, 0x2000_3000
STAGE_BYTES = 252
SLICE_US, LONGEST_US = 200.0, 100_000.0
POWER_UP_US = 300_000.0
BACKPLANE_DELAY = 4
"""Words that the chip sends before those read of function 1."""
ARM, RAM = 0x1810_3000, 0x1810_4000
NVRAM = b"manfid=0x2d0\0prodid=0x0727\0\0\0"


def crc32(data: bytes, *, reflected: bool) -> int:
    """Return the CRC from all ones, not inverted: the boot ROM's, or reflected, as the radio's firmware has it."""
    if reflected:
        return zlib.crc32(data) ^ 0xFFFF_FFFF
    crc = 0xFFFF_FFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C1_1DB7 if crc & 0x8000_0000 else 0)) & 0xFFFF_FFFF
    return crc


def radio_firmware() -> bytes:
    """Make bytes that the chip accepts as its firmware, and a line with their CRC."""
    image = bytes((n * 7 + n // 256) & 0xFF for n in range(1200))
    line = f"test-firmware Version: 1.2.3 CRC: {crc32(image, reflected=True):08x} Date: today\0\0\0"
    whole = image + bytes([9] * 30) + b"\0" + line.encode()
    return whole.ljust(-(-len(whole) // 4) * 4, b"\0")


class Guest:
    """The host's side of gSPI, word by word through the guest."""

    def __init__(self, flash_id: int | None = None) -> None:
        stage = (HERE / "guest.bin").read_bytes().ljust(STAGE_BYTES, b"\0")
        flash = stage + struct.pack("<I", crc32(stage, reflected=False))
        self.machine = Machine(
            bootrom(), flash, EmulatedConfig(flash_id=flash_id).settings(board_definition("RPI_PICO_W"))
        )
        self.machine.run_until_ps(ps(POWER_UP_US))
        self._wide = False
        self._window = 0

    def transfer(self, out: list[int], count: int) -> list[int]:
        words = [len(out), count, *map(self._on_wire, out)]
        # The count goes last: it is what the guest waits for.
        self.machine.write_sram(MAILBOX + 4, struct.pack(f"<{len(words) - 1}I", *words[1:]))
        self.machine.write_sram(MAILBOX, struct.pack("<I", words[0]))
        until_us = self.machine.time_us + LONGEST_US
        while self.machine.read_sram(MAILBOX, 4) != bytes(4):
            assert self.machine.time_us < until_us, "the guest moves no words"
            self.machine.run_until_ps(self.machine.time_ps + ps(SLICE_US))
        received = struct.unpack(f"<{count}I", self.machine.read_sram(RECEIVED, 4 * count))
        return list(map(self._on_wire, received))

    def _on_wire(self, word: int) -> int:
        if self._wide:
            return int.from_bytes(word.to_bytes(4, "little"), "big")
        return (word << 16 | word >> 16) & 0xFFFF_FFFF

    def widen(self) -> None:
        """To words of 32 bits in memory's order, at high speed, with a delay of 16 bytes on the backplane."""
        self.transfer([command(True, 0, 0, 4), 0x0002_04B3], 0)
        self._wide = True
        self.write(0, 0x1D, b"\x10")

    def read(self, function: int, address: int, length: int) -> bytes:
        delay = BACKPLANE_DELAY if function == 1 else 0
        words = self.transfer([command(False, function, address, length)], delay + -(-length // 4))[delay:]
        return struct.pack(f"<{len(words)}I", *words)[:length]

    def write(self, function: int, address: int, data: bytes) -> None:
        padded = data.ljust(-(-len(data) // 4) * 4, b"\0")
        words = struct.unpack(f"<{len(padded) // 4}I", padded)
        self.transfer([command(True, function, address, len(data)), *words], 0)

    def _shown(self, address: int) -> int:
        window = address & ~0x7FFF
        if window != self._window:
            for register, shift in ((0x1_000C, 24), (0x1_000B, 16), (0x1_000A, 8)):
                self.write(1, register, bytes([window >> shift & 0xFF]))
            self._window = window
        return address & 0x7FFF | 0x8000

    def read_backplane(self, address: int) -> int:
        return int.from_bytes(self.read(1, self._shown(address), 4), "little")

    def write_backplane(self, address: int, data: bytes) -> None:
        for at in range(0, len(data), 64):
            self.write(1, self._shown(address + at), data[at : at + 64])

    def release(self, core: int) -> None:
        for register, value in ((0x408, 3), (0x800, 0), (0x408, 1)):
            self.write_backplane(core + register, bytes([value]))

    def load(self, firmware: bytes) -> None:
        words = len(NVRAM) // 4
        self.write(1, 0x1_000E, b"\x08")  # the low-power clock
        self.machine.run_until_ps(self.machine.time_ps + ps(1000))
        self.release(RAM)
        self.write_backplane(0, firmware)
        self.write_backplane(0x8_0000 - 4 - len(NVRAM), NVRAM)
        self.write_backplane(0x8_0000 - 4, struct.pack("<HH", words, ~words & 0xFFFF))
        self.release(ARM)
        self.machine.run_until_ps(self.machine.time_ps + ps(100_000))

    @property
    def runs(self) -> tuple[bool, bool]:
        """The high clock runs, and function 2 takes frames."""
        return bool(self.read(1, 0x1_000E, 1)[0] & 0x80), bool(self.read(0, 8, 4)[0] & 0x20)

    def mac(self) -> bytes:
        """Read the address of the radio's firmware by its variable."""
        argument = b"cur_etheraddr".ljust(20, b"\0")
        message = struct.pack("<IIII", 262, len(argument), 1 << 16, 0) + argument
        length = 12 + len(message)
        header = struct.pack("<HHBBBBI", length, length ^ 0xFFFF, 0, 0, 0, 12, 0)
        self.write(2, 0, header + message)
        self.machine.run_until_ps(self.machine.time_ps + ps(5000))
        status = int.from_bytes(self.read(0, 8, 4), "little")
        answer = self.read(2, 0, status >> 9 & 0x7FF)
        return answer[answer[7] + 16 :][:6]


def command(write: bool, function: int, address: int, length: int) -> int:
    return write << 31 | 1 << 30 | function << 28 | address << 11 | length


@pytest.fixture
def guest() -> Guest:
    return Guest()


def test_the_bus_is_found_and_widened(guest: Guest) -> None:
    assert guest.read(0, 0x14, 4) == bytes.fromhex("adbeedfe"), "the test register, in words of 16 bits"
    guest.widen()
    assert guest.read(0, 0x14, 4) == bytes.fromhex("adbeedfe"), "and in words of 32 bits"
    assert guest.read(0, 0, 4) == bytes.fromhex("b3040200")
    assert guest.read_backplane(0x1800_0000) & 0xFFFF == 43439, "the chip's id"
    assert guest.machine.stats()["chip_selects"] > 8


def test_a_torn_download_does_not_run_and_a_whole_one_does(guest: Guest) -> None:
    guest.widen()
    firmware = radio_firmware()
    torn = bytearray(firmware)
    torn[700] ^= 4
    guest.load(bytes(torn))
    assert guest.runs == (False, False)
    guest.write_backplane(ARM + 0x800, b"\x01")
    guest.load(firmware)
    assert guest.runs == (True, True)


def test_another_board_has_another_address_on_the_air() -> None:
    addresses = []
    for flash_id in (None, 0x1122_3344_5566_7788):
        guest = Guest(flash_id)
        guest.widen()
        guest.load(radio_firmware())
        addresses.append(guest.mac())
    assert addresses == [bytes.fromhex("28cdc1005001"), bytes.fromhex("28cdc1667788")]


def test_the_guest_is_what_its_source_says(tmp_path: Path) -> None:
    if shutil.which(COMPILER) is None:
        pytest.skip(f"{COMPILER} is not installed; run: sudo .ci/install-system-packages")
    made = tmp_path / "guest.o"
    subprocess.run([COMPILER, "-mcpu=cortex-m0plus", "-mthumb", "-c", "-o", made, HERE / "guest.S"], check=True)
    subprocess.run([OBJCOPY, "-O", "binary", made, tmp_path / "guest.bin"], check=True)
    assert (tmp_path / "guest.bin").read_bytes() == (HERE / "guest.bin").read_bytes()
