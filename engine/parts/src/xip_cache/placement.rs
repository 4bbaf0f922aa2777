//! Another place of the flash's content in the cache, as if the linker had laid it out otherwise.
//!
//! Flash is cut into pieces, each of which begins at another set. A piece keeps its lines and their order. Other lines
//! share a set then; addresses, contents and the words of a line stay as they are.

use sim::Snapshot;

use super::{BOTH_WORDS, LINE_BYTES_LOG2, SETS, TAG_SHIFT};

/// Lines of a piece: 4 KiB. A whole function mostly fits.
const PIECE_LINES: u32 = 4096 >> LINE_BYTES_LOG2;

/// Lines of a pane that are hidden one by one.
pub(super) const MANY_SHOWN: usize = 64;

/// Sets of the pieces, and what the cache holds under them.
#[derive(Snapshot)]
pub(super) struct Placement {
    /// `None`: the sets of the lines' own addresses.
    seed: Option<u32>,
    /// Lines by which the first cut lies before the end of a piece.
    phase: u32,
    /// The complete number of the line in each way, with its valid bits; 0: nothing valid.
    pub(super) lines: Box<[[u32; 2]; SETS]>,
    /// The page of the flash chip that each line came from, and the one that the next line comes from.
    pub(super) from: Box<[[u16; 2]; SETS]>,
    pub(super) page: u16,
    /// For each pane, the lines that translated code finds; [`MANY_SHOWN`]: these and more.
    pub(super) shown: [Vec<u32>; 4],
}

impl Placement {
    /// Draws one, and a state of the shift register that chooses victims.
    pub(super) fn drawn(seed: u32) -> (Self, u16) {
        let phase = mixed(seed, u32::MAX) % PIECE_LINES;
        let victim = (mixed(seed, u32::MAX - 1) % u32::from(u16::MAX)) as u16 + 1;
        (Self { phase, ..Self::of(Some(seed), Box::new([[0; 2]; SETS])) }, victim)
    }

    /// Returns that of a cache without one, which holds `lines`.
    pub(super) fn as_linked(lines: &[[u32; 2]; SETS]) -> Self {
        let complete =
            |set: usize, way: u32| (way & !BOTH_WORDS) << SETS.ilog2() | (set as u32) << TAG_SHIFT | way & BOTH_WORDS;
        let lines = std::array::from_fn(|set| lines[set].map(|way| if way == 0 { 0 } else { complete(set, way) }));
        Self::of(None, Box::new(lines))
    }

    fn of(seed: Option<u32>, lines: Box<[[u32; 2]; SETS]>) -> Self {
        Self { seed, phase: 0, lines, from: Box::new([[0; 2]; SETS]), page: 0, shown: Default::default() }
    }

    /// Returns the set of a line.
    pub(super) fn set(&self, line: u32) -> usize {
        let piece = (line + self.phase) / PIECE_LINES;
        line.wrapping_add(self.seed.map_or(0, |seed| mixed(seed, piece))) as usize & (SETS - 1)
    }

    /// Returns the valid bits of a line's words.
    pub(super) fn words(&self, line: u32) -> u32 {
        let held = |way: &&u32| **way & BOTH_WORDS != 0 && **way >> TAG_SHIFT == line;
        self.lines[self.set(line)].iter().find(held).map_or(0, |way| way & BOTH_WORDS)
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
