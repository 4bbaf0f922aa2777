//! A device connected to an I2C bus.

use chip::Sys;
use chip::pins::function;
use sim::I2cDevice;

use crate::wires::SidePins;

/// GPIO numbers of a device on I2C.
#[derive(Clone, Copy, Debug)]
pub struct I2cWires {
    /// I2C controller, 0 or 1.
    pub i2c: usize,
    /// GPIO of SDA.
    pub sda: u32,
    /// GPIO of SCL.
    pub scl: u32,
    /// The device's reset and interrupt pins.
    pub side: SidePins,
}

pub(crate) struct I2cPort {
    pub(crate) wires: I2cWires,
    /// The device acknowledged the current address.
    pub(crate) addressed: bool,
    pub(crate) device: Box<dyn I2cDevice>,
}

impl I2cPort {
    pub(crate) fn hears(&self, sys: &Sys, i2c: usize) -> bool {
        let connected = |pin| sys.pins.is_selected(pin, function::I2C);
        i2c == self.wires.i2c && connected(self.wires.sda) && connected(self.wires.scl)
    }
}
