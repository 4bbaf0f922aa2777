"""One firmware on the engine and on `rp2040py`: equal consoles, equal bytes on SPI."""

import pytest

from portbench.firmware.uf2 import flash_content
from tests.conftest import Image
from tests.engine.consoles import EngineConsole, Rp2040pyConsole

REPL_LINES = [
    "1+1",
    "print('a' * 10, 2**100, 1/3, -7//2, -7%3)",
    "sum(i*i for i in range(2000))",
    "import sys, struct, binascii, hashlib",
    "sys.implementation",
    "struct.unpack('<fdqh', bytes(range(22)))",
    "binascii.hexlify(hashlib.sha256(b'portbench').digest())",
    "import math; [math.sqrt(2), math.sin(1), math.exp(1), math.pi**10]",
    "d = {str(i): i for i in range(100)}; sorted(d)[:5], len(d)",
    "[x for x in 'unicode: \\u00e9\\u4e16']",
    "1/0",
    "undefined_name",
    "from machine import Pin; Pin(25, Pin.OUT)",
    "import machine; machine.mem32[0x40000004]",
    "import uctypes; uctypes.sizeof({'a': uctypes.UINT32 | 0, 'b': uctypes.UINT8 | 4})",
    "from array import array; sum(array('i', range(-50, 100)))",
    "import os; os.listdir('/')",
    "f = open('t.txt', 'w'); f.write('x' * 5000); f.close(); os.stat('t.txt')[6], len(open('t.txt').read())",
]

SPI_LINES = [
    "from machine import SPI, Pin",
    "spi = SPI(0, 2000000, sck=Pin(18), mosi=Pin(19), miso=Pin(16)); cs = Pin(17, Pin.OUT, value=1)",
    # VERSIONR; the common block; the MAC address written and read back; 40 bytes of a transmit buffer, by DMA.
    "cs(0); _ = spi.write(b'\\x00\\x39\\x00'); v = spi.read(1); cs(1); v",
    "cs(0); _ = spi.write(b'\\x00\\x00\\x00'); v = spi.read(40); cs(1); v",
    "cs(0); _ = spi.write(b'\\x00\\x09\\x04\\x02\\x11\\x22\\x33\\x44\\x55'); cs(1)",
    "b = bytearray(b'\\x00\\x09\\x00' + bytes(6)); cs(0); _ = spi.write_readinto(b, b); cs(1); b",
    "cs(0); _ = spi.write(b'\\x00\\x00\\x14' + bytes(range(40))); cs(1)",
    "cs(0); _ = spi.write(b'\\x00\\x00\\x10'); v = spi.read(40, 0xa5); cs(1); v",
    "cs(0); _ = spi.write(b'\\x00\\x2e\\x00'); v = spi.read(1); cs(1); v[0] & 0xf8",
]


@pytest.mark.timeout(300)
def test_the_same_console_and_the_same_bytes_on_spi(image: Image) -> None:
    flash = flash_content(image("micropython-1.26.0"))
    ours = EngineConsole(flash)
    # Ctrl-B prints the banner.
    lines = [b"\x02", *[line.encode() + b"\r" for line in REPL_LINES]]
    on_spi = [line.encode() + b"\r" for line in SPI_LINES]
    printed = list(map(ours.talk, lines))
    assert b"MicroPython v1.26.0 on 2025-08-09; W5500-EVB-Pico with RP2040" in printed[0]
    transfers = ours.spi_transfers(lambda: printed.extend(map(ours.talk, on_spi)))
    assert len(transfers) == 7
    assert transfers[0] == (b"\x00\x39\x00\x00", transfers[0][1][:3] + b"\x04")
    assert transfers[3][1][3:] == b"\x02\x11\x22\x33\x44\x55"
    assert transfers[5][1][3:] == bytes(range(40))
    other = Rp2040pyConsole(flash, [miso for _, miso in transfers])
    assert list(map(other.talk, [*lines, *on_spi])) == printed
    assert other.mosi == [mosi for mosi, _ in transfers]
