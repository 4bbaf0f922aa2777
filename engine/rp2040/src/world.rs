//! What is soldered to the chip's pins.

use crate::peripherals::{uart::Uart, usb::Usb};
use crate::sys::Sys;
use sim::Ps;

/// Ways into the chip that are no pin level.
pub struct Inputs<'a> {
    pub usb: &'a mut Usb,
    pub uart: &'a mut [Uart; 2],
}

/// The outside of the chip; by default nothing is there. Every method may schedule [`crate::sys::EventId::World`], drive
/// input pins (`sys.pins.drive`) and read the time (`sys.now()`).
pub trait World: Send {
    /// One SPI frame has been clocked; `sys.now()` is its last edge. Returns what MISO carried, high where nobody drives.
    fn spi_frame(&mut self, _sys: &mut Sys, _spi: usize, _mosi: u16, bits: u8) -> u16 {
        ((1u32 << bits) - 1) as u16
    }
    /// A pin that the chip drives changed its level or direction; `sys.pins` holds the new state.
    fn pins_changed(&mut self, _sys: &mut Sys) {}
    /// A byte left a UART; `sys.now()` is the end of its stop bit.
    fn uart_byte(&mut self, _sys: &mut Sys, _uart: usize, _byte: u8) {}
    /// START or RESTART with an address on an I2C bus; true acknowledges.
    fn i2c_start(&mut self, _sys: &mut Sys, _i2c: usize, _address: u16, _read: bool) -> bool {
        false
    }
    /// A byte for the device that acknowledged; true acknowledges.
    fn i2c_write(&mut self, _sys: &mut Sys, _i2c: usize, _byte: u8) -> bool {
        false
    }
    /// The next byte of the device that acknowledged, all ones where nobody drives.
    fn i2c_read(&mut self, _sys: &mut Sys, _i2c: usize) -> u8 {
        0xff
    }
    fn i2c_stop(&mut self, _sys: &mut Sys, _i2c: usize) {}
    /// What an attribution of time wants to know of the outside: `SELECTED` and `LINK` of [`attribution::state`].
    fn attributed(&self, _now: Ps) -> u8 {
        0
    }
    /// `EventId::World` is due.
    fn event(&mut self, _sys: &mut Sys, _inputs: Inputs<'_>) {}
}

/// A bare chip.
pub struct Nothing;

impl World for Nothing {}
