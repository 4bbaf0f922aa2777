//! What is soldered to the chip's pins.

use crate::peripherals::{uart::Uart, usb::Usb};
use crate::sys::Sys;
use sim::Ps;

/// Ways into the chip that are no pin level.
pub struct Inputs<'a> {
    pub usb: &'a mut Usb,
    pub uart: &'a mut [Uart; 2],
}

/// A device that shifts bits on two pins and, for some more of them, does nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitPeer {
    pub clock: u32,
    pub data: u32,
    pub way: Way,
    /// How many more.
    pub bits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Takes the level of the data pin at each rising edge of the clock.
    Takes,
    /// Puts its next bit on the data pin at each rising, or else at each falling, edge of the clock.
    Gives { rising: bool },
}

/// The outside of the chip; by default nothing is there. Every method may schedule [`crate::sys::EventId::World`], drive
/// input pins (`sys.pins.drive`) and read the time (`sys.now()`).
pub trait World: Send {
    /// One SPI frame has been clocked; `sys.now()` is its last edge. Returns what MISO carried, high where nobody drives.
    fn spi_frame(&mut self, _sys: &mut Sys, _spi: usize, _mosi: u16, bits: u8) -> u16 {
        ((1u32 << bits) - 1) as u16
    }
    /// A pin that the chip drives changed its level or direction; `sys.pins` holds the new state. Only for pins that the
    /// world watches ([`crate::sys::watcher::WORLD`]) every change comes here.
    fn pins_changed(&mut self, _sys: &mut Sys) {}
    /// Who shifts bits on the pins now. Of those that it names it gets some by [`Self::take_bits`] and
    /// [`Self::give_bits`] in place of edges. By default everybody wants to see every edge.
    fn bit_peer(&self) -> Option<BitPeer> {
        None
    }
    /// So many bits have passed to the peer, the first in the most significant place. `sys.now()` is later than that.
    fn take_bits(&mut self, _sys: &mut Sys, _bits: u32, _count: u32) {}
    /// So many bits have passed from the peer, in the same order.
    fn give_bits(&mut self, _sys: &mut Sys, _count: u32) -> u32 {
        0
    }
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
