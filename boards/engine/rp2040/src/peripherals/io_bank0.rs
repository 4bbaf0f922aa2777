//! IO_BANK0.

use super::{Peripheral, Write, unmodelled};
use crate::sys::Sys;

#[derive(Debug, Default)]
pub struct IoBank0 {}

impl IoBank0 {
    /// Levels at the input buffers changed (`sys.pins.input`).
    pub fn input_changed(&mut self, _sys: &mut Sys) {}
}

impl Peripheral for IoBank0 {
    fn name(&self) -> &'static str {
        "IO_BANK0"
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
