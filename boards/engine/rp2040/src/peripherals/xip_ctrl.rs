//! XIP_CTRL: cache control, streaming, and the cache used as SRAM (datasheet 2.6.3).

use super::{Write, unmodelled};
use crate::memory::Memory;
use crate::sys::Sys;

#[derive(Debug, Default)]
pub struct XipCtrl {}

impl XipCtrl {
    pub fn read(&mut self, sys: &mut Sys, _mem: &mut Memory, offset: u32) -> u32 {
        unmodelled(sys, "XIP_CTRL", offset, None);
        0
    }

    pub fn write(&mut self, sys: &mut Sys, _mem: &mut Memory, offset: u32, write: Write) {
        unmodelled(sys, "XIP_CTRL", offset, Some(write.bits));
    }

    /// STREAM_FIFO through its low-latency AHB alias at 0x5040_0000.
    pub fn stream_read(&mut self, _sys: &mut Sys) -> u32 {
        0
    }

    pub fn sram_read(&mut self, _mem: &mut Memory, _offset: u32) -> u32 {
        0
    }

    pub fn sram_write(&mut self, _mem: &mut Memory, _offset: u32, _value: u32, _size: u32) {}

    pub fn reset(&mut self, _sys: &mut Sys) {
        *self = Self::default();
    }
}
