//! The simulated PC's network card, a device of `smoltcp`.

use std::collections::VecDeque;

use sim::Ps;
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

use crate::link::{MAX_FRAME_BYTES, wire_time_ps};

/// The card. It holds at most one received frame, and the frames that the stack sent at one simulated instant.
pub(crate) struct Nic {
    pub(crate) rx: Option<Vec<u8>>,
    tx: VecDeque<Vec<u8>>,
    /// Number of sent frames already returned by `new_frames`.
    seen: usize,
    /// Wire time that still fits into the send queue.
    room_ps: Ps,
    /// Frames dropped because the queue was full when a reply had to be sent at once.
    pub(crate) dropped: u64,
}

impl Nic {
    pub(crate) fn new() -> Self {
        Self { rx: None, tx: VecDeque::new(), seen: 0, room_ps: 0, dropped: 0 }
    }

    pub(crate) fn set_room(&mut self, room_ps: Ps) {
        self.room_ps = room_ps;
    }

    /// Returns the frames that the stack sent since the last call.
    pub(crate) fn new_frames(&mut self) -> impl Iterator<Item = &Vec<u8>> {
        let seen = std::mem::replace(&mut self.seen, self.tx.len());
        self.tx.iter().skip(seen)
    }

    /// Takes the oldest frame sent.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        self.seen = self.seen.saturating_sub(1);
        self.tx.pop_front()
    }

    pub(crate) fn send(&mut self, frame: Vec<u8>) {
        if self.room_ps == 0 {
            self.dropped += 1;
            return;
        }
        self.room_ps = self.room_ps.saturating_sub(wire_time_ps(frame.len()));
        self.tx.push_back(frame);
    }
}

pub(crate) struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

pub(crate) struct Sending<'a>(&'a mut Nic);

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.send(frame);
        result
    }
}

impl Device for Nic {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _timestamp: Instant) -> Option<(Received, Sending<'_>)> {
        let frame = self.rx.take()?;
        Some((Received(frame), Sending(self)))
    }

    fn transmit(&mut self, _timestamp: Instant) -> Option<Sending<'_>> {
        (self.room_ps > 0).then_some(Sending(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = MAX_FRAME_BYTES;
        capabilities
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_new_once_and_one_without_room_counts_as_dropped() {
        let mut nic = Nic::new();
        assert!(nic.transmit(Instant::ZERO).is_none());
        nic.set_room(wire_time_ps(60) + 1);
        for size in [60, 61, 62] {
            nic.send(vec![0; size]);
        }
        assert_eq!((nic.new_frames().count(), nic.new_frames().count(), nic.dropped), (2, 0, 1));
        nic.set_room(1);
        nic.send(vec![0; 63]);
        assert_eq!(nic.take().unwrap().len(), 60);
        assert_eq!(nic.new_frames().map(Vec::len).collect::<Vec<_>>(), [63]);
    }
}
