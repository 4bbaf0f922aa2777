//! The peripherals, one file each, as in the datasheets' chapters.

pub(crate) mod eeprom;
pub(crate) mod interrupts;
pub(crate) mod ports;
pub(crate) mod spi;
pub(crate) mod timer;
pub(crate) mod usart;
pub(crate) mod watchdog;

use chip::Sys;
use sim::Ps;

/// Returns the time at which cycle `cycle` of the core begins.
pub(crate) fn at(sys: &Sys, cycle: u64) -> Ps {
    sys.clock.ps_at(cycle)
}
