"""Published throughput of hardware TCP and of lwIP, and how it depends on each condition that was not published.

A loop sends whole buffers at MicroPython's prompt. `pytest tests/workloads/bulk/test_published.py -k NAME` measures one
line of the tables in workloads/bulk/README.md.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from portbench.boards.definition import PC_IP
from portbench.firmware import catalogue
from tests.conftest import NO_ENGINE, Image

pytest.importorskip("portbench_engine", reason=NO_ENGINE)

from portbench.testing import Board

pytestmark = [pytest.mark.engine, pytest.mark.slow]
PORT = 5000
TOTAL = 64 * 2048
WHOLE = """
    sent += sock.send(block)  # 0: the chip's buffer has no room for the block yet"""
COPIED = """
    rest = block
    while rest:
        rest = rest[sock.send(rest):]
    sent += len(block)"""
SENDS = f"""
import machine, network, socket, time
from machine import SPI, Pin
if {{peripheral_hz}}:
    machine.freq(machine.freq(), {{peripheral_hz}})
spi = SPI(0, {{spi_hz}}, mosi=Pin(19), miso=Pin(16), sck=Pin(18))
nic = network.WIZNET5K(spi, Pin(17), Pin(20){{intn}})
nic.active(True)
time.sleep(2)
{{address}}
sock = socket.socket()
sock.connect(("{PC_IP}", {PORT}))
block = bytes({{write_bytes}})
sent = 0
started = time.ticks_us()
while sent < {TOTAL}:{{loop}}
print(time.ticks_diff(time.ticks_us(), started), sent)
"""


@dataclass(frozen=True)
class Trial:
    """One run. `settings`: of the simulated surroundings, as in boards/emulated/config.py."""

    mbit_s: float
    """Emulated throughput."""
    runtime: str = "wiznet-hardwired-w5100s"
    spi_mhz: int = 20
    write_bytes: int = 2048
    peripheral_mhz: int = 0
    address: str = f'nic.ifconfig(("192.168.50.77", "255.255.255.0", "{PC_IP}", "{PC_IP}"))'
    loop: str = WHOLE
    settings: dict[str, Any] = field(default_factory=dict)


LWIP: dict[str, Any] = {"runtime": "micropython-1.26.0", "address": ""}
AT_125: dict[str, Any] = {**LWIP, "peripheral_mhz": 125}
PUBLISHED = {"chip-20": 10.5, "chip-10": 6.6, "lwip-20": 5.5, "lwip-10": 3.7}
TRIALS = {
    "chip-20": Trial(10.575),
    "chip-10": Trial(6.46, spi_mhz=10),
    "lwip-20": Trial(5.343, **AT_125),
    "lwip-10": Trial(3.765, spi_mhz=10, **AT_125),
    "lwip-20-peripherals-48": Trial(4.576, **LWIP),
    "lwip-10-peripherals-48": Trial(3.491, spi_mhz=10, **LWIP),
    "lwip-20-peripherals-48-copied-4096": Trial(5.043, write_bytes=4096, loop=COPIED, **LWIP),
    "chip-writes-1024": Trial(9.717, write_bytes=1024),
    "chip-writes-4096": Trial(10.575, write_bytes=4096),
    "chip-copied": Trial(9.006, loop=COPIED),
    "chip-copied-4096": Trial(8.137, write_bytes=4096, loop=COPIED),
    "chip-dhcp": Trial(10.578, address='nic.ifconfig("dhcp")'),
    "chip-turnaround-0": Trial(10.575, settings={"turnaround_us": 0}),
    "chip-pc-100": Trial(9.861, settings={"stack_delay_us": 100}),
    "chip-pc-500": Trial(8.049, settings={"stack_delay_us": 500}),
    "chip-ack-200": Trial(10.575, settings={"delayed_ack_us": 200_000}),
    "chip-slow-ack": Trial(10.575, settings={"quick_ack": False}),
    "chip-answer-260": Trial(10.575, settings={"tcp_answer_us": 260}),
    "chip-w5500": Trial(10.727, runtime="wiznet-hardwired"),
    "lwip-writes-1024": Trial(4.963, write_bytes=1024, **AT_125),
    "lwip-writes-4096": Trial(6.139, write_bytes=4096, **AT_125),
    "lwip-pc-500": Trial(5.41, settings={"stack_delay_us": 500}, **AT_125),
    "lwip-slow-ack": Trial(5.706, settings={"quick_ack": False}, **AT_125),
    "lwip-1.28.0": Trial(5.413, **{**AT_125, "runtime": "micropython-1.28.0"}),
}


@pytest.mark.parametrize("name", TRIALS)
def test_each_condition_has_its_throughput(image: Image, name: str) -> None:
    trial = TRIALS[name]
    firmware = image(trial.runtime)
    board = Board(catalogue.load().get(trial.runtime).board, **trial.settings)
    board.flash(firmware)
    board.listen(PORT)
    program = SENDS.format(
        spi_hz=trial.spi_mhz * 1_000_000,
        peripheral_hz=trial.peripheral_mhz * 1_000_000,
        intn=", Pin(21)" if "micropython" in trial.runtime else "",
        address=trial.address,
        write_bytes=trial.write_bytes,
        loop=trial.loop,
    )
    took_us, sent = map(int, board.execute(program).splitlines()[-1].split())
    mbit_s = sent * 8 / took_us
    assert round(mbit_s, 3) == trial.mbit_s
    assert mbit_s == pytest.approx(PUBLISHED.get(name, mbit_s), rel=0.05)
