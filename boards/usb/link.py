"""The things that all steps on one board share: its place, its power, its log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from portbench.boards.definition import BoardDefinition
from portbench.boards.timing import Deadline
from portbench.boards.usb.bus import UsbDevice, is_bootloader
from portbench.boards.usb.port import open_port
from portbench.boards.usb.repl import Repl
from portbench.boards.usb.selection import Target

LOG = logging.getLogger("portbench.usb")


class Power(Protocol):
    """Control of the board's power and BOOTSEL button."""

    def cycle(self, deadline: Deadline, *, bootsel: bool = False, measured: bool = False) -> None:
        """Power off and on. `measured`: for a run whose times count."""
        ...


@dataclass
class Link:
    """`watch` is called while waiting and may raise what it knows of the board. `log` gets one line per step.

    `ask_bootsel` is called about once a second with the seconds left, while a person is to press BOOTSEL.
    """

    definition: BoardDefinition
    name: str
    target: Target
    power: Power | None = None
    watch: Callable[[], None] | None = None
    ask_bootsel: Callable[[float], None] | None = None
    poll_s: float = 0.1
    log: Callable[[str], None] = field(default=LOG.info)
    image_has_usb: bool = False
    """True where the last flashed image shows up on USB."""

    def device(self) -> UsbDevice | None:
        if self.watch is not None:
            self.watch()
        return self.target.find()

    def wait_device(
        self, wanted: Callable[[UsbDevice], bool], deadline: Deadline, waiting_for: str, after: UsbDevice | None = None
    ) -> UsbDevice:
        """The board once it is as `wanted`; `after`: and has enumerated anew since it was that."""

        def look() -> UsbDevice | None:
            device = self.device()
            if device is None or not wanted(device):
                return None
            if after is not None and device.enumeration is not None and device.enumeration == after.enumeration:
                return None
            return device

        return deadline.poll(look, self.poll_s, waiting_for)

    def wait_port(self, deadline: Deadline, after: UsbDevice | None = None) -> UsbDevice:
        return self.wait_device(
            lambda device: device.port is not None and not is_bootloader(device, self.definition),
            deadline,
            f"{self.name} to show its serial port",
            after,
        )

    def open_repl(self, deadline: Deadline, after: UsbDevice | None = None, *, keep_input: bool = False) -> Repl:
        """A session on the board's port, once it has one."""
        device = self.wait_port(deadline, after)
        assert device.port is not None
        port = open_port(device.port, self.name, deadline, provider_pid=device.provider_pid, keep_input=keep_input)
        return Repl(port, self.name, self.watch)
