//! Devices on an I2C bus.

use crate::device::Device;
use crate::time::Ps;

/// A slave on an I2C bus.
pub trait I2cDevice: Device {
    /// Handles a START or RESTART with this address; true acknowledges. `now` is the end of the acknowledge bit, also
    /// below.
    fn start(&mut self, now: Ps, address: u16, read: bool) -> bool;
    /// Handles a byte from the master after [`Self::start`] for writing; true acknowledges.
    fn write(&mut self, now: Ps, byte: u8) -> bool;
    /// Returns the next byte for the master.
    fn read(&mut self, now: Ps) -> u8;
    /// Handles a STOP.
    fn stop(&mut self, _now: Ps) {}
}
