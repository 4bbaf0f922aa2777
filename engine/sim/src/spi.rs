//! Devices on an SPI bus.

use crate::device::Device;
use crate::snapshot::Snapshot;
use crate::time::Ps;

/// One decoded transfer on the bus, as a trace shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpiFrame {
    /// Falling edge of chip select; if chip select stayed low, the end of the previous frame.
    pub start: Ps,
    /// Rising edge of chip select, or the last clock edge of a frame that ends without one.
    pub end: Ps,
    /// The microcontroller wrote the data; otherwise it read them.
    pub write: bool,
    /// Address of the first byte, as the frame has it.
    pub address: u16,
    /// Data bytes.
    pub len: usize,
    /// Bytes on the wire, including command and address.
    pub wire_bytes: usize,
    /// Name of the target: a register as in the datasheet, or a buffer.
    pub name: String,
    /// The first 16 data bytes, as written or read.
    pub data: Vec<u8>,
    /// Decoded data (a command, a state, text or a number), or empty.
    pub meaning: String,
}

/// The data pins of a byte. Each edge moves its most significant bits, the highest of them on the last pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub struct Lanes {
    /// 1: IO0 from the master as MOSI, and IO1 to it as MISO; 2 or 4: the first pins, in one direction at a time.
    pub count: u8,
    /// The byte that the device outputs, if it is known before it is exchanged; several pins need that.
    pub out: Option<u8>,
}

impl Lanes {
    /// MOSI and MISO.
    pub const SINGLE: Self = Self { count: 1, out: None };
}

/// A slave on an SPI bus, by bytes.
pub trait SpiDevice: Device {
    /// Handles an edge of chip select.
    fn select(&mut self, now: Ps, low: bool);
    /// Exchanges one byte while selected; `now` is the time of its last clock edge. Returns the byte on MISO.
    fn exchange(&mut self, now: Ps, mosi: u8) -> u8;
    /// Returns the pins of the next byte. Only a master that drives pins one by one, as PIO or GPIO, has several.
    fn lanes(&self) -> Lanes {
        Lanes::SINGLE
    }
    /// Tells the duration of eight periods of SCK, before the byte whose last ones they are is exchanged.
    fn clocked(&mut self, _byte: Ps) {}
    /// Starts (with an empty log) or stops logging decoded frames.
    fn set_log(&mut self, _on: bool) {}
    /// Takes the frames that ended since the last call; empty while the log is off.
    fn take_log(&mut self) -> Vec<SpiFrame> {
        Vec::new()
    }
}
