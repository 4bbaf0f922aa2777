"""Published throughput of hardware TCP and of lwIP, and how it depends on each condition that was not published.

A loop sends whole buffers at MicroPython's prompt. `pytest tests/workloads/bulk/test_published.py -k NAME` measures one
line of the tables in workloads/bulk/README.md.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from portbench.firmware import catalogue
from portbench.runner.silicon.sends import Sends, mbit_s
from tests.conftest import Image

pytestmark = [pytest.mark.engine, pytest.mark.slow]
COPIED = """
    rest = block
    while rest:
        rest = rest[sock.send(rest):]
    sent += len(block)"""


@dataclass(frozen=True)
class Trial:
    """One run. `settings`: of the simulated surroundings, as in boards/emulated/config.py."""

    mbit_s: float
    """Emulated throughput."""
    runtime: str = "wiznet-hardwired-w5100s"
    sends: Sends = field(default_factory=Sends)
    settings: dict[str, Any] = field(default_factory=dict)


LWIP = "micropython-1.26.0"
PUBLISHED = {"chip-20": 10.5, "chip-10": 6.6, "lwip-20": 5.5, "lwip-10": 3.7}
TRIALS = {
    "chip-20": Trial(10.575),
    "chip-10": Trial(6.46, sends=Sends(spi_mhz=10)),
    "lwip-20": Trial(5.343, LWIP, Sends(peripheral_mhz=125)),
    "lwip-10": Trial(3.765, LWIP, Sends(spi_mhz=10, peripheral_mhz=125)),
    "lwip-20-peripherals-48": Trial(4.576, LWIP),
    "lwip-10-peripherals-48": Trial(3.491, LWIP, Sends(spi_mhz=10)),
    "lwip-20-peripherals-48-copied-4096": Trial(5.043, LWIP, Sends(write_bytes=4096, loop=COPIED)),
    "chip-writes-1024": Trial(9.717, sends=Sends(write_bytes=1024)),
    "chip-writes-4096": Trial(10.575, sends=Sends(write_bytes=4096)),
    "chip-copied": Trial(9.006, sends=Sends(loop=COPIED)),
    "chip-copied-4096": Trial(8.137, sends=Sends(write_bytes=4096, loop=COPIED)),
    "chip-dhcp": Trial(10.578, sends=Sends(address='nic.ifconfig("dhcp")')),
    "chip-turnaround-0": Trial(10.575, settings={"turnaround_us": 0}),
    "chip-pc-100": Trial(9.861, settings={"stack_delay_us": 100}),
    "chip-pc-500": Trial(8.049, settings={"stack_delay_us": 500}),
    "chip-ack-200": Trial(10.575, settings={"delayed_ack_us": 200_000}),
    "chip-slow-ack": Trial(10.575, settings={"quick_ack": False}),
    "chip-answer-260": Trial(10.575, settings={"tcp_answer_us": 260}),
    "chip-w5500": Trial(10.727, "wiznet-hardwired"),
    "lwip-writes-1024": Trial(4.963, LWIP, Sends(write_bytes=1024, peripheral_mhz=125)),
    "lwip-writes-4096": Trial(6.139, LWIP, Sends(write_bytes=4096, peripheral_mhz=125)),
    "lwip-pc-500": Trial(5.41, LWIP, Sends(peripheral_mhz=125), settings={"stack_delay_us": 500}),
    "lwip-slow-ack": Trial(5.706, LWIP, Sends(peripheral_mhz=125), settings={"quick_ack": False}),
    "lwip-1.28.0": Trial(5.413, "micropython-1.28.0", Sends(peripheral_mhz=125)),
}


@pytest.mark.parametrize("name", TRIALS)
def test_each_condition_has_its_throughput(image: Image, name: str) -> None:
    trial = TRIALS[name]
    found = mbit_s(catalogue.load().get(trial.runtime), image(trial.runtime), trial.sends, **trial.settings)
    assert round(found, 3) == trial.mbit_s
    assert found == pytest.approx(PUBLISHED.get(name, found), rel=0.05)
