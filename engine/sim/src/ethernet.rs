//! Chips with an Ethernet port.

use crate::device::Device;
use crate::time::Ps;

/// What has passed through the chip since power-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EthernetStats {
    /// Bytes exchanged with the microcontroller while selected.
    pub bus_bytes: u64,
    /// Falling edges of the chip select.
    pub chip_selects: u64,
    /// Frames handed to the PHY while the link was up.
    pub frames_out: u64,
    /// Frames of legal length that arrived while the link was up.
    pub frames_in: u64,
}

/// A MAC with its PHY, as the cable sees it. Frames are Ethernet without FCS.
pub trait EthernetChip: Device {
    /// The next frame that the MAC has handed to the PHY, and when; unpadded.
    fn take_frame(&mut self) -> Option<(Ps, Vec<u8>)>;
    /// The last bit of a frame has arrived.
    fn receive_frame(&mut self, now: Ps, frame: &[u8]);
    /// Plugs the cable in or pulls it out.
    fn set_cable(&mut self, now: Ps, plugged: bool);
    /// Is the link up at `now`? `now` may lie ahead of the last call, if nothing changes meanwhile.
    fn link_up(&self, now: Ps) -> bool;
    fn stats(&self) -> EthernetStats;
}
