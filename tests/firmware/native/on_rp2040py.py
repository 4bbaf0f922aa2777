"""Runs the built native firmware on `rp2040py`, from the bootrom's reset: a second opinion, and a slow one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from rp2040py.device.bootrom import BOOTROM_B1
from rp2040py.execute_batch import execute_batch
from rp2040py.gpio_pin import GPIOPinState
from rp2040py.rp2040 import RP2040
from rp2040py.simulator import Simulator
from rp2040py.utils.logging import ConsoleLogger, LogLevel

from portbench.firmware.native_config import NativeConfig
from tests.firmware.native.emulated import LED, Outcome, PingPongServer, flash
from tests.firmware.native.w5500_double import CSN, INTN, RSTN, W5500Double

USB_BOOT_MAGIC: Final = 0xB007C0D3
"""Value that the bootrom leaves in WATCHDOG_SCRATCH4 on the way to another address (datasheet 2.8.1.1)."""

HOST_TIMEOUT_S: Final = 60
"""Limit of processor time, so that other programs do not count."""


class _Pins:
    """The chip at the pins of `rp2040py`."""

    def __init__(self, mcu: RP2040, chip: W5500Double) -> None:
        self.mcu = mcu
        self.chip = chip
        chip.host = self
        self._selected = False
        mcu.spi[0].on_transmit = self._transmit
        mcu.gpio[CSN].add_listener(self._csn)
        mcu.gpio[RSTN].add_listener(self._rstn)
        self.drive_intn(False)

    @property
    def now_ns(self) -> float:
        return float(self.mcu.clock.nanos)

    def after(self, nanoseconds: float, action: Callable[[], None]) -> None:
        self.mcu.clock.create_alarm(action).schedule(nanoseconds)

    def drive_intn(self, low: bool) -> None:
        self.mcu.gpio[INTN].set_input_value(not low)

    def _rstn(self, state: GPIOPinState, _old: GPIOPinState) -> None:
        if state == GPIOPinState.HIGH:
            self.chip.release()
        else:
            self.chip.reset()

    def _csn(self, state: GPIOPinState, _old: GPIOPinState) -> None:
        self._selected = state == GPIOPinState.LOW
        if not self._selected:
            self.chip.end_frame()

    def _transmit(self, mosi: int) -> None:
        miso = 0xFF
        if self._selected:
            miso = self.chip.miso
            self.chip.mosi(mosi)
        else:
            self.chip.problems.append("SPI byte without chip select")
        self.mcu.spi[0].complete_transmit(miso)


def run(server: PingPongServer, config: NativeConfig, *, scratch: dict[int, int] | None = None) -> Outcome:
    """Boot the image and run it until it asks for a restart, as its last act is.

    `scratch` presets the watchdog's registers, as if it had restarted the chip.
    """
    mcu = RP2040()
    simulator = Simulator(rp2040=mcu)
    mcu.logger = ConsoleLogger(LogLevel.ERROR)
    mcu.load_bootrom(BOOTROM_B1)
    content = flash(config)
    mcu.flash[: len(content)] = content
    chip = W5500Double(server)
    _Pins(mcu, chip)
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
    in_boot_loader = mcu.watchdog.scratch_data[4] == USB_BOOT_MAGIC
    return Outcome(server, chip, led_on_us, in_boot_loader, mcu.clock.nanos / 1000)
