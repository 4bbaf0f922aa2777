//! Devices on a UART.

use crate::device::Device;
use crate::time::Ps;

/// A device on a UART, by characters.
pub trait UartDevice: Device {
    /// Delivers a character; `now` is the end of its stop bit.
    fn receive(&mut self, now: Ps, byte: u8);
    /// Takes the next character that the device has sent, once its stop bit has ended. [`Device::next_event`] includes
    /// that time.
    fn take_byte(&mut self, now: Ps) -> Option<u8>;
}
