//! PIO: two blocks of four programmable state machines (datasheet chapter 3).

use super::{Peripheral, Write, unmodelled};
use crate::sys::Sys;

/// Register offsets (datasheet 3.7); those of the state machines follow one another.
mod offset {
    pub const CTRL: u32 = 0x000;
    pub const FSTAT: u32 = 0x004;
    pub const DBG_CFGINFO: u32 = 0x044;
    pub const SM0_CLKDIV: u32 = 0x0c8;
    pub const INTR: u32 = 0x128;
}

#[derive(Debug)]
pub struct Pio {
    index: usize,
}

impl Pio {
    pub fn new(index: usize) -> Self {
        Self { index }
    }

    /// This block's event is due.
    pub fn event(&mut self, _sys: &mut Sys) {}

    /// clk_sys changed its frequency.
    pub fn clocks_changed(&mut self, _sys: &mut Sys) {}

    /// Levels at the input buffers changed (`sys.pins.input`).
    pub fn input_changed(&mut self, _sys: &mut Sys) {}
}

impl Peripheral for Pio {
    fn name(&self) -> &'static str {
        ["PIO0", "PIO1"][self.index]
    }

    fn read(&mut self, _sys: &mut Sys, register: u32) -> u32 {
        match register {
            offset::CTRL => 0,
            offset::FSTAT => 0x0f00_0f00,
            // 32 instructions, 4 state machines, 4 words per FIFO.
            offset::DBG_CFGINFO => 0x0020_0404,
            offset::SM0_CLKDIV..offset::INTR => match (register - offset::SM0_CLKDIV) % 0x18 {
                0x00 => 0x0001_0000,
                0x04 => 0x0001_f000,
                0x08 => 0x000c_0000,
                0x14 => 0x1400_0000,
                _ => 0,
            },
            // Every TX FIFO has room.
            offset::INTR => 0x0000_00f0,
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, register: u32, write: Write) {
        unmodelled(sys, self.name(), register, Some(write.bits));
    }

    fn reset(&mut self, _sys: &mut Sys) {
        *self = Self::new(self.index);
    }
}
