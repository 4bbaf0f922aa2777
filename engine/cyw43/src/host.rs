//! Frames that wait for the host at function 2, and the credit granted to the host.

use std::collections::VecDeque;

use sim::{Ps, Snapshot};

use crate::sdpcm;

/// Frames that the host may send beyond those the chip has processed.
const CREDITS: u8 = 8;
/// Data frames that the chip queues for the host; further ones are dropped.
const MOST: usize = 32;

#[derive(Snapshot)]
struct Waiting {
    at: Ps,
    channel: u8,
    body: Vec<u8>,
}

#[derive(Default, Snapshot)]
pub(crate) struct HostQueue {
    waiting: VecDeque<Waiting>,
    /// The frame that the host reads next, as it is in the FIFO.
    head: Option<Vec<u8>>,
    sequence: u8,
    /// The sequence number expected from the host next, and how many of its frames the chip still holds.
    expected: u8,
    held: u8,
    /// The credit last sent to the host.
    told: u8,
    pub(crate) dropped: u64,
}

impl HostQueue {
    pub(crate) fn push(&mut self, at: Ps, channel: u8, body: Vec<u8>) {
        if channel == sdpcm::DATA && self.waiting.len() >= MOST {
            self.dropped += 1;
            return;
        }
        // Frames stay in order, however long each took.
        let at = self.waiting.back().map_or(at, |last| last.at.max(at));
        self.waiting.push_back(Waiting { at, channel, body });
    }

    fn credit(&self) -> u8 {
        self.expected.wrapping_add(CREDITS).wrapping_sub(self.held)
    }

    /// Handles a frame from the host.
    pub(crate) fn took(&mut self, sequence: u8, holds: bool) {
        self.expected = sequence.wrapping_add(1);
        self.held = self.held.saturating_add(u8::from(holds)).min(CREDITS);
    }

    /// Releases a frame of the host that the chip held.
    pub(crate) fn done(&mut self, now: Ps) {
        self.held = self.held.saturating_sub(1);
        // Without other traffic, a frame without payload grants credit before the host stalls.
        let left = self.told.wrapping_sub(self.expected);
        if self.waiting.is_empty() && self.head.is_none() && left <= CREDITS / 2 {
            self.push(now, sdpcm::DATA, Vec::new());
        }
    }

    pub(crate) fn next_at(&self) -> Option<Ps> {
        if self.head.is_some() { None } else { self.waiting.front().map(|frame| frame.at) }
    }

    /// Moves frames that are due into the FIFO.
    pub(crate) fn advance(&mut self, now: Ps) {
        if self.head.is_some() || self.waiting.front().is_none_or(|frame| frame.at > now) {
            return;
        }
        if let Some(frame) = self.waiting.pop_front() {
            self.told = self.credit();
            self.head = Some(sdpcm::encode(self.sequence, frame.channel, self.told, &frame.body));
            self.sequence = self.sequence.wrapping_add(1);
        }
    }

    pub(crate) fn head(&self) -> Option<usize> {
        self.head.as_ref().map(Vec::len)
    }

    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        self.head.take()
    }
}
