//! Chips with an Ethernet port.

use crate::Snapshot;

use crate::device::Device;
use crate::time::Ps;

/// Traffic counters since power-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Snapshot)]
pub struct EthernetStats {
    /// Bytes exchanged with the microcontroller while selected.
    pub bus_bytes: u64,
    /// Falling edges of chip select.
    pub chip_selects: u64,
    /// Frames handed to the PHY while the link was up.
    pub frames_out: u64,
    /// Frames of legal length that arrived while the link was up.
    pub frames_in: u64,
}

/// A MAC with its PHY, as the cable sees it. Frames are Ethernet without FCS.
pub trait EthernetChip: Device {
    /// Takes the next frame that the MAC handed to the PHY, unpadded, with its time.
    fn take_frame(&mut self) -> Option<(Ps, Vec<u8>)>;
    /// Delivers a frame; `now` is the time of its last bit.
    fn receive_frame(&mut self, now: Ps, frame: &[u8]);
    /// Plugs the cable in or pulls it out.
    fn set_cable(&mut self, now: Ps, plugged: bool);
    /// Returns whether the link is up at `now`, which may lie after the last call if nothing changes in between.
    fn link_up(&self, now: Ps) -> bool;
    /// Returns the counters so far.
    fn stats(&self) -> EthernetStats;
}
