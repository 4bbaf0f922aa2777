//! Devices on pins without a bus.

use crate::device::Device;
use crate::time::Ps;

/// A device on pins without a bus, each with a pull-up: a sensor on one wire, a servo, a button.
pub trait PinDevice: Device {
    /// Delivers an edge that the board makes on the device's pin `index`: to low, or to high and undriven.
    fn edge(&mut self, now: Ps, index: usize, high: bool);
    /// Level at which the device holds its pin `index`, weaker than the board's output; `None`: it lets go.
    fn level(&self, index: usize) -> Option<bool>;
}
