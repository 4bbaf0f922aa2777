//! The 16 KiB XIP cache: two ways, 8-byte lines (RP2040 datasheet 2.6.3.1, RP2350 datasheet 4.4.1).
//!
//! Only tags are stored: the data always comes from the flash array, which the firmware can only change through the
//! SSI, and it must then flush the cache, as on the chip. The datasheet does not name the replacement policy; a
//! pseudo-random way is replaced, as measured programs show (docs/evidence/cache.md).
//!
//! RP2040 fills a line one 32-bit word at a time, each by a separate flash read: pico-feedback issue 307 reports
//! half-filled lines on the chip, and a flash read of the SSI in XIP mode is one 32-bit frame (datasheet 4.10).

mod placement;
mod runs;

use std::collections::BTreeMap;

use placement::Placement;
use runs::Runs;

use serde::{Deserialize, Serialize};
use serde_big_array::Array;

/// Binary logarithm of a line's bytes.
pub const LINE_BYTES_LOG2: u32 = 3;
const SETS: usize = 1024;
/// Seed of the shift register that chooses victims, and its feedback taps (x^16 + x^14 + x^13 + x^11 + 1: all 65535
/// states but 0).
const VICTIM_SEED: u16 = 1;
const VICTIM_TAPS: u16 = 0xb400;
/// Valid bits of a line's words 0 and 1, and the start of the tag.
const TAG_SHIFT: u32 = 2;
const BOTH_WORDS: u32 = 3;
/// No line, and none before one.
const NO_LINE: u32 = u32::MAX - 1;

/// Number of misses of a line, with the line that it replaced: both as flash offsets.
pub type Evictions = BTreeMap<(u32, Option<u32>), u64>;

/// The tags of the XIP cache, and what its misses cost.
#[derive(Serialize, Deserialize)]
pub struct XipCache {
    /// Tag and valid bits of each way; 0: nothing valid. Under a `Placement`: some of the lines that it holds, each in
    /// its own set, so that translated code finds them as ever. A hit changes nothing in the cache, so it is no matter
    /// which of the two finds it.
    pub lines: Box<Array<[u32; 2], SETS>>,
    placement: Option<Box<Placement>>,
    /// How often it has gained or lost a word.
    #[serde(skip)]
    changes: u64,
    #[serde(skip)]
    runs: Runs,
    /// RP2350: the ways of each set that are not replaced, a bit for each.
    pinned: Box<Array<u8, SETS>>,
    /// Shift register whose lowest bit selects the way that the next new line replaces.
    victim: u16,
    enabled: bool,
    /// Misses cost time; off to find out their total cost.
    pub cost_enabled: bool,
    powered_down: bool,
    /// Cycles of clk_sys for which one 32-bit flash read occupies the bus; set by the SSI from its registers.
    pub miss_cycles: u32,
    /// Of them, those of one SCK.
    pub sck_cycles: u32,
    /// RP2350: a miss fills the whole line.
    pub whole_lines: bool,
    /// Cycles of a miss of the line after the one that was filled last, while that can go on.
    pub next_line_cycles: Option<u32>,
    filled: u32,
    /// Cycles of one uncached 32-bit read.
    pub uncached_cycles: u32,
    /// The flash cannot answer XIP reads now (SSI disabled or set up for serial transfers, chip busy): maintained by the SSI.
    pub offline: bool,
    /// Flash offset of a line that was read while the flash was offline; the bus reports it.
    pub missed_offline: Option<u32>,
    /// Counted accesses, and those of them that read the flash, since power-on.
    pub accesses: u64,
    /// Those of them that read the flash.
    pub misses: u64,
    /// Missed and replaced lines, while requested.
    #[serde(skip)]
    pub evictions: Option<Box<Evictions>>,
    /// Cycles that core 0 has waited for misses since power-on.
    pub stalled: u64,
    /// Missed lines, while requested.
    #[serde(skip)]
    pub(crate) missed_lines: Option<Box<MissedLines>>,
}

impl Default for XipCache {
    fn default() -> Self {
        Self {
            lines: Box::new(Array([[0; 2]; SETS])),
            placement: None,
            changes: 0,
            runs: Runs::default(),
            pinned: Box::new(Array([0; SETS])),
            victim: VICTIM_SEED,
            enabled: true,
            cost_enabled: true,
            powered_down: false,
            miss_cycles: 0,
            sck_cycles: 0,
            whole_lines: false,
            next_line_cycles: None,
            filled: NO_LINE,
            uncached_cycles: 0,
            offline: true,
            missed_offline: None,
            accesses: 0,
            misses: 0,
            evictions: None,
            stalled: 0,
            missed_lines: None,
        }
    }
}

impl XipCache {
    /// Draws, from `seed`, other sets for the flash's content, and another sequence of victims (docs/compare.md).
    pub fn place(&mut self, seed: u32) {
        let (placement, victim) = Placement::drawn(seed);
        self.flush();
        (self.placement, self.victim) = (Some(Box::new(placement)), victim);
    }

    /// Accesses the word at flash offset `offset`; returns its wait states.
    #[inline]
    pub fn access_word(&mut self, offset: u32) -> u32 {
        self.accesses += 1;
        self.look_up(offset)
    }

    /// Looks up an access that is counted already; returns its wait states.
    #[inline]
    pub fn look_up(&mut self, offset: u32) -> u32 {
        let line = offset >> LINE_BYTES_LOG2;
        let word = 1 << ((offset >> 2) & 1);
        let other = BOTH_WORDS & !word;
        let wanted = ((line >> 10) << TAG_SHIFT) | BOTH_WORDS;
        let ways = &self.lines[line as usize & (SETS - 1)];
        if (ways[0] | other) == wanted || (ways[1] | other) == wanted {
            return 0;
        }
        self.miss(line, word)
    }

    #[cold]
    fn miss(&mut self, line: u32, word: u32) -> u32 {
        if self.placement.as_ref().is_some_and(|placement| placement.words(line) & word != 0) {
            self.show(line);
            return 0;
        }
        self.misses += 1;
        let word = if self.whole_lines { BOTH_WORDS } else { word };
        if let Some(missed) = &mut self.missed_lines {
            missed.count(line);
        }
        if self.offline {
            self.missed_offline = Some(line << LINE_BYTES_LOG2);
        }
        if self.enabled {
            let (set, tag) = self.place_of(line);
            let way = self.victim as usize & 1;
            let pinned = self.pinned[set] >> way & 1 != 0;
            self.changes += 1;
            let ways = self.ways(set);
            let gone =
                if let Some(held) = ways.iter_mut().find(|way| **way & BOTH_WORDS != 0 && **way >> TAG_SHIFT == tag) {
                    *held |= word;
                    None
                } else if pinned {
                    self.next_victim();
                    return self.cost(self.uncached_cycles);
                } else {
                    let gone = std::mem::replace(&mut ways[way], tag << TAG_SHIFT | word);
                    self.next_victim();
                    (gone & BOTH_WORDS != 0).then(|| self.line_of(set, gone >> TAG_SHIFT))
                };
            if let Some(evictions) = &mut self.evictions {
                let gone = gone.map(|line| line << LINE_BYTES_LOG2);
                *evictions.entry((line << LINE_BYTES_LOG2, gone)).or_default() += 1;
            }
            if self.placement.is_some() {
                gone.into_iter().for_each(|line| self.hide(line));
                self.show(line);
            }
        }
        let follows = std::mem::replace(&mut self.filled, line) == line.wrapping_sub(1);
        self.cost(self.next_line_cycles.filter(|_| follows).unwrap_or(self.miss_cycles))
    }

    /// Returns the set of a line, and what tells it from the other lines of that set.
    fn place_of(&self, line: u32) -> (usize, u32) {
        match &self.placement {
            None => (line as usize & (SETS - 1), line >> SETS.ilog2()),
            Some(placement) => (placement.set(line), line),
        }
    }

    fn line_of(&self, set: usize, tag: u32) -> u32 {
        if self.placement.is_some() { tag } else { tag << SETS.ilog2() | set as u32 }
    }

    fn ways(&mut self, set: usize) -> &mut [u32; 2] {
        match &mut self.placement {
            None => &mut self.lines[set],
            Some(placement) => &mut placement.lines[set],
        }
    }

    /// Lets `lines` find a line of the placement.
    fn show(&mut self, line: u32) {
        let Some(placement) = &self.placement else { return };
        let content = line >> SETS.ilog2() << TAG_SHIFT | placement.words(line);
        let ways = &mut self.lines[line as usize & (SETS - 1)];
        let way = ways.iter().position(|way| *way >> TAG_SHIFT == content >> TAG_SHIFT);
        ways[way.unwrap_or_else(|| usize::from(ways[0] != 0))] = content;
    }

    /// Undoes `show`.
    fn hide(&mut self, line: u32) {
        for way in &mut self.lines[line as usize & (SETS - 1)] {
            if *way >> TAG_SHIFT == line >> SETS.ilog2() {
                *way = 0;
            }
        }
    }

    fn next_victim(&mut self) {
        self.victim = (self.victim >> 1) ^ ((self.victim & 1) * VICTIM_TAPS);
    }

    fn cost(&mut self, cycles: u32) -> u32 {
        let cycles = if self.cost_enabled { cycles } else { 0 };
        self.stalled += u64::from(cycles);
        cycles
    }

    /// Returns the tags, two per set: `tag << 2` with the valid bits of both words.
    pub fn lines(&self) -> *const u32 {
        self.lines.as_ptr().cast()
    }

    /// Performs one read that bypasses the cache; returns its wait states.
    pub fn access_uncached(&mut self, offset: u32) -> u32 {
        self.accesses += 1;
        self.misses += 1;
        if let Some(missed) = &mut self.missed_lines {
            missed.count(offset >> LINE_BYTES_LOG2);
        }
        if self.offline {
            self.missed_offline = Some(offset);
        }
        self.cost(self.uncached_cycles)
    }

    /// Performs XIP_CTRL.FLUSH.
    pub fn flush(&mut self) {
        self.changes += 1;
        self.lines.fill([0; 2]);
        self.pinned.fill(0);
        if let Some(placement) = &mut self.placement {
            placement.lines.fill([0; 2]);
        }
    }

    /// Ends the transfer that the next line could have continued.
    pub fn deselect(&mut self) {
        self.filled = NO_LINE;
    }

    /// Invalidates one of the lines of a set, whatever it holds.
    pub fn invalidate_way(&mut self, set: u32, way: u32) {
        self.set_way(set as usize & (SETS - 1), way as usize & 1, 0, false);
    }

    fn set_way(&mut self, set: usize, way: usize, content: u32, pinned: bool) {
        self.changes += 1;
        let gone = std::mem::replace(&mut self.ways(set)[way], content);
        if self.placement.is_some() {
            self.hide(gone >> TAG_SHIFT);
        }
        self.pinned[set] = self.pinned[set] & !(1 << way) | u8::from(pinned) << way;
    }

    /// Allocates a line, which then stays: in the way that its number names beside the set.
    pub fn pin(&mut self, line: u32) {
        self.invalidate(line);
        let (set, tag) = self.place_of(line);
        self.set_way(set, (line >> 10) as usize & 1, tag << TAG_SHIFT | BOTH_WORDS, true);
    }

    /// Returns whether a line is pinned.
    pub fn is_pinned(&mut self, line: u32) -> bool {
        let ((set, tag), way) = (self.place_of(line), line >> 10 & 1);
        self.pinned[set] >> way & 1 != 0 && self.ways(set)[way as usize] >> TAG_SHIFT == tag
    }

    /// Invalidates a line after a write to its cached address (datasheet 2.6.3.2).
    pub fn invalidate(&mut self, line: u32) {
        let (set, tag) = self.place_of(line);
        for way in 0..2 {
            if self.ways(set)[way] >> TAG_SHIFT == tag {
                self.set_way(set, way, 0, false);
            }
        }
    }

    /// Resets the XIP block: enabled, flushed, counters zero.
    pub fn reset(&mut self) {
        self.flush();
        self.configure(true, false);
        self.accesses = 0;
        self.misses = 0;
    }

    /// Sets XIP_CTRL.CTRL: EN and POWER_DOWN. A disabled cache with power is 16 KiB of SRAM at 0x1500_0000.
    pub fn configure(&mut self, enabled: bool, powered_down: bool) {
        if !enabled {
            self.flush();
        }
        self.enabled = enabled;
        self.powered_down = powered_down;
    }

    /// Returns whether the data memory can be used as SRAM.
    pub fn is_sram(&self) -> bool {
        !self.enabled && !self.powered_down
    }
}

/// Misses by line since they were last taken.
pub(crate) struct MissedLines {
    counts: Box<[u32]>,
    /// Lines with misses.
    lines: Vec<u32>,
}

impl Default for MissedLines {
    fn default() -> Self {
        // Covers 16 MiB, the XIP address space.
        Self { counts: vec![0; 1 << (24 - LINE_BYTES_LOG2)].into_boxed_slice(), lines: Vec::new() }
    }
}

impl MissedLines {
    fn count(&mut self, line: u32) {
        if let Some(count) = self.counts.get_mut(line as usize) {
            if *count == 0 {
                self.lines.push(line);
            }
            *count += 1;
        }
    }

    /// Takes the flash offsets in order, and the number of misses of each.
    pub(crate) fn take(&mut self) -> Vec<(u32, u32)> {
        self.lines.sort_unstable();
        let counts = &mut self.counts;
        let taken = self.lines.drain(..);
        taken.map(|line| (line << LINE_BYTES_LOG2, std::mem::take(&mut counts[line as usize]))).collect()
    }
}

#[cfg(test)]
mod tests;
