//! SYSINFO.

use super::{Peripheral, Write, unmodelled};
use crate::sys::Sys;

#[derive(Debug, Default)]
pub struct Sysinfo {}

impl Peripheral for Sysinfo {
    fn name(&self) -> &'static str {
        "SYSINFO"
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
