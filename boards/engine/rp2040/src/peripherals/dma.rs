//! DMA.

use super::{Peripheral, Write, unmodelled};
use crate::sys::Sys;

#[derive(Debug, Default)]
pub struct Dma {}

impl Dma {
    /// DREQ lines in `sys.dreq_rose` rose.
    pub fn requests_changed(&mut self, sys: &mut Sys) {
        sys.dreq_rose = 0;
    }

    /// `EventId::Dma` is due: moves data over the bus.
    pub fn service(_bus: &mut crate::bus::Bus, _mem: &mut crate::memory::Memory) {}
}

impl Peripheral for Dma {
    fn name(&self) -> &'static str {
        "DMA"
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
