//! The log of decoded SPI frames, filled by every chip's decoder.

use sim::{Ps, SpiFrame};

/// Data bytes of a frame that the log keeps.
const LOGGED_BYTES: usize = 16;

/// The current frame, and the completed ones.
#[derive(Default)]
pub(crate) struct FrameLog {
    frames: Option<Vec<SpiFrame>>,
    start: Ps,
    length: usize,
    data: Vec<u8>,
    /// Frequency of SCK and its specified limit, if it is beyond that.
    too_fast: Option<(u64, u64)>,
}

impl FrameLog {
    pub(crate) fn set(&mut self, on: bool) {
        self.frames = on.then(Vec::new);
    }

    pub(crate) fn take(&mut self) -> Vec<SpiFrame> {
        self.frames.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(crate) fn note_clock(&mut self, hz: u64, most_hz: u64) {
        self.too_fast = (hz > most_hz).then_some((hz, most_hz));
    }

    pub(crate) fn begin(&mut self, now: Ps) {
        self.start = now;
        self.length = 0;
        self.data.clear();
    }

    /// Adds a data byte as written or read.
    pub(crate) fn data(&mut self, byte: u8) {
        self.length += 1;
        if self.frames.is_some() && self.data.len() < LOGGED_BYTES {
            self.data.push(byte);
        }
    }

    /// Completes the frame. `header_bytes`: those on the wire before the data; `tell`: returns name and meaning of the
    /// data, given its first 16 bytes.
    pub(crate) fn end(
        &mut self,
        now: Ps,
        header_bytes: usize,
        write: bool,
        address: u16,
        tell: impl FnOnce(&[u8]) -> (String, String),
    ) {
        let Some(frames) = &mut self.frames else { return };
        let (name, mut meaning) = tell(&self.data);
        if let Some((hz, most_hz)) = self.too_fast {
            let comma = if meaning.is_empty() { "" } else { ", " };
            let (mhz, most_mhz) = (hz as f64 / 1e6, most_hz as f64 / 1e6);
            meaning += &format!("{comma}out of specification: SCK at {mhz:.3} MHz, at most {most_mhz} MHz");
        }
        frames.push(SpiFrame {
            start: self.start,
            end: now,
            write,
            address,
            len: self.length,
            wire_bytes: header_bytes + self.length,
            name,
            data: self.data.clone(),
            meaning,
        });
    }
}
