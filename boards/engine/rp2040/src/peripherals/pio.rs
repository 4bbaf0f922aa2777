//! PIO.

use super::{Peripheral, Write, unmodelled};
use crate::sys::Sys;

#[derive(Debug)]
pub struct Pio {
    index: usize,
}

impl Pio {
    pub fn new(index: usize) -> Self {
        Self { index }
    }
}

impl Pio {
    /// This block's event is due.
    pub fn event(&mut self, _sys: &mut Sys) {}
}

impl Pio {
    /// Levels at the input buffers changed (`sys.pins.input`).
    pub fn input_changed(&mut self, _sys: &mut Sys) {}
}

impl Peripheral for Pio {
    fn name(&self) -> &'static str {
        ["PIO0", "PIO1"][self.index]
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        unmodelled(sys, self.name(), offset, None);
        0
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        unmodelled(sys, self.name(), offset, Some(write.bits));
    }

    fn reset(&mut self, _sys: &mut Sys) {
        *self = Self::new(self.index);
    }
}
