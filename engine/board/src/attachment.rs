//! Devices that a board's owner attaches to its buses.

use std::fmt;
use std::sync::Arc;

use sim::{I2cDevice, PinDevice, SpiDevice, UartDevice};

use crate::i2c_port::I2cWires;
use crate::spi_port::SpiWires;
use crate::uart_port::UartWires;
use crate::wiring::Wiring;

/// A device with its wires. Each power-up makes the device anew.
#[derive(Clone)]
pub struct Attachment(Arc<dyn Fn(&mut Wiring) + Send + Sync>);

impl Attachment {
    /// A device on SPI, beside others with other chip selects.
    pub fn spi<D: SpiDevice + 'static>(wires: SpiWires, make: impl Fn() -> D + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |wiring| wiring.attach_spi(wires, make())))
    }

    /// A device on I2C, beside others with other addresses.
    pub fn i2c<D: I2cDevice + 'static>(wires: I2cWires, make: impl Fn() -> D + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |wiring| wiring.attach_i2c(wires, make())))
    }

    /// A device on a UART.
    pub fn uart<D: UartDevice + 'static>(wires: UartWires, make: impl Fn() -> D + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |wiring| wiring.attach_uart(wires, make())))
    }

    /// A device on pins without a bus.
    pub fn pins<D: PinDevice + 'static>(pins: Vec<u32>, make: impl Fn() -> D + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |wiring| wiring.attach_pins(pins.clone(), make())))
    }

    pub(crate) fn attach(&self, wiring: &mut Wiring) {
        (self.0)(wiring);
    }
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attachment")
    }
}
