//! Devices on an SPI bus.

use crate::device::Device;
use crate::time::Ps;

/// One decoded transfer on the bus, as a trace shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpiFrame {
    /// Chip select's falling edge, or the end of the frame before where chip select stayed low.
    pub start: Ps,
    /// Chip select's rising edge, or the last clock edge of a frame that ends without one.
    pub end: Ps,
    pub write: bool,
    pub address: u16,
    /// Data bytes.
    pub len: usize,
    /// Bytes on the wire, with command and address.
    pub wire_bytes: usize,
    /// What the address names: a register by the datasheet, or a buffer.
    pub name: String,
    /// The first 16 data bytes, as written or read.
    pub data: Vec<u8>,
    /// The data as a command, a state, text or a number, as far as it is one; else empty.
    pub meaning: String,
}

pub trait SpiDevice: Device {
    /// Chip select edge.
    fn select(&mut self, now: Ps, low: bool);
    /// One byte while selected; `now` is the time of its last clock edge. Returns what MISO carried meanwhile.
    fn exchange(&mut self, now: Ps, mosi: u8) -> u8;
    /// Starts (with an empty log) or stops logging decoded frames.
    fn set_log(&mut self, _on: bool) {}
    /// The frames that ended since the last call; empty while the log is off.
    fn take_log(&mut self) -> Vec<SpiFrame> {
        Vec::new()
    }
}
