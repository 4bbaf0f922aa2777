"""Detects a hung guest in simulated time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from portbench.firmware.uf2 import FLASH_BASE, SECTOR_SIZE

if TYPE_CHECKING:
    from portbench_engine import Machine

MOST_RESETS: Final = 20
_RESETS_US: Final = 10e6
_LOCKED_UP_US: Final = 9e6
"""The watchdog's longest time is 8.4 s (RP2040 datasheet 4.7): until then it may get a core out."""
FIRST_FRAME_US: Final = 8e6
"""The slowest runtime, CircuitPython on a file system that it has just made, is there after 4.2 s, or about 5 where
it has adafruit_httpserver to compile before."""
_NO_FRAME_US: Final = 15e6
"""Drivers ask their chip many times a second, or when it interrupts them. MicroPython that missed an interrupt waits
10 s, until its request for an address fails, and asks again."""
_OFF_BUS_US: Final = 10e6
"""CircuitPython's first boot, the slowest, takes 4.2 s to get to USB."""
_ENUMERATION_US: Final = 30e6
"""A PC tries for up to 80 s, if all its requests time out; CircuitPython 8.2 compiles its libraries for seconds."""
MOST_LINES: Final = 20
"""A program may fault for ever, and a watchdog start it again and again; its first faults say the most."""
_PC, _XPSR = 15, 16
_FAULT_EXCEPTIONS: Final = range(2, 8)
"""NMI, HardFault and the faults that ARMv8-M distinguishes."""


class Trouble(StrEnum):
    """A kind of trouble that looks like mere silence on the console."""

    HARD_FAULT = "hard fault"
    LOCK_UP = "lock-up"
    RESETS = "resets"
    ASLEEP = "asleep"
    STOPPED = "stopped"
    """The engine cannot go on: the guest uses a part that is not modelled."""


class Complaints:
    """Says each kind of trouble once since power-up."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._told: set[Trouble] = set()

    def powered_up(self) -> None:
        self._told.clear()

    def tell(self, kind: Trouble, text: str) -> None:
        if kind not in self._told:
            self._told.add(kind)
            self._say(text)


class CpuFaultLog:
    """Logs HardFaults and lock-ups of the cores, the first few since power-up; the first of a kind is a complaint.

    A fault whose handler returned to the program is the program's own way, as NuttX's system calls are: the log has the
    first of a kind, and it is the cause of nothing.
    """

    def __init__(self, log: Callable[[str], None], complaints: Complaints | None = None) -> None:
        self._log = log
        self._complaints = complaints
        self.powered_up()

    def powered_up(self) -> None:
        self._lines = 0
        self._first: dict[str, Any] | None = None
        self._held: dict[int, dict[str, Any]] = {}
        """The first of the faults that a core is still in, by core."""
        self._handled: set[tuple[int, str]] = set()

    @property
    def first(self) -> str | None:
        """The first fault, with its time since power-up."""
        first = self._first
        return None if first is None else f"at {first['t_us'] / 1e6:.3f} s: {first['text']}"

    @property
    def in_fault(self) -> bool:
        """True if core 0 is locked up or in a fault's handler. The end of a trap is unknown, so false then."""
        return 0 in self._held and not _is_trap(self._held[0])

    def look(self, machine: Machine, *, reset: bool = False) -> str | None:
        """Return where core 0 has locked up since the last look, and why. `reset`: the chip was reset just now."""
        reports, dropped = machine.cpu_faults()
        if (reports or self._held) and not reset:
            registers = machine.registers()
            handled = [each for each in (*self._held.values(), *reports) if _is_handled(each, registers)]
            for report in handled:
                kind = report["core"], report["cause"]
                if report in reports and kind not in self._handled:
                    self._handled.add(kind)
                    self._log(f"{_line(report)}; its handler returned (later ones are not shown)")
            reports = [each for each in reports if each not in handled]
            dropped = dropped if reports else 0
            self._held = {core: held for core, held in self._held.items() if held not in handled}
            self._first = None if self._first in handled else self._first
        self._held = {} if reset else {**{each["core"]: each for each in reversed(reports)}, **self._held}
        if reports and self._first is None:
            self._first = reports[0]
        for report in reports[: max(0, MOST_LINES - self._lines)]:
            self._log(_line(report))
        if self._complaints is not None:
            for report in reports:
                self._complaints.tell(Trouble.LOCK_UP if report["locked_up"] else Trouble.HARD_FAULT, report["text"])
        before, self._lines = self._lines, self._lines + len(reports) + dropped
        if before <= MOST_LINES < self._lines:
            self._log("further faults of the cores are not logged until power is cycled")
        return next((report["text"] for report in reports if report["locked_up"] and report["core"] == 0), None)


def _line(report: dict[str, Any]) -> str:
    return f"{report['t_us'] / 1e6:.6f} s {report['text']}"


def _is_trap(report: dict[str, Any]) -> bool:
    return " trap at " in report["text"]  # of a RISC-V core, whose registers do not show if its handler returned


def _is_handled(report: dict[str, Any], registers: list[list[int]]) -> bool:
    """Return whether the program goes on after the fault."""
    if report["locked_up"] or _is_trap(report):
        return False
    core = registers[report["core"]]
    return core[_XPSR] & 0x1FF not in _FAULT_EXCEPTIONS and core[_PC] != report["pc"]


class Erasure:
    """Sectors of the image that the program has erased. `image`: the bytes that were programmed, by address."""

    def __init__(self, image: Mapping[int, bytes]) -> None:
        self._image = image
        self._sectors: set[int] = set()
        self._first_us: float | None = None

    def look(self, flash: bytes, now_us: float | None = None) -> None:
        """Compare with `flash` as it is now. `now_us`: the time, where it is looked at again and again."""
        for address, data in self._image.items():
            start = address - FLASH_BASE
            if flash.startswith(data, start):
                continue
            for offset in range(0, len(data), SECTOR_SIZE):
                before, now = (each[at : at + SECTOR_SIZE] for each, at in ((data, offset), (flash, start + offset)))
                # Programming only clears bits: one that is set again was erased.
                if int.from_bytes(now[: len(before)]) & ~int.from_bytes(before):
                    self._first_us = self._first_us if self._sectors else now_us
                    self._sectors.add(address + offset)

    @property
    def told(self) -> str | None:
        """The erasure as one line; None: there was none."""
        if not self._sectors:
            return None
        size = len(self._sectors) * SECTOR_SIZE >> 10
        at = "" if self._first_us is None else f" at {self._first_us / 1e6:.1f} s"
        return f"erased {size} KiB of its image{at}, from 0x{min(self._sectors):08x} on"


class Liveness:
    """The guest's signs of life. Times are since power-up."""

    def __init__(self) -> None:
        self.powered_up()

    def powered_up(self) -> None:
        self._resets_us: deque[float] = deque(maxlen=MOST_RESETS + 1)
        self._last_reset = ""
        self.first_fault: str | None = None
        """The first fault of a core, with its time."""
        self.in_fault = False
        """Core 0 is locked up or in a fault's handler."""
        self._off_bus_since_us: float | None = 0.0
        self._locked_up: tuple[float, str] | None = None
        self._asleep: str | None = None

    def was_reset(self, now_us: float, how: str) -> None:
        """The chip was reset, by its watchdog, its debugger or itself."""
        self._resets_us.append(now_us)
        self._last_reset = how
        self._locked_up = self._asleep = None

    def printed(self) -> None:
        """The console printed, so the guest got that far."""
        self._resets_us.clear()

    def locked_up(self, now_us: float, text: str) -> None:
        """Core 0 locked up, as `text` says."""
        self._locked_up = self._locked_up or (now_us, text)

    def asleep(self, text: str) -> None:
        """The chip sleeps and nothing can wake it, as `text` says."""
        self._asleep = text

    def because(self, given_up: str | None) -> str | None:
        """Return the reason behind `given_up`, or core 0's lock-up; with the first fault, where one came before."""
        if given_up is None:
            return None
        if self._asleep is not None:
            return self._asleep
        if self._locked_up is not None:
            return self._after_fault(self._locked_up[1])
        return self._after_fault(given_up)

    def _after_fault(self, text: str) -> str:
        first = self.first_fault
        return text if first is None or first.endswith(text) else f"{text}; before that, {first}"

    def enumerated(self, now_us: float, configured: bool) -> None:
        """The PC sees the board on its USB, or not any more."""
        if configured:
            self._off_bus_since_us = None
        elif self._off_bus_since_us is None:
            self._off_bus_since_us = now_us

    def off_bus_us(self, now_us: float) -> float:
        """Return how long the PC has not seen the board."""
        return 0.0 if self._off_bus_since_us is None else now_us - self._off_bus_since_us

    def stuck(self, now_us: float) -> str | None:
        """Return why the guest is stuck for good, as one line; None where no such reason is known."""
        if len(self._resets_us) > MOST_RESETS and (took_us := self._resets_us[-1] - self._resets_us[0]) <= _RESETS_US:
            return (
                f"{len(self._resets_us)} resets in {took_us / 1e6:.1f} s of simulated time and nothing on the console;"
                f" the last: {self._last_reset}"
            )
        if self._asleep is not None:
            return self._asleep
        if self._locked_up is not None and now_us - self._locked_up[0] > _LOCKED_UP_US:
            return self._after_fault(self._locked_up[1])
        return None


def off_bus(off_bus_us: float, usb: Mapping[str, Any]) -> str | None:
    """Return why an image will not show up on USB, as one line; None while it still may. `usb`: `Machine.usb`."""
    tries = usb["attached"] and usb["port"] != "Failed"
    if off_bus_us <= (_ENUMERATION_US if tries else _OFF_BUS_US):
        return None
    for_s = f"{off_bus_us / 1e6:.0f} s of simulated time"
    if usb["attached"]:
        return (
            f"the image attached to USB, but the PC could not enumerate it in {for_s}"
            f" ({usb['trouble'] or 'no answer yet'}); it does not serve USB, or not in time"
        )
    return (
        f"the image has run for {for_s} without attaching to USB; it is not for this board, stops at"
        " its start, or has its console on a UART, which portbench flash shows"
    )


def no_frame(now_us: float, chip: str, chip_selects: int, limit_us: float = FIRST_FRAME_US) -> str | None:
    """Return why a networked client will never get an address, as far as its chip shows."""
    if chip_selects or now_us < limit_us:
        return None
    return (
        f"no SPI frame for the {chip} in {limit_us / 1e6:g} s of simulated time: the image drives other pins or"
        " another chip, or its client does not run"
    )


class ChipUse:
    """Detects a client that has stopped using its Ethernet chip; each look gives its `chip_selects` so far."""

    def __init__(self, now_us: float, chip_selects: int) -> None:
        self._since_us = now_us
        self._chip_selects = chip_selects

    def begin_again(self, now_us: float) -> None:
        """Count the time without a use from now on."""
        self._since_us = now_us

    def ended(self, now_us: float, chip: str, chip_selects: int, pause_us: float) -> str | None:
        """Return that it does not any more, as one line. `pause_us`: for how long the PC may leave it alone."""
        if chip_selects != self._chip_selects:
            self._since_us, self._chip_selects = now_us, chip_selects
        limit_us = _NO_FRAME_US + pause_us
        if now_us - self._since_us < limit_us:
            return None
        return f"no SPI frame for the {chip} for {limit_us / 1e6:g} s of simulated time: what runs on the board hangs"
