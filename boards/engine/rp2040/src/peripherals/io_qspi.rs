//! IO_QSPI.

use super::{Peripheral, Write, unmodelled};
use crate::sys::Sys;

#[derive(Debug, Default)]
pub struct IoQspi {
    /// GPIO_QSPI_SS_CTRL's output override changed.
    pub ss_dirty: bool,
}

impl IoQspi {
    /// Level that OUTOVER/SIO forces on the flash's chip select; `None`: the SSI drives it.
    pub fn ss_override(&self) -> Option<bool> {
        None
    }
}

impl Peripheral for IoQspi {
    fn name(&self) -> &'static str {
        "IO_QSPI"
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
