//! USBCTRL.

use super::{Peripheral, Write, unmodelled};
use crate::sys::Sys;

#[derive(Debug, Default)]
pub struct Usb {}

impl Usb {
    /// This block's event is due.
    pub fn event(&mut self, _sys: &mut Sys) {}
}

impl Usb {
    pub fn dpram_read(&mut self, _offset: u32) -> u32 {
        0
    }

    /// `size` is 1, 2 or 4 bytes.
    pub fn dpram_write(&mut self, _sys: &mut Sys, _offset: u32, _value: u32, _size: u32) {}
}

impl Peripheral for Usb {
    fn name(&self) -> &'static str {
        "USBCTRL"
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
