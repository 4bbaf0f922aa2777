"""Published throughput of hardware TCP and of lwIP: a loop sends whole buffers at MicroPython's raw prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from portbench.boards import Deadline, board_definition
from portbench.boards.definition import PC_IP
from tests.conftest import NO_ENGINE, Image

pytest.importorskip("portbench_engine", reason=NO_ENGINE)

from portbench.boards.emulated.config import EmulatedConfig
from portbench.runner.checks.silicon.raw_prompt import RawPrompt
from portbench.server.simulated_pc import Part
from portbench.workloads import Conversation

pytestmark = pytest.mark.engine
PORT = 5000
TOTAL = 64 * 2048
SENDS = f"""
import machine, network, socket, time
from machine import SPI, Pin
if {{peripheral_hz}}:
    machine.freq(machine.freq(), {{peripheral_hz}})
spi = SPI(0, {{spi_hz}}, mosi=Pin(19), miso=Pin(16), sck=Pin(18))
nic = network.WIZNET5K(spi, Pin(17), Pin(20){{intn}})
nic.active(True)
time.sleep(2)
if {{static}}:
    nic.ifconfig(("192.168.50.77", "255.255.255.0", "{PC_IP}", "{PC_IP}"))
sock = socket.socket()
sock.connect(("{PC_IP}", {PORT}))
block = bytes({{write_bytes}})
sent = 0
started = time.ticks_us()
while sent < {TOTAL}:
    sent += sock.send(block)  # 0: the chip's buffer has no room for the block yet
assert sent >= {TOTAL}
print(time.ticks_diff(time.ticks_us(), started), sent)
"""


class Sink(Conversation):
    def receive(self, data: bytes) -> bytes:
        return b""

    def eof(self) -> None:
        pass


def sent_mbit_s(firmware: Path, board: str, **program: object) -> float:
    deadline = Deadline(600, "the published throughput")
    prompt = RawPrompt(firmware, board_definition(board), deadline, pastes=False)
    prompt.repl.serve(PORT, EmulatedConfig().turnaround_us, Part(serve=Sink))
    took_us, sent = map(int, prompt.execute(SENDS.format(**program)).splitlines()[-1].split())
    return sent * 8 / took_us


@pytest.mark.parametrize(("spi_hz", "published_mbit_s"), [(20_000_000, 10.5), (10_000_000, 6.6)])
def test_the_chips_tcp_sends_as_fast_as_published(image: Image, spi_hz: int, published_mbit_s: float) -> None:
    firmware = image("wiznet-hardwired-w5100s")
    settings = {"peripheral_hz": 0, "intn": "", "static": True, "write_bytes": 2048}
    ours = sent_mbit_s(firmware, "W5100S_EVB_PICO", spi_hz=spi_hz, **settings)
    assert ours == pytest.approx(published_mbit_s, rel=0.03)


@pytest.mark.parametrize(("spi_hz", "published_mbit_s"), [(20_000_000, 5.5), (10_000_000, 3.7)])
def test_lwip_sends_as_fast_as_published_with_the_published_firmwares_spi_clock(
    image: Image, spi_hz: int, published_mbit_s: float
) -> None:
    settings = {"peripheral_hz": 125_000_000, "intn": ", Pin(21)", "static": False, "write_bytes": 2048}
    ours = sent_mbit_s(image("micropython-1.26.0"), "W5500_EVB_PICO", spi_hz=spi_hz, **settings)
    assert ours == pytest.approx(published_mbit_s, rel=0.05)
