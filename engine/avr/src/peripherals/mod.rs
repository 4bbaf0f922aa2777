//! The peripherals, one file each, as in the datasheets' chapters.

pub mod eeprom;
pub mod interrupts;
pub mod ports;
pub mod spi;
pub mod timer;
pub mod usart;
pub mod watchdog;

use parts::Sys;
use sim::Ps;

/// Returns the time at which cycle `cycle` of the core begins.
pub(crate) fn at(sys: &Sys, cycle: u64) -> Ps {
    sys.clock.ps_at(cycle)
}
