//! Ports (ATmega2560 datasheet 13): latches, directions and pull-ups. PINx shows the pins of the cycle before.

use chip::Sys;
use chip::pins::function;

use crate::device::Device;

/// Offsets from PINx.
const PIN: u16 = 0;
const DDR: u16 = 1;

/// Ports of the border.
const BORDERED: usize = 8;

pub(crate) struct Ports {
    device: &'static Device,
    latches: Vec<u8>,
    directions: Vec<u8>,
    /// MCUCR's PUD: no pin is pulled up.
    pub pull_ups_off: bool,
    /// Levels of the border before the last write, and the cycle of that write.
    before: (u64, u64),
}

impl Ports {
    pub(crate) fn new(device: &'static Device) -> Self {
        let count = device.ports.len();
        Self { device, latches: vec![0; count], directions: vec![0; count], pull_ups_off: false, before: (0, u64::MAX) }
    }

    /// Returns the port whose registers hold `address`, and the offset in them.
    pub(crate) fn register(&self, address: u16) -> Option<(usize, u16)> {
        let found = self.device.ports.iter().position(|port| (port.address..port.address + 3).contains(&address))?;
        Some((found, address - self.device.ports[found].address))
    }

    /// Returns DDRx of the border's ports, as bits of pins.
    fn bordered(&self, bytes: &[u8]) -> u64 {
        bytes.iter().take(BORDERED).enumerate().fold(0, |pins, (n, &byte)| pins | u64::from(byte) << (8 * n))
    }

    /// Returns whether the program made the pin an output.
    pub(crate) fn is_output(&self, pin: u32) -> bool {
        self.bordered(&self.directions) >> pin & 1 != 0
    }

    pub(crate) fn read(&self, sys: &Sys, (port, offset): (usize, u16)) -> u8 {
        match offset {
            PIN if port < BORDERED => {
                let (levels, cycle) = self.before;
                let levels = if sys.cycle.wrapping_sub(cycle) <= 1 { levels } else { sys.pins.level() };
                (levels >> (8 * port)) as u8 & self.device.ports[port].mask
            }
            // Nothing is connected: an output's own level, or the pull-up's.
            PIN => self.latches[port] & if self.pull_ups_off { self.directions[port] } else { 0xff },
            DDR => self.directions[port],
            _ => self.latches[port],
        }
    }

    pub(crate) fn write(&mut self, sys: &mut Sys, (port, offset): (usize, u16), value: u8) {
        self.before = (sys.pins.level(), sys.cycle);
        let value = value & self.device.ports[port].mask;
        match offset {
            PIN => self.latches[port] ^= value,
            DDR => self.directions[port] = value,
            _ => self.latches[port] = value,
        }
        self.drive(sys);
    }

    /// Sets the pins' drivers and pulls, as far as no peripheral has them.
    pub(crate) fn drive(&self, sys: &mut Sys) {
        let (latches, outputs) = (self.bordered(&self.latches), self.bordered(&self.directions));
        let pins = &mut sys.pins;
        let others = pins.function_mask[function::SPI] | pins.function_mask[function::UART];
        pins.function_mask[function::SIO] = self.device.pins() & !others;
        pins.function_out[function::SIO] = latches;
        pins.function_oe[function::SIO] = outputs;
        let [_, sck, mosi, _] = self.device.spi_pins;
        pins.function_oe[function::SPI] = outputs & (1 << sck | 1 << mosi);
        pins.set_pulls(if self.pull_ups_off { 0 } else { latches & !outputs }, 0);
        pins.refresh();
    }

    pub(crate) fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.device);
        self.drive(sys);
    }
}
