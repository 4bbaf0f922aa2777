//! RESETS: controls the peripherals' resets (RP2040 datasheet 2.14).

use chip::{Peripheral, Sys, Write};
use sim::Snapshot;

/// The reset controller of the peripherals.
#[derive(Debug, Snapshot)]
pub struct Resets {
    /// Bits of all peripherals.
    all: u32,
    reset: u32,
    wdsel: u32,
}

impl Resets {
    /// Returns the state after power-on of a chip with the peripherals `all`: everything is in reset until the boot ROM
    /// and the program release it.
    pub fn new(all: u32) -> Self {
        Self { all, reset: all, wdsel: 0 }
    }

    /// Handles a watchdog reset that leaves RESETS out of reset: the peripherals in WDSEL enter reset.
    pub fn watchdog_reset(&mut self, sys: &mut Sys) {
        self.hold(sys, self.reset | self.wdsel);
    }

    fn hold(&mut self, sys: &mut Sys, reset: u32) {
        self.reset = reset & self.all;
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
            0x8 => !self.reset & self.all,
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x0 => self.hold(sys, write.apply(self.reset)),
            0x4 => self.wdsel = write.apply_masked(self.wdsel, self.all),
            _ => {}
        }
    }

    /// Puts every peripheral into reset, as after power-on.
    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.all);
        self.hold(sys, self.all);
    }
}
