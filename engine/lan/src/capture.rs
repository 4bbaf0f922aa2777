//! Records of the frames on the cable: a log for the trace and a capture file for Wireshark.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use sim::Ps;

/// The fate of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It reached the receiver.
    Delivered,
    /// Lost by [`crate::Faults`].
    Lost,
    /// The cable was unplugged.
    LinkDown,
    /// The sender's queue was full.
    QueueFull,
    /// Longer than 1514 bytes.
    Oversize,
}

/// One frame, as handed to the sender's MAC: without padding and FCS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameRecord {
    /// Time when the sender queued it.
    pub queued: Ps,
    /// First preamble bit on the wire.
    pub start: Ps,
    /// Last FCS bit at the receiver (for a lost frame: when it would have arrived).
    pub arrival: Ps,
    /// The frame is from the PC to the board.
    pub to_board: bool,
    /// What became of the frame.
    pub fate: Fate,
    /// The frame without padding and FCS.
    pub frame: Vec<u8>,
}

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const LINKTYPE_ETHERNET: u32 = 1;
const SNAP_BYTES: u32 = 65_535;

/// Writer of the nanosecond variant of the pcap format (draft-ietf-opsawg-pcap). Times are those of a capture on the
/// PC: arrival of frames from the board, hand-over to the network card of frames to it.
pub(crate) struct Pcap {
    out: Box<dyn Write + Send>,
    failure: Option<io::Error>,
}

impl Pcap {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Self::new(Box::new(BufWriter::new(File::create(path)?)))
    }

    pub(crate) fn new(mut out: Box<dyn Write + Send>) -> io::Result<Self> {
        let mut header = Vec::with_capacity(24);
        header.extend(MAGIC_NANOSECONDS.to_le_bytes());
        header.extend(2u16.to_le_bytes());
        header.extend(4u16.to_le_bytes());
        header.extend([0; 8]);
        header.extend(SNAP_BYTES.to_le_bytes());
        header.extend(LINKTYPE_ETHERNET.to_le_bytes());
        out.write_all(&header)?;
        Ok(Self { out, failure: None })
    }

    /// Writes a frame. After the first failure nothing more is written; [`Pcap::finish`] reports it.
    pub(crate) fn write(&mut self, time: Ps, frame: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.try_write(time, frame).err();
        }
    }

    fn try_write(&mut self, time: Ps, frame: &[u8]) -> io::Result<()> {
        let nanoseconds = time / 1000;
        let len = frame.len() as u32;
        let mut header = [0; 16];
        let fields = [(nanoseconds / 1_000_000_000) as u32, (nanoseconds % 1_000_000_000) as u32, len, len];
        for (slot, field) in header.chunks_exact_mut(4).zip(fields) {
            slot.copy_from_slice(&field.to_le_bytes());
        }
        self.out.write_all(&header)?;
        self.out.write_all(frame)
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.out.flush(),
        }
    }
}
