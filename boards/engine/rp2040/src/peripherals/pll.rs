//! PLL.

use super::{Peripheral, Write, unmodelled};
use crate::sys::Sys;

#[derive(Debug)]
pub struct Pll {
    index: usize,
}

impl Pll {
    pub fn new(index: usize) -> Self {
        Self { index }
    }
}

impl Peripheral for Pll {
    fn name(&self) -> &'static str {
        ["PLL_SYS", "PLL_USB"][self.index]
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
