"""Exceptions of the RP2040 by their names in the datasheet."""

from __future__ import annotations

_EXCEPTIONS = {2: "NMI", 3: "HardFault", 11: "SVCall", 14: "PendSV", 15: "SysTick"}
_IRQS = (
    *("TIMER_IRQ_0", "TIMER_IRQ_1", "TIMER_IRQ_2", "TIMER_IRQ_3", "PWM_IRQ_WRAP", "USBCTRL_IRQ", "XIP_IRQ"),
    *("PIO0_IRQ_0", "PIO0_IRQ_1", "PIO1_IRQ_0", "PIO1_IRQ_1", "DMA_IRQ_0", "DMA_IRQ_1", "IO_IRQ_BANK0"),
    *("IO_IRQ_QSPI", "SIO_IRQ_PROC0", "SIO_IRQ_PROC1", "CLOCKS_IRQ", "SPI0_IRQ", "SPI1_IRQ", "UART0_IRQ"),
    *("UART1_IRQ", "ADC_IRQ_FIFO", "I2C0_IRQ", "I2C1_IRQ", "RTC_IRQ"),
)
"""RP2040 datasheet 2.3.2, by IRQ number."""


def exception_name(number: int) -> str:
    """Name of an exception by its number in xPSR: `SysTick`, `USBCTRL_IRQ`."""
    irq = number - 16
    if 0 <= irq < len(_IRQS):
        return _IRQS[irq]
    return _EXCEPTIONS.get(number, f"exception {number}")
