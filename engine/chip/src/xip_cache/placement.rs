//! Another place of the flash's content in the cache, as if the linker had laid it out otherwise.
//!
//! Flash is cut into pieces, each of which begins at another set. A piece keeps its lines and their order. Other lines
//! share a set then; addresses, contents and the words of a line stay as they are.

use sim::Snapshot;

use super::{LINE_BYTES_LOG2, SETS};

/// Lines of a piece: 4 KiB. A whole function mostly fits.
const PIECE_LINES: u32 = 4096 >> LINE_BYTES_LOG2;

/// Sets of the pieces.
#[derive(Snapshot)]
pub(super) struct Placement {
    seed: u32,
    /// Lines by which the first cut lies before the end of a piece.
    phase: u32,
}

impl Placement {
    /// Draws one, and a state of the shift register that chooses victims.
    pub(super) fn drawn(seed: u32) -> (Self, u16) {
        let phase = mixed(seed, u32::MAX) % PIECE_LINES;
        let victim = (mixed(seed, u32::MAX - 1) % u32::from(u16::MAX)) as u16 + 1;
        (Self { seed, phase }, victim)
    }

    /// Returns the set of a line.
    pub(super) fn set(&self, line: u32) -> usize {
        let piece = (line + self.phase) / PIECE_LINES;
        line.wrapping_add(mixed(self.seed, piece)) as usize & (SETS - 1)
    }
}

/// Returns an even mix of two numbers (the last steps of MurmurHash3).
fn mixed(seed: u32, number: u32) -> u32 {
    let mut bits = u64::from(seed) << 32 | u64::from(number);
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        bits = (bits ^ bits >> 33).wrapping_mul(factor);
    }
    (bits ^ bits >> 33) as u32
}
