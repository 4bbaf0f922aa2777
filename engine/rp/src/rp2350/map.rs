//! The table of RP2350's register blocks.

use crate::map::{DMA, PIO0, register_map};
use crate::rp2350::bus::Own;
use crate::rp2350::peripherals::resets::bit;
use crate::rp2350::wires::event;

pub(crate) const IO_BANK0: u32 = 0x4002_8000;
pub(crate) const TIMER0: u32 = 0x400b_0000;
pub(crate) const TIMER1: u32 = 0x400b_8000;
pub(crate) const SHA256: u32 = 0x400f_8000;
pub(crate) const SPI0: u32 = 0x4008_0000;
pub(crate) const SPI1: u32 = 0x4008_8000;

// Registers are repeated for the atomic aliases; a block's place in the map is twice that.
register_map! {
    Own, 0xffff_8000;
    0x4000_0000 blocks.sysinfo, SYSINFO, [], Any;
    0x4000_8000 own.syscfg, SYSCFG, [], Any;
    0x4001_0000 blocks.clocks, NONE, [CLOCKS], Any;
    0x4001_8000 blocks.psm, NONE, [], Any;
    0x4002_0000 blocks.resets, NONE, [], Any;
    IO_BANK0 blocks.io_bank0, IO_BANK0, [], Any;
    0x4003_0000 blocks.io_qspi, IO_QSPI, [], Any;
    0x4003_8000 blocks.pads_bank0, PADS_BANK0, [], Any;
    0x4004_0000 blocks.pads_qspi, PADS_QSPI, [], Any;
    0x4004_8000 blocks.xosc, NONE, [XOSC], Any;
    0x4005_0000 blocks.pll[0], PLL_SYS, [], Any;
    0x4005_8000 blocks.pll[1], PLL_USB, [], Any;
    0x4006_0000 own.accessctrl, NONE, [], Any;
    0x4006_8000 own.busctrl, BUSCTRL, [], Any;
    0x4007_0000 blocks.uart[0], UART0, [UART0, world], Any;
    0x4007_8000 blocks.uart[1], UART1, [UART1, world], Any;
    SPI0 blocks.spi[0], SPI0, [SPI0, world], Any;
    SPI1 blocks.spi[1], SPI1, [SPI1, world], Any;
    0x4009_0000 blocks.i2c[0], I2C0, [I2C0, world], Any;
    0x4009_8000 blocks.i2c[1], I2C1, [I2C1, world], Any;
    0x400a_0000 blocks.adc, ADC, [ADC], Written;
    0x400a_8000 blocks.pwm, PWM, [PWM], Any;
    TIMER0 own.timer[0], TIMER0, [TIMER0], None;
    TIMER1 own.timer[1], TIMER1, [TIMER1], None;
    0x400c_0000 own.hstx, HSTX, [], None;
    0x400d_8000 blocks.watchdog, NONE, [WATCHDOG], Any;
    0x400e_0000 own.bootram, NONE, [], Any;
    0x400e_8000 blocks.rosc, NONE, [], Any;
    0x400f_0000 own.trng, TRNG, [TRNG], None;
    SHA256 own.sha256, SHA256, [SHA256], None;
    0x4010_0000 own.powman, NONE, [POWMAN], Any;
    0x4010_8000 own.ticks, NONE, [], Any;
    0x4012_0000 own.otp, NONE, [], Any;
    0x4015_8000 own.glitch_detector, NONE, [], Any;
    0x4016_0000 blocks.tbman, TBMAN, [], Any;
    DMA blocks.dma, DMA, [DMA, bus], None;
    0x5011_0000 blocks.usb, USBCTRL, [USB], None;
    PIO0 blocks.pio[0], PIO0, [PIO0], Pio;
    0x5030_0000 blocks.pio[1], PIO1, [PIO1], Pio;
    0x5040_0000 blocks.pio[2], PIO2, [PIO2], Pio;
}
