"""Published throughput of hardware TCP: a loop sends whole buffers at MicroPython's raw prompt."""

from __future__ import annotations

import pytest

from portbench.boards import Deadline, board_definition
from portbench.boards.definition import PC_IP
from tests.conftest import NO_ENGINE, Image

pytest.importorskip("portbench._engine", reason=NO_ENGINE)

from portbench.boards.emulated.config import EmulatedConfig
from portbench.runner.checks.silicon.raw_prompt import RawPrompt
from portbench.server.simulated_pc import Part
from portbench.workloads import Conversation

pytestmark = pytest.mark.engine
BOARD = board_definition("W5100S_EVB_PICO")
PORT = 5000
SENDS = f"""
import network, socket, time
from machine import SPI, Pin
spi = SPI(0, {{spi_hz}}, mosi=Pin(19), miso=Pin(16), sck=Pin(18))
nic = network.WIZNET5K(spi, Pin(17), Pin(20))
nic.active(True)
time.sleep(2)
nic.ifconfig(("192.168.50.77", "255.255.255.0", "{PC_IP}", "{PC_IP}"))
sock = socket.socket()
sock.connect(("{PC_IP}", {PORT}))
block = bytes(2048)
sent = 0
started = time.ticks_us()
while sent < 64 * len(block):
    sent += sock.send(block)  # 0: the chip's buffer has no room for the block yet
assert sent == 64 * len(block)
print(time.ticks_diff(time.ticks_us(), started))
"""


class Sink(Conversation):
    def receive(self, data: bytes) -> bytes:
        return b""

    def eof(self) -> None:
        pass


@pytest.mark.parametrize(("spi_hz", "published_mbit_s"), [(20_000_000, 10.5), (10_000_000, 6.6)])
def test_the_chips_tcp_sends_as_fast_as_published(image: Image, spi_hz: int, published_mbit_s: float) -> None:
    deadline = Deadline(600, "the published throughput")
    prompt = RawPrompt(image("wiznet-hardwired-w5100s"), BOARD, deadline, pastes=False)
    prompt.repl.serve(PORT, EmulatedConfig().turnaround_us, Part(serve=Sink))
    took_us = int(prompt.execute(SENDS.format(spi_hz=spi_hz)).splitlines()[-1])
    assert 64 * 2048 * 8 / took_us == pytest.approx(published_mbit_s, rel=0.03)
