"""Bulk TCP as published figures of it are measured again: a loop at MicroPython's prompt that sends whole buffers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from portbench.boards.definition import PC_IP
from portbench.firmware.catalogue import Family, FirmwareEntry
from portbench.testing import Board

_PORT: Final = 5000
_WHOLE: Final = """
    sent += sock.send(block)  # 0: the chip's buffer has no room for the block yet"""
_POLLED: Final = """
    for ready in poller.poll(meter.due_ms()):
        if ready[0] == sock and time.ticks_diff(time.ticks_us(), started) < 60_000_000:
            meter.add(sock.send(block))
    sent = meter.look()"""
_POLLER: Final = """
import select
class Meter:
    def __init__(self):
        self.running, self.began = True, time.ticks_us()
        self.bytes = self.recent = self.writes = self.recent_writes = 0
    def due_ms(self):
        return max(0, (1_000_000 - time.ticks_diff(time.ticks_us(), self.began)) // 1000)
    def add(self, count):
        if self.running:
            self.bytes += count
            self.recent += count
            self.writes += 1
            self.recent_writes += 1
    def look(self):
        if time.ticks_diff(time.ticks_us(), self.began) > 1_000_000:
            self.began, self.recent, self.recent_writes = time.ticks_us(), 0, 0
        return self.bytes
poller = select.poll()
poller.register(sock, select.POLLOUT)
meter = Meter()"""
"""The work of micropython-lib's iperf3 beside each write: it waits until the socket takes data, and counts."""
_PROGRAM: Final = """
import machine, network, socket, time
from machine import SPI, Pin
if {peripheral_hz}:
    machine.freq(machine.freq(), {peripheral_hz})
spi = SPI(0, {spi_hz}, mosi=Pin(19), miso=Pin(16), sck=Pin(18))
nic = network.WIZNET5K(spi, Pin(17), Pin(20){intn})
nic.active(True)
time.sleep(2)
{address}
sock = socket.socket()
sock.connect(("{pc}", {port})){poller}
block = bytes({write_bytes})
sent = 0
started = time.ticks_us()
while sent < {total}:{loop}
print(time.ticks_diff(time.ticks_us(), started), sent)
"""


@dataclass(frozen=True)
class Sends:
    """The conditions of a loop. `peripheral_mhz`: clk_peri; 0: as the firmware sets it. `interrupt`: 1 if lwIP has the
    chip's interrupt pin. `polled`: 1 if each write waits for a poll."""

    spi_mhz: int = 20
    write_bytes: int = 2048
    total_bytes: int = 64 * 2048
    peripheral_mhz: int = 0
    interrupt: int = 1
    polled: int = 0
    address: str = f'nic.ifconfig(("192.168.50.77", "255.255.255.0", "{PC_IP}", "{PC_IP}"))'
    """Python that gives the chip's own TCP an address; lwIP asks for one by itself."""
    loop: str = _WHOLE


def mbit_s(entry: FirmwareEntry, image: Path, sends: Sends, **surroundings: Any) -> float:
    """The throughput on the board's own clock. `surroundings`: as in boards/emulated/config.py. Raises BoardError."""
    lwip = entry.family is Family.MICROPYTHON
    board = Board(entry.board, **surroundings)
    board.flash(image)
    board.listen(_PORT)
    program = _PROGRAM.format(
        spi_hz=sends.spi_mhz * 1_000_000,
        peripheral_hz=sends.peripheral_mhz * 1_000_000,
        intn=", Pin(21)" if lwip and sends.interrupt else "",
        address="" if lwip else sends.address,
        pc=PC_IP,
        port=_PORT,
        write_bytes=sends.write_bytes,
        total=sends.total_bytes,
        poller=_POLLER if sends.polled else "",
        loop=_POLLED if sends.polled else sends.loop,
    )
    took_us, sent = map(int, board.execute(program).splitlines()[-1].split())
    return sent * 8 / took_us
