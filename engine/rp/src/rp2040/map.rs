//! The table of RP2040's register blocks.

use crate::map::{DMA, PIO0, register_map};
use crate::rp2040::bus::Own;
use crate::rp2040::peripherals::resets::bit;
use crate::rp2040::wires::event;

pub(crate) const IO_BANK0: u32 = 0x4001_4000;
pub(crate) const SPI0: u32 = 0x4003_c000;
pub(crate) const SPI1: u32 = 0x4004_0000;
pub(crate) const TIMER: u32 = 0x4005_4000;

register_map! {
    Own, 0xffff_c000;
    0x4000_0000 blocks.sysinfo, SYSINFO, [], Any;
    0x4000_4000 own.syscfg, SYSCFG, [], Any;
    0x4000_8000 blocks.clocks, NONE, [CLOCKS], Any;
    0x4000_c000 blocks.resets, NONE, [], Any;
    0x4001_0000 blocks.psm, NONE, [], Any;
    IO_BANK0 blocks.io_bank0, IO_BANK0, [], Any;
    0x4001_8000 blocks.io_qspi, IO_QSPI, [], Any;
    0x4001_c000 blocks.pads_bank0, PADS_BANK0, [], Any;
    0x4002_0000 blocks.pads_qspi, PADS_QSPI, [], Any;
    0x4002_4000 blocks.xosc, NONE, [XOSC], Any;
    0x4002_8000 blocks.pll[0], PLL_SYS, [], Any;
    0x4002_c000 blocks.pll[1], PLL_USB, [], Any;
    0x4003_0000 own.busctrl, BUSCTRL, [], Any;
    0x4003_4000 blocks.uart[0], UART0, [UART0, world], Any;
    0x4003_8000 blocks.uart[1], UART1, [UART1, world], Any;
    SPI0 blocks.spi[0], SPI0, [SPI0, world], Any;
    SPI1 blocks.spi[1], SPI1, [SPI1, world], Any;
    0x4004_4000 blocks.i2c[0], I2C0, [I2C0, world], Any;
    0x4004_8000 blocks.i2c[1], I2C1, [I2C1, world], Any;
    0x4004_c000 blocks.adc, ADC, [ADC], Written;
    0x4005_0000 blocks.pwm, PWM, [PWM], Any;
    TIMER own.timer, TIMER, [TIMER], None;
    0x4005_8000 blocks.watchdog, NONE, [WATCHDOG], Any;
    0x4005_c000 own.rtc, RTC, [RTC], Any;
    0x4006_0000 blocks.rosc, NONE, [], Any;
    0x4006_4000 own.vreg_and_chip_reset, NONE, [], Any;
    0x4006_c000 blocks.tbman, TBMAN, [], Any;
    DMA blocks.dma, DMA, [DMA, bus], None;
    0x5011_0000 blocks.usb, USBCTRL, [USB], None;
    PIO0 blocks.pio[0], PIO0, [PIO0], Pio;
    0x5030_0000 blocks.pio[1], PIO1, [PIO1], Pio;
}
