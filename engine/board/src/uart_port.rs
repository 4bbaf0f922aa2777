//! A device connected to a UART.

use chip::pins::function;
use chip::{Inputs, Sys};
use sim::UartDevice;

use crate::wires::SidePins;

/// GPIO numbers of a device on a UART, named as the microcontroller sees them.
#[derive(Clone, Copy, Debug)]
pub struct UartWires {
    /// UART, 0 or 1.
    pub uart: usize,
    /// GPIO of the board's TX.
    pub tx: u32,
    /// GPIO of the board's RX.
    pub rx: u32,
    /// The device's reset and interrupt pins.
    pub side: SidePins,
}

pub(crate) struct UartPort {
    pub(crate) wires: UartWires,
    pub(crate) device: Box<dyn UartDevice>,
}

impl UartPort {
    pub(crate) fn hears(&self, sys: &Sys, uart: usize) -> bool {
        uart == self.wires.uart && sys.pins.is_selected(self.wires.tx, function::UART)
    }

    /// Delivers the device's output.
    pub(crate) fn deliver(&mut self, sys: &mut Sys, inputs: &mut dyn Inputs) {
        while let Some(byte) = self.device.take_byte(sys.now()) {
            if sys.pins.is_selected(self.wires.rx, function::UART) {
                inputs.receive(sys, self.wires.uart, byte);
            }
        }
    }
}
