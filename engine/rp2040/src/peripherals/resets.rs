//! RESETS: controls the peripherals' resets (datasheet 2.14).

use super::{Peripheral, Write};
use crate::sys::Sys;

/// Bits of RESETS.RESET.
pub mod bit {
    /// The block is not held by RESETS.
    pub const NONE: u32 = 0;
    pub const ADC: u32 = 1 << 0;
    pub const BUSCTRL: u32 = 1 << 1;
    pub const DMA: u32 = 1 << 2;
    pub const I2C0: u32 = 1 << 3;
    pub const I2C1: u32 = 1 << 4;
    pub const IO_BANK0: u32 = 1 << 5;
    pub const IO_QSPI: u32 = 1 << 6;
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

#[derive(Debug)]
pub struct Resets {
    reset: u32,
    wdsel: u32,
}

impl Default for Resets {
    /// Returns the state after power-on: everything is in reset until the boot ROM and the program release it.
    fn default() -> Self {
        Self { reset: bit::ALL, wdsel: 0 }
    }
}

impl Resets {
    /// Handles a watchdog reset that leaves RESETS out of reset: the peripherals in WDSEL enter reset.
    pub fn watchdog_reset(&mut self, sys: &mut Sys) {
        self.hold(sys, self.reset | self.wdsel);
    }

    fn hold(&mut self, sys: &mut Sys, reset: u32) {
        self.reset = reset & bit::ALL;
        sys.entering_reset |= self.reset & !sys.held_in_reset;
        sys.held_in_reset = self.reset;
    }
}

impl Peripheral for Resets {
    fn name(&self) -> &'static str {
        "RESETS"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x0 => self.reset,
            0x4 => self.wdsel,
            // Peripherals leave reset at once (on the chip within a few cycles of their clock).
            0x8 => !self.reset & bit::ALL,
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x0 => self.hold(sys, write.apply(self.reset)),
            0x4 => self.wdsel = write.apply_masked(self.wdsel, bit::ALL),
            _ => {}
        }
    }

    /// Puts every peripheral into reset, as after power-on.
    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::default();
        self.hold(sys, bit::ALL);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Alias;
    use super::*;

    #[test]
    fn blocks_enter_and_leave_reset() {
        let mut sys = crate::wires::sys(12_000_000);
        let mut resets = Resets::default();
        resets.reset(&mut sys);
        assert_eq!((sys.held_in_reset, sys.entering_reset), (bit::ALL, bit::ALL));
        assert_eq!((resets.read(&mut sys, 0), resets.read(&mut sys, 4), resets.read(&mut sys, 8)), (0x01ff_ffff, 0, 0));
        sys.entering_reset = 0;
        resets.write(&mut sys, 0, Write { bits: bit::TIMER | bit::UART0, alias: Alias::Clear });
        assert_eq!((resets.read(&mut sys, 8), sys.entering_reset), (bit::TIMER | bit::UART0, 0));
        resets.write(&mut sys, 0, Write { bits: bit::UART0, alias: Alias::Set });
        assert_eq!((sys.held_in_reset, sys.entering_reset), (bit::ALL & !bit::TIMER, bit::UART0));
        sys.entering_reset = 0;
        resets.write(&mut sys, 4, Write::normal(u32::MAX));
        assert_eq!(resets.read(&mut sys, 4), bit::ALL);
        resets.watchdog_reset(&mut sys);
        assert_eq!((resets.read(&mut sys, 0), sys.entering_reset), (bit::ALL, bit::TIMER));
    }
}
