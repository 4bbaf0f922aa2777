//! The way of a frame between the radio chip and the access point's cable.

use sim::{Ps, Snapshot};

/// The place where a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub enum Place {
    /// Waiting for the air, or being transmitted or repeated.
    Air,
    /// At the access point, which processes it or has others queued before it.
    AccessPoint,
    /// Buffered at the access point because the station sleeps.
    Kept,
}

/// The way of one frame. `begin`: the time when the radio or the cable handed it over.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub struct Passage {
    /// The frame comes from the cable; otherwise it comes from the board.
    pub to_board: bool,
    /// When the radio or the cable handed the frame over.
    pub begin: Ps,
    /// Each place with the time at which the frame left it.
    pub places: Vec<(Place, Ps)>,
    /// The Ethernet frame without FCS.
    pub frame: Vec<u8>,
}

impl Passage {
    pub(crate) fn new(to_board: bool, begin: Ps, frame: Vec<u8>) -> Self {
        Self { to_board, begin, places: Vec::with_capacity(3), frame }
    }

    pub(crate) fn until(mut self, place: Place, at: Ps) -> Self {
        self.places.push((place, at));
        self
    }

    /// Returns the time at which the cable or the radio received the frame.
    pub fn end(&self) -> Ps {
        self.places.last().map_or(self.begin, |last| last.1)
    }
}

/// Completed passages, recorded while the log is on.
#[derive(Debug, Default)]
pub(crate) struct PassageLog {
    on: bool,
    kept: Vec<Passage>,
}

const MOST: usize = 1 << 18;

sim::left_out!([] PassageLog);

impl PassageLog {
    pub(crate) fn set(&mut self, on: bool) {
        *self = Self { on, kept: Vec::new() };
    }

    pub(crate) fn take(&mut self) -> Vec<Passage> {
        std::mem::take(&mut self.kept)
    }

    pub(crate) fn note(&mut self, passage: &Passage) {
        if self.on && self.kept.len() < MOST {
            self.kept.push(passage.clone());
        }
    }
}
