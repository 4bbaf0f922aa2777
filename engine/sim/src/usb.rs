//! The wire between a USB host and a full-speed device controller.

/// The device's answer to a SETUP or OUT data packet (USB 2.0 section 8.4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// The device took the data.
    Ack,
    /// The device is busy: the host repeats the packet.
    Nak,
    /// The endpoint is halted, or the request is refused.
    Stall,
    /// No answer within 18 bit times: wrong address, corrupted packet, no device.
    Timeout,
}

/// The device's answer to an IN token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InResult {
    /// A data packet; its payload is in the buffer that was passed in, its PID is DATA1 or DATA0.
    Data {
        /// The PID is DATA1; otherwise DATA0.
        data1: bool,
    },
    /// The device has no data yet.
    Nak,
    /// The endpoint is halted, or the request is refused.
    Stall,
    /// No answer within 18 bit times.
    Timeout,
}

/// A device controller as the host's port sees it.
///
/// The host calls each method at the simulated time at which the device has received the packet: SETUP and OUT at the
/// end of the data packet, IN at the end of the token. The host then acknowledges IN data by itself.
pub trait UsbBus {
    /// Returns whether the device pulls D+ up (a full-speed device is present).
    fn pulled_up(&self) -> bool;
    /// Begins a bus reset: SE0 has lasted long enough.
    fn reset(&mut self);
    /// Start of frame with its 11-bit number.
    fn sof(&mut self, frame: u16);
    /// SETUP token and its eight data bytes.
    fn setup(&mut self, addr: u8, packet: [u8; 8]) -> Handshake;
    /// OUT token and its data packet (at most 64 bytes).
    fn out(&mut self, addr: u8, ep: u8, data1: bool, data: &[u8]) -> Handshake;
    /// IN token; a data packet's payload replaces the contents of `buf`, which arrives empty.
    fn input(&mut self, addr: u8, ep: u8, buf: &mut Vec<u8>) -> InResult;
}
