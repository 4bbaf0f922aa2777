//! I2C.

use super::{Peripheral, Write, unmodelled};
use crate::sys::Sys;

#[derive(Debug)]
pub struct I2c {
    index: usize,
}

impl I2c {
    pub fn new(index: usize) -> Self {
        Self { index }
    }
}

impl I2c {
    /// This block's event is due.
    pub fn event(&mut self, _sys: &mut Sys) {}
}

impl Peripheral for I2c {
    fn name(&self) -> &'static str {
        ["I2C0", "I2C1"][self.index]
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
