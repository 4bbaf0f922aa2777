//! The regulatory data, which the host loads in pieces, and its checks.

use crc32fast::hash as crc32;
use sim::Snapshot;

const BEGIN: u16 = 2;
const END: u16 = 4;
const HEADER: usize = 12;
const TYPE_CLM: u16 = 2;
const MOST: usize = 64 << 10;
const STATUS_BAD: u32 = 1;

#[derive(Debug, Default, Snapshot)]
pub(crate) struct Clm {
    pieces: Vec<u8>,
    /// The accepted data.
    blob: Option<Vec<u8>>,
    failed: bool,
}

impl Clm {
    /// Loads one piece: flags, type, length, a CRC that drivers leave empty, then data. Returns false if it is not a
    /// piece.
    pub(crate) fn load(&mut self, argument: &[u8]) -> bool {
        let Some(header) = argument.get(..HEADER) else { return false };
        let flags = u16::from_le_bytes([header[0], header[1]]);
        let kind = u16::from_le_bytes([header[2], header[3]]);
        let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let Some(data) = argument.get(HEADER..HEADER.saturating_add(length)) else { return false };
        if flags & BEGIN != 0 {
            (self.pieces, self.blob, self.failed) = (Vec::new(), None, false);
        }
        if kind != TYPE_CLM || self.pieces.len() + data.len() > MOST {
            self.failed = true;
            return false;
        }
        self.pieces.extend(data);
        if flags & END != 0 {
            let pieces = std::mem::take(&mut self.pieces);
            self.failed |= !is_whole(&pieces);
            self.blob = (!self.failed).then_some(pieces);
        }
        true
    }

    pub(crate) fn status(&self) -> u32 {
        if self.failed { STATUS_BAD } else { 0 }
    }

    /// Returns whether data is loaded: without it the radio transmits nothing.
    pub(crate) fn is_loaded(&self) -> bool {
        self.blob.is_some()
    }

    /// Returns the variable `clmver`.
    pub(crate) fn version(&self) -> String {
        let Some(blob) = &self.blob else { return "API: 0.0 Data: none".into() };
        const MARK: &[u8] = b"CLM DATA";
        let Some(at) = blob.windows(MARK.len()).position(|window| window == MARK) else { return String::new() };
        let tail = &blob[at + MARK.len()..];
        let number = |at: usize| tail.get(at..at + 2).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        let name: String =
            tail.iter().skip(6).take(20).take_while(|byte| **byte != 0).map(|&byte| byte as char).collect();
        format!("API: {}.{} Data: {name}", number(2), number(4))
    }
}

/// Checks `BLOB`, the header's length, the CRC of the rest of the header, and in the header the list of parts: kind,
/// start, length, CRC.
fn is_whole(blob: &[u8]) -> bool {
    let word = |at: usize| Some(u32::from_le_bytes(blob.get(at..at.checked_add(4)?)?.try_into().ok()?));
    let parts = || -> Option<bool> {
        let header = word(4)? as usize;
        if !blob.starts_with(b"BLOB") || crc32(blob.get(12..header)?) != word(8)? {
            return Some(false);
        }
        let mut entry = 20;
        let mut any = false;
        while entry + 16 <= header {
            let (begin, length) = (word(entry + 4)? as usize, word(entry + 8)? as usize);
            if length != 0 {
                any = true;
                if crc32(blob.get(begin..begin.checked_add(length)?)?) != word(entry + 12)? {
                    return Some(false);
                }
            }
            entry += 20;
        }
        Some(any)
    };
    parts() == Some(true)
}
