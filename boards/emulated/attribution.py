"""Attribution of an emulated run's time: the engine's recording, cut at the intervals that the client timed.

The client tells how long each interval took; the engine finds the two readings of the board's timer that are so far
apart. The PC knows when its own intervals were. The result has the form of `results.attribution.Attribution`, and
`flash_lines` beside it: how often each line of flash was missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from portbench.workloads import Session, Timed

if TYPE_CHECKING:
    from portbench_engine import Machine

_PAGE_BYTES: Final = 4096
_EXCEPTIONS = {2: "NMI", 3: "HardFault", 11: "SVCall", 14: "PendSV", 15: "SysTick"}
_TRAPS: Final = 0x100
"""Beginning of the traps of RISC-V cores, by the code in MCAUSE."""
_IRQS = {
    "RP2040": (
        *("TIMER_IRQ_0", "TIMER_IRQ_1", "TIMER_IRQ_2", "TIMER_IRQ_3", "PWM_IRQ_WRAP", "USBCTRL_IRQ", "XIP_IRQ"),
        *("PIO0_IRQ_0", "PIO0_IRQ_1", "PIO1_IRQ_0", "PIO1_IRQ_1", "DMA_IRQ_0", "DMA_IRQ_1", "IO_IRQ_BANK0"),
        *("IO_IRQ_QSPI", "SIO_IRQ_PROC0", "SIO_IRQ_PROC1", "CLOCKS_IRQ", "SPI0_IRQ", "SPI1_IRQ", "UART0_IRQ"),
        *("UART1_IRQ", "ADC_IRQ_FIFO", "I2C0_IRQ", "I2C1_IRQ", "RTC_IRQ"),
    ),
    "RP2350": (
        *("TIMER0_IRQ_0", "TIMER0_IRQ_1", "TIMER0_IRQ_2", "TIMER0_IRQ_3"),
        *("TIMER1_IRQ_0", "TIMER1_IRQ_1", "TIMER1_IRQ_2", "TIMER1_IRQ_3"),
        *("PWM_IRQ_WRAP_0", "PWM_IRQ_WRAP_1", "DMA_IRQ_0", "DMA_IRQ_1", "DMA_IRQ_2", "DMA_IRQ_3", "USBCTRL_IRQ"),
        *("PIO0_IRQ_0", "PIO0_IRQ_1", "PIO1_IRQ_0", "PIO1_IRQ_1", "PIO2_IRQ_0", "PIO2_IRQ_1", "IO_IRQ_BANK0"),
        *("IO_IRQ_BANK0_NS", "IO_IRQ_QSPI", "IO_IRQ_QSPI_NS", "SIO_IRQ_FIFO", "SIO_IRQ_BELL", "SIO_IRQ_FIFO_NS"),
        *("SIO_IRQ_BELL_NS", "SIO_IRQ_MTIMECMP", "CLOCKS_IRQ", "SPI0_IRQ", "SPI1_IRQ", "UART0_IRQ", "UART1_IRQ"),
        *("ADC_IRQ_FIFO", "I2C0_IRQ", "I2C1_IRQ", "OTP_IRQ", "TRNG_IRQ", "PROC0_IRQ_CTI", "PROC1_IRQ_CTI"),
        *("PLL_SYS_IRQ", "PLL_USB_IRQ", "POWMAN_IRQ_POW", "POWMAN_IRQ_TIMER"),
        *(f"SPAREIRQ_IRQ_{number}" for number in range(6)),
    ),
}
"""RP2040 datasheet 2.3.2 and RP2350 datasheet 3.2, by IRQ number."""


def exception_name(number: int, mcu: str = "RP2040") -> str:
    """Return the name of an exception by its number in xPSR, as `SysTick` or `USBCTRL_IRQ`, or of a trap."""
    irq, names = number - 16, _IRQS["RP2350" if mcu.startswith("RP235") else mcu]
    if 0 <= irq < len(names):
        return names[irq]
    if number >= _TRAPS:
        return f"trap {number - _TRAPS}"
    return _EXCEPTIONS.get(number, f"exception {number}")


def attribution(
    machine: Machine, timed: Sequence[Timed], sessions: Sequence[Session], result: Mapping[str, Any], mcu: str
) -> dict[str, Any] | None:
    """Attribute the intervals `timed`; None where nothing was recorded, or no readings of the timer fit them."""
    windows = _windows(timed)
    spans_us = [] if windows else [round(each.duration_us) for each in timed]
    moments = [] if windows else _moments(timed, sessions)
    found = machine.attribution(spans_us, moments, _count(result, "ready_us"), _count(result, "link_us"), windows)
    if found is None or found["lost"] or found["spans"] is None:
        return None
    return _as_json(found, timed, machine.stats()["spi_hz"], mcu)


@dataclass(frozen=True)
class Moment:
    """A stretch of time and its cause, named as in `results.attribution.CAUSES`; `_run` has its misses and waits."""

    start_us: float
    end_us: float
    cause: str


@dataclass(frozen=True)
class SpentTime:
    """The causes of one window's time."""

    causes_ps: dict[str, int]
    """Adds up to the window, see `attribution`."""
    moments: tuple[Moment, ...]
    """In order and without a gap."""


def spent(machine: Machine, start_us: float, end_us: float) -> SpentTime | None:
    """Return the causes of a window of the recorded time; None where not all was recorded."""
    moments = machine.attribution_moments(start_us, end_us)
    found = machine.attribution([], [], None, None, [(start_us, end_us)])
    if moments is None or found is None or found["spans"] is None:
        return None
    causes = {name: column[0] for name, column in found["spans"]["causes_ps"].items() if column[0]}
    return SpentTime(causes, tuple(Moment(*moment) for moment in moments))


def _windows(timed: Sequence[Timed]) -> list[tuple[float, float]] | None:
    """Return the times of all intervals, where the PC timed them."""
    found = [(each.start_us, each.start_us + each.duration_us) for each in timed if each.start_us is not None]
    return found if found and len(found) == len(timed) else None


def _moments(timed: Sequence[Timed], sessions: Sequence[Session]) -> list[float]:
    """Return when the PC had each interval's exchange, where every interval has one."""
    received: list[float] = max((session.received_us for session in sessions), key=len, default=[])
    exchanges = [each.exchange for each in timed]
    if any(number is None or number >= len(received) for number in exchanges):
        return []
    return [received[number] for number in exchanges if number is not None]


def _count(result: Mapping[str, Any], name: str) -> int | None:
    value = result.get(name)
    return value if type(value) is int and value >= 0 else None


def _as_json(found: Mapping[str, Any], timed: Sequence[Timed], spi_hz: int | None, mcu: str) -> dict[str, Any]:
    stages = dict(found["stages"])
    names = stages.pop("names")
    return {
        "spans": {
            **_columns(found["spans"], mcu),
            "names": [each.name for each in timed],
            "reported_us": [each.duration_us for each in timed],
        },
        "stages": {**_columns(stages, mcu), "names": names, "reported_us": [None] * len(names)},
        "spi_hz": spi_hz,
        **{name: found[name] for name in ("clk_sys_hz", "flash_hz", "miss_cycles", "next_line_cycles")},
        "flash_pages": {"misses": _pages(found["misses"])},
        "flash_lines": [(address, count) for address, count in found["misses"]],
    }


def _pages(lines: Iterable[tuple[int, int]]) -> dict[str, int]:
    pages: Counter[int] = Counter()
    for address, count in lines:
        pages[address & ~(_PAGE_BYTES - 1)] += count
    return {f"0x{address:08x}": count for address, count in sorted(pages.items())}


def _columns(found: Mapping[str, Any], mcu: str) -> dict[str, Any]:
    columns = dict(found)
    taken = columns.pop("exceptions")
    return {**columns, "interrupts": {exception_name(number, mcu): column for number, column in taken}}
