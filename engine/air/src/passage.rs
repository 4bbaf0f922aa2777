//! A frame between the radio chip and the access point's cable, and where it was how long.

use sim::Ps;

/// Where a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Waits for its turn, or is being sent, be it again.
    Air,
    /// With the access point, which works on it or has others before it.
    AccessPoint,
    /// With the access point, because the station sleeps.
    Kept,
}

/// `begin`: when the radio, or the cable, gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    pub to_board: bool,
    pub begin: Ps,
    /// Where it was, and until when.
    pub places: Vec<(Place, Ps)>,
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

    /// When the cable, or the radio, had it.
    pub fn end(&self) -> Ps {
        self.places.last().map_or(self.begin, |last| last.1)
    }
}

/// Those that came through, while somebody wants them.
#[derive(Debug, Default)]
pub struct PassageLog {
    on: bool,
    kept: Vec<Passage>,
}

const MOST: usize = 1 << 18;

impl PassageLog {
    pub fn set(&mut self, on: bool) {
        *self = Self { on, kept: Vec::new() };
    }

    pub fn take(&mut self) -> Vec<Passage> {
        std::mem::take(&mut self.kept)
    }

    pub fn note(&mut self, passage: &Passage) {
        if self.on && self.kept.len() < MOST {
            self.kept.push(passage.clone());
        }
    }
}
