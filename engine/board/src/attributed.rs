//! What was recorded of a board for an attribution of time: the chip's part, its SPI frames and the cable's.

use ::lan::{Fate, FrameRecord};
use attribution::{Frame, Recording, Transfer, lan};
use sim::SpiFrame;

pub struct Recorded {
    pub recording: Recording,
    /// In the order in which they began, without those that were lost.
    pub frames: Vec<Frame>,
    /// Of the network chip.
    pub transfers: Vec<Transfer>,
}

impl Recorded {
    pub(crate) fn new(
        recording: Recording,
        frames: Vec<FrameRecord>,
        transfers: Vec<(&'static str, SpiFrame)>,
    ) -> Self {
        let arrived = frames.into_iter().filter(|frame| frame.fate == Fate::Delivered);
        let mut frames: Vec<Frame> = arrived
            .map(|each| Frame {
                start: each.start,
                arrival: each.arrival,
                to_board: each.to_board,
                class: lan::classify(&each.frame),
                flow: lan::flow(&each.frame, each.to_board),
            })
            .collect();
        frames.sort_by_key(|frame| frame.start);
        let transfers = transfers.into_iter().map(|(_, frame)| transfer(&frame)).collect();
        Self { recording, frames, transfers }
    }
}

fn transfer(frame: &SpiFrame) -> Transfer {
    // Whichever of a register's bytes.
    let register = frame.name.split('+').next().unwrap_or_default();
    let what = format!("{register} {}", if frame.write { "write" } else { "read" });
    Transfer { start: frame.start, wire_bytes: frame.wire_bytes, what }
}
