//! What is soldered to the chip's pins.

use std::any::Any;

use crate::peripherals::usb::Usb;
use crate::sys::Sys;

/// The outside of the chip. Every method may schedule [`crate::sys::EventId::World0`] and
/// [`crate::sys::EventId::World1`], drive input pins (`sys.pins.drive`) and read the time (`sys.now()`).
pub trait World: Send {
    /// One SPI frame has been clocked; `sys.now()` is its last edge. Returns what MISO carried.
    fn spi_frame(&mut self, sys: &mut Sys, spi: usize, mosi: u16, bits: u8) -> u16;
    /// A pin that the chip drives changed its level or direction; `sys.pins` holds the new state.
    fn pins_changed(&mut self, sys: &mut Sys);
    /// `World0` (`index` 0) or `World1` (`index` 1) is due.
    fn event(&mut self, sys: &mut Sys, usb: &mut Usb, index: usize);
    /// A byte left a UART.
    fn uart_byte(&mut self, _sys: &mut Sys, _uart: usize, _byte: u8) {}
    /// For the owner of the chip, to reach what it attached.
    fn as_any(&mut self) -> &mut dyn Any;
}

/// A bare chip: MISO floats high, nothing is attached.
pub struct Nothing;

impl World for Nothing {
    fn spi_frame(&mut self, _sys: &mut Sys, _spi: usize, _mosi: u16, bits: u8) -> u16 {
        ((1u32 << bits) - 1) as u16
    }
    fn pins_changed(&mut self, _sys: &mut Sys) {}
    fn event(&mut self, _sys: &mut Sys, _usb: &mut Usb, _index: usize) {}

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
