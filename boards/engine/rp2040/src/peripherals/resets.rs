//! RESETS.

use super::{Peripheral, Write, unmodelled};
use crate::sys::Sys;

/// Bits of RESETS.RESET.
pub mod bit {
    pub const ADC: u32 = 1 << 0;
    pub const BUSCTRL: u32 = 1 << 1;
    pub const DMA: u32 = 1 << 2;
    pub const I2C0: u32 = 1 << 3;
    pub const I2C1: u32 = 1 << 4;
    pub const IO_BANK0: u32 = 1 << 5;
    pub const IO_QSPI: u32 = 1 << 6;
    pub const JTAG: u32 = 1 << 7;
    pub const PADS_BANK0: u32 = 1 << 8;
    pub const PADS_QSPI: u32 = 1 << 9;
    pub const PIO0: u32 = 1 << 10;
    pub const PIO1: u32 = 1 << 11;
    pub const PLL_SYS: u32 = 1 << 12;
    pub const PLL_USB: u32 = 1 << 13;
    pub const PWM: u32 = 1 << 14;
    pub const RTC: u32 = 1 << 15;
    pub const SPI0: u32 = 1 << 16;
    pub const SPI1: u32 = 1 << 17;
    pub const SYSCFG: u32 = 1 << 18;
    pub const SYSINFO: u32 = 1 << 19;
    pub const TBMAN: u32 = 1 << 20;
    pub const TIMER: u32 = 1 << 21;
    pub const UART0: u32 = 1 << 22;
    pub const UART1: u32 = 1 << 23;
    pub const USBCTRL: u32 = 1 << 24;
    pub const ALL: u32 = 0x01ff_ffff;
}

/// Register block of each bit that the model resets.
pub const BLOCKS: [(u32, u32); 24] = [
    (0x4000_0000, bit::SYSINFO),
    (0x4000_4000, bit::SYSCFG),
    (0x4001_4000, bit::IO_BANK0),
    (0x4001_8000, bit::IO_QSPI),
    (0x4001_c000, bit::PADS_BANK0),
    (0x4002_0000, bit::PADS_QSPI),
    (0x4002_8000, bit::PLL_SYS),
    (0x4002_c000, bit::PLL_USB),
    (0x4003_0000, bit::BUSCTRL),
    (0x4003_4000, bit::UART0),
    (0x4003_8000, bit::UART1),
    (0x4003_c000, bit::SPI0),
    (0x4004_0000, bit::SPI1),
    (0x4004_4000, bit::I2C0),
    (0x4004_8000, bit::I2C1),
    (0x4004_c000, bit::ADC),
    (0x4005_0000, bit::PWM),
    (0x4005_4000, bit::TIMER),
    (0x4005_c000, bit::RTC),
    (0x4006_c000, bit::TBMAN),
    (0x5000_0000, bit::DMA),
    (0x5011_0000, bit::USBCTRL),
    (0x5020_0000, bit::PIO0),
    (0x5030_0000, bit::PIO1),
];

#[derive(Debug, Default)]
pub struct Resets {}

impl Peripheral for Resets {
    fn name(&self) -> &'static str {
        "RESETS"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        unmodelled(sys, self.name(), offset, None);
        0
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        unmodelled(sys, self.name(), offset, Some(write.bits));
    }

    fn reset(&mut self, _sys: &mut Sys) {
        *self = Self::default();
    }
}
