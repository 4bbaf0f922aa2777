//! UART.

use super::{Peripheral, Write, unmodelled};
use crate::sys::Sys;

#[derive(Debug)]
pub struct Uart {
    index: usize,
}

impl Uart {
    pub fn new(index: usize) -> Self {
        Self { index }
    }
}

impl Uart {
    /// This block's event is due.
    pub fn event(&mut self, _sys: &mut Sys, _world: &mut dyn crate::world::World) {}
}

impl Peripheral for Uart {
    fn name(&self) -> &'static str {
        ["UART0", "UART1"][self.index]
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
