//! The interface to everything connected to the chip's pins.

use std::any::Any;

use crate::sys::Sys;
use sim::{Ps, Snapshot, UsbBus};

/// Inputs of the chip other than pin levels: its USB controller, and its UARTs by their numbers, 0 and 1.
pub trait Inputs {
    /// Lets the PC's port `act` on the bus of the USB controller. Returns false if there is none.
    fn on_usb(&mut self, _sys: &mut Sys, _act: &mut dyn FnMut(&mut dyn UsbBus)) -> bool {
        false
    }
    /// Returns the duration of a character; [`sim::NEVER`]: the UART is not set up.
    fn character_ps(&self, sys: &Sys, uart: usize) -> Ps;
    /// Returns whether characters from outside reach the receiver.
    fn hears_characters(&self, sys: &Sys, uart: usize) -> bool;
    /// Receives a character, whose stop bit ends now.
    fn receive(&mut self, sys: &mut Sys, uart: usize, byte: u8);
}

/// A device that shifts bits on a few pins, and does nothing else for a known number of bits. Those of an edge follow
/// each other, that of the last pin first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitPeer {
    /// The pin of the clock.
    pub clock: u32,
    /// The first pin of the data.
    pub data: u32,
    /// The number of pins of the data, 1, 2 or 4.
    pub lanes: u32,
    /// The direction of the data.
    pub way: Way,
    /// That number of bits.
    pub bits: u32,
}

/// The direction of a [`BitPeer`]'s data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub enum Way {
    /// Samples the data pins at each rising edge of the clock.
    Takes,
    /// Outputs its next bits on the data pins at each edge of the clock in one direction.
    Gives {
        /// The rising edges; otherwise the falling ones.
        rising: bool,
    },
}

/// Everything outside the chip; empty by default. Every method may schedule [`Sys::schedule_world`], drive input
/// pins (`sys.pins.drive`) and read the time (`sys.now()`).
pub trait World: Any + Send {
    /// Handles a complete SPI frame; `sys.now()` is its last edge. Returns the data on MISO, high if it is not driven.
    fn spi_frame(&mut self, _sys: &mut Sys, _spi: usize, _mosi: u16, bits: u8) -> u16 {
        ((1u32 << bits) - 1) as u16
    }
    /// Handles a change of level or direction of a pin that the chip drives; `sys.pins` holds the new state. Every
    /// change is reported only for pins that the world watches ([`crate::sys::watcher::WORLD`]).
    fn pins_changed(&mut self, _sys: &mut Sys) {}
    /// Returns the device that shifts bits on the pins now. Up to the number that it states, bits may be passed by
    /// [`Self::take_bits`] and [`Self::give_bits`] instead of edges. By default every edge is passed.
    fn bit_peer(&self) -> Option<BitPeer> {
        None
    }
    /// Passes `count` bits to the peer, the first one in the most significant place. `sys.now()` is later than their
    /// times.
    fn take_bits(&mut self, _sys: &mut Sys, _bits: u32, _count: u32) {}
    /// Takes `count` bits from the peer, in the same order.
    fn give_bits(&mut self, _sys: &mut Sys, _count: u32) -> u32 {
        0
    }
    /// Handles a byte from a UART whose TX is on a pin; `sys.now()` is the end of its stop bit.
    fn uart_byte(&mut self, _sys: &mut Sys, _uart: usize, _byte: u8) {}
    /// Handles START or RESTART with an address on an I2C bus; true acknowledges.
    fn i2c_start(&mut self, _sys: &mut Sys, _i2c: usize, _address: u16, _read: bool) -> bool {
        false
    }
    /// Handles a byte for the device that acknowledged; true acknowledges.
    fn i2c_write(&mut self, _sys: &mut Sys, _i2c: usize, _byte: u8) -> bool {
        false
    }
    /// Returns the next byte of the device that acknowledged, all ones if the bus is not driven.
    fn i2c_read(&mut self, _sys: &mut Sys, _i2c: usize) -> u8 {
        0xff
    }
    /// Handles STOP on an I2C bus.
    fn i2c_stop(&mut self, _sys: &mut Sys, _i2c: usize) {}
    /// Returns the external state for an attribution of time: `SELECTED` and `LINK` of [`attribution::state`].
    fn attributed(&self, _now: Ps) -> u8 {
        0
    }
    /// Handles the event of [`Sys::schedule_world`].
    fn event(&mut self, _sys: &mut Sys, _inputs: &mut dyn Inputs) {}
}

impl dyn World {
    /// Returns the world as a `W`; `None`: it is something else.
    pub fn of<W: World>(&mut self) -> Option<&mut W> {
        (self as &mut dyn Any).downcast_mut()
    }
}

/// No external devices.
pub struct Nothing;

impl World for Nothing {}
