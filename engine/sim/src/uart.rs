//! Devices on a UART.

use crate::device::Device;
use crate::time::Ps;

pub trait UartDevice: Device {
    /// A character has arrived; `now` is the end of its stop bit.
    fn receive(&mut self, now: Ps, byte: u8);
    /// The next character that the device has sent, once its stop bit has ended; that is a time of
    /// [`Device::next_event`].
    fn take_byte(&mut self, now: Ps) -> Option<u8>;
}
