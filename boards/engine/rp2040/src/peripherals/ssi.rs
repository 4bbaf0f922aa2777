//! SSI, the synchronous serial interface to the QSPI flash (datasheet 4.10).

use super::{Write, unmodelled};
use crate::memory::Memory;
use crate::sys::Sys;

#[derive(Debug, Default)]
pub struct Ssi {}

impl Ssi {
    pub fn read(&mut self, sys: &mut Sys, _mem: &mut Memory, offset: u32) -> u32 {
        unmodelled(sys, "SSI", offset, None);
        0
    }

    pub fn write(&mut self, sys: &mut Sys, _mem: &mut Memory, offset: u32, write: Write) {
        unmodelled(sys, "SSI", offset, Some(write.bits));
    }

    /// `EventId::Ssi` is due.
    pub fn event(&mut self, _sys: &mut Sys, _mem: &mut Memory) {}

    /// Level of the flash's chip select changed by IO_QSPI's override of the SS pin (`None`: the SSI drives it).
    pub fn set_ss_override(&mut self, _sys: &mut Sys, _mem: &mut Memory, _level: Option<bool>) {}

    pub fn reset(&mut self, sys: &mut Sys, mem: &mut Memory) {
        let _ = (sys, mem);
        *self = Self::default();
    }
}
