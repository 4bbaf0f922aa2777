//! A device connected to pins without a bus.

use chip::Sys;
use sim::PinDevice;

use crate::wires::level;

pub(crate) struct PinPort {
    pins: Vec<u32>,
    /// Levels that the device knows, by its own numbers of its pins.
    known: u64,
    pub(crate) device: Box<dyn PinDevice>,
}

impl PinPort {
    pub(crate) fn new(pins: Vec<u32>, device: impl PinDevice + 'static) -> Self {
        Self { pins, known: u64::MAX, device: Box::new(device) }
    }

    pub(crate) fn watched(&self) -> u64 {
        self.pins.iter().fold(0, |pins, pin| pins | 1 << pin)
    }

    /// Tells the device about the board's edges.
    pub(crate) fn sample_pins(&mut self, sys: &Sys) {
        for (index, &pin) in self.pins.iter().enumerate() {
            let high = level(sys, pin);
            if high != (self.known >> index & 1 != 0) {
                self.known ^= 1 << index;
                self.device.edge(sys.now(), index, high);
            }
        }
    }

    pub(crate) fn drive_pins(&self, sys: &mut Sys) {
        for (index, &pin) in self.pins.iter().enumerate() {
            sys.pins.drive(pin, self.device.level(index));
        }
    }
}
