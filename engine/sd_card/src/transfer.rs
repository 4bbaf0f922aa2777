//! Data blocks to and from the host (7.2.3, 7.2.4, 7.3.3).

use sim::{Ps, Snapshot};

use crate::crc::crc16;
use crate::medium::BLOCK;

pub(crate) const START: u8 = 0xfe;
pub(crate) const START_OF_MANY: u8 = 0xfc;
pub(crate) const STOP: u8 = 0xfd;

/// Data error token, sent instead of a block that cannot be read (7.3.3.3).
pub(crate) const OUT_OF_RANGE: u8 = 0x08;

/// Data response tokens for a written block (7.3.3.1): 0b101, 0b110 and 0b111 above the end bit, preceded by ones.
pub(crate) const ACCEPTED: u8 = 0xe5;
pub(crate) const CRC_WRONG: u8 = 0xeb;
pub(crate) const NOT_WRITTEN: u8 = 0xed;

/// The current data transfer.
#[derive(Debug, Snapshot)]
pub(crate) enum Transfer {
    None,
    Out(Out),
    In(In),
}

/// A transfer to the host.
#[derive(Debug, Snapshot)]
pub(crate) struct Out {
    /// Address of the next block in bytes; `None`: a register.
    pub(crate) next: Option<u64>,
    pub(crate) many: bool,
    pub(crate) ready: Ps,
    /// Token, data, CRC; or only an error token.
    pub(crate) bytes: Vec<u8>,
    pub(crate) sent: usize,
    pub(crate) first_at: Ps,
}

impl Out {
    pub(crate) fn new(next: Option<u64>, many: bool, ready: Ps, data: &[u8]) -> Self {
        let mut out = Self { next, many, ready, bytes: Vec::with_capacity(BLOCK + 3), sent: 0, first_at: 0 };
        out.load(data);
        out
    }

    /// Appends another block.
    pub(crate) fn load(&mut self, data: &[u8]) {
        self.bytes.clear();
        self.bytes.push(START);
        self.bytes.extend_from_slice(data);
        self.bytes.extend_from_slice(&crc16(data).to_be_bytes());
        self.sent = 0;
    }

    pub(crate) fn load_error(&mut self, token: u8) {
        self.bytes.clear();
        self.bytes.push(token);
        self.sent = 0;
    }

    /// Returns whether the last byte sent belongs to the block's data but is not its first.
    pub(crate) fn amid_data(&self) -> bool {
        (3..self.bytes.len() - 1).contains(&self.sent)
    }
}

/// A transfer from the host.
#[derive(Debug, Snapshot)]
pub(crate) struct In {
    /// Address of the next block in bytes.
    pub(crate) next: u64,
    pub(crate) many: bool,
    /// The token has arrived; data and CRC follow.
    pub(crate) open: bool,
    pub(crate) bytes: Vec<u8>,
    pub(crate) first_at: Ps,
}

impl In {
    pub(crate) fn new(next: u64, many: bool) -> Self {
        Self { next, many, open: false, bytes: Vec::with_capacity(BLOCK + 2), first_at: 0 }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.bytes.len() == BLOCK + 2
    }

    pub(crate) fn crc_fits(&self) -> bool {
        crc16(&self.bytes[..BLOCK]).to_be_bytes() == self.bytes[BLOCK..]
    }

    /// Returns whether the last byte received belongs to the block's data but is not its first.
    pub(crate) fn amid_data(&self) -> bool {
        (2..=BLOCK).contains(&self.bytes.len())
    }
}
