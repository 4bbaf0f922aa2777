//! The 16 KiB XIP cache: two ways, 8-byte lines (datasheet 2.6.3.1).
//!
//! Only tags are stored: the data always comes from the flash array, which the firmware can only change through the
//! SSI, and it must then flush the cache, as on the chip. The datasheet does not name the replacement policy; a
//! pseudo-random way is replaced, as measured programs show (docs/evidence/cache.md).
//!
//! A line is filled one 32-bit word at a time, each by a separate flash read: pico-feedback issue 307 reports
//! half-filled lines on the chip, and a flash read of the SSI in XIP mode is one 32-bit frame (datasheet 4.10).

use std::collections::BTreeMap;

pub const LINE_BYTES_LOG2: u32 = 3;
const SETS: usize = 1024;
/// Seed of the shift register that chooses victims, and its feedback taps (x^16 + x^14 + x^13 + x^11 + 1: all 65535
/// states but 0).
const VICTIM_SEED: u16 = 1;
const VICTIM_TAPS: u16 = 0xb400;
/// Valid bits of a line's words 0 and 1, and the start of the tag.
const TAG_SHIFT: u32 = 2;
const BOTH_WORDS: u32 = 3;

/// Number of misses of a line, with the line that it replaced: both as flash offsets.
pub type Evictions = BTreeMap<(u32, Option<u32>), u64>;

pub struct XipCache {
    /// Tag and valid bits of each way; 0: nothing valid.
    lines: Box<[[u32; 2]; SETS]>,
    /// Shift register whose lowest bit selects the way that the next new line replaces.
    victim: u16,
    enabled: bool,
    /// Misses cost time; off to find out their total cost.
    pub cost_enabled: bool,
    powered_down: bool,
    /// Cycles of clk_sys for which one 32-bit flash read occupies the bus; set by the SSI from its registers.
    pub miss_cycles: u32,
    /// Cycles of one uncached 32-bit read.
    pub uncached_cycles: u32,
    /// The flash cannot answer XIP reads now (SSI disabled or set up for serial transfers, chip busy): maintained by the SSI.
    pub offline: bool,
    /// Flash offset of a line that was read while the flash was offline; the bus reports it.
    pub(crate) missed_offline: Option<u32>,
    /// Counted accesses, and those of them that read the flash, since power-on.
    pub(crate) accesses: u64,
    pub(crate) misses: u64,
    /// Missed and replaced lines, while requested.
    pub evictions: Option<Box<Evictions>>,
    /// Cycles that core 0 has waited for misses since power-on.
    pub(crate) stalled: u64,
    /// Missed lines, while requested.
    pub(crate) missed_lines: Option<Box<MissedLines>>,
}

impl Default for XipCache {
    fn default() -> Self {
        Self {
            lines: Box::new([[0; 2]; SETS]),
            victim: VICTIM_SEED,
            enabled: true,
            cost_enabled: true,
            powered_down: false,
            miss_cycles: 0,
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
    /// Accesses the word at flash offset `offset`; returns its wait states.
    #[inline]
    pub fn access_word(&mut self, offset: u32) -> u32 {
        self.accesses += 1;
        self.look_up(offset)
    }

    /// Looks up an access that is counted already; returns its wait states.
    #[inline]
    pub(crate) fn look_up(&mut self, offset: u32) -> u32 {
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
        self.misses += 1;
        if let Some(missed) = &mut self.missed_lines {
            missed.count(line);
        }
        let tag = line >> 10;
        let ways = &mut self.lines[line as usize & (SETS - 1)];
        if self.offline {
            self.missed_offline = Some(line << LINE_BYTES_LOG2);
        }
        if self.enabled {
            if let Some(held) = ways.iter_mut().find(|way| **way & BOTH_WORDS != 0 && **way >> TAG_SHIFT == tag) {
                *held |= word;
                if let Some(evictions) = &mut self.evictions {
                    *evictions.entry((line << LINE_BYTES_LOG2, None)).or_default() += 1;
                }
            } else {
                let lowest = self.victim & 1;
                if let Some(evictions) = &mut self.evictions {
                    let gone = ways[usize::from(lowest)];
                    let place = |tag: u32| (tag << 13) | ((line & (SETS as u32 - 1)) << LINE_BYTES_LOG2);
                    let gone = (gone & BOTH_WORDS != 0).then(|| place(gone >> TAG_SHIFT));
                    *evictions.entry((line << LINE_BYTES_LOG2, gone)).or_default() += 1;
                }
                ways[usize::from(lowest)] = tag << TAG_SHIFT | word;
                self.victim = (self.victim >> 1) ^ (lowest * VICTIM_TAPS);
            }
        }
        self.cost(self.miss_cycles)
    }

    fn cost(&mut self, cycles: u32) -> u32 {
        let cycles = if self.cost_enabled { cycles } else { 0 };
        self.stalled += u64::from(cycles);
        cycles
    }

    /// Returns the tags, two per set: `tag << 2` with the valid bits of both words.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn lines(&self) -> *const u32 {
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
        self.lines.fill([0; 2]);
    }

    /// Invalidates a line after a write to its cached address (datasheet 2.6.3.2).
    pub fn invalidate(&mut self, line: u32) {
        let set = (line as usize) & (SETS - 1);
        for way in &mut self.lines[set] {
            if *way >> TAG_SHIFT == line >> 10 {
                *way = 0;
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

    pub fn enabled(&self) -> bool {
        self.enabled
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
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    fn cache() -> XipCache {
        XipCache { miss_cycles: 50, uncached_cycles: 48, offline: false, ..XipCache::default() }
    }

    #[test]
    fn words_of_a_line_fill_separately() {
        let mut c = cache();
        assert_eq!([0, 2, 4, 6, 0, 4].map(|at| c.access_word(at)), [50, 0, 50, 0, 0, 0]);
        assert_eq!((c.accesses, c.misses), (6, 2));
    }

    #[test]
    fn missed_lines_are_reported_once() {
        let mut c = cache();
        c.access_word(0);
        c.missed_lines = Some(Box::default());
        for at in [8, 12, 0x2000, 8, 0x40] {
            c.access_word(at);
        }
        c.access_uncached(0x44);
        let mut taken = || c.missed_lines.as_mut().map(|lines| lines.take());
        assert_eq!(taken(), Some(vec![(8, 2), (0x40, 2), (0x2000, 1)]));
        assert_eq!(taken(), Some(vec![]));
    }

    #[test]
    fn three_lines_in_turn_miss_twice_in_three() {
        let mut c = cache();
        for access in 0..30_000 {
            c.access_word((access % 3) << 13);
        }
        // After a miss the next line is in the other way or was replaced, depending on the victim's bit: the next miss
        // is one access later or two.
        assert!((19_800..20_200).contains(&c.misses), "{}", c.misses);
    }

    #[test]
    fn the_shift_register_takes_every_state_but_zero() {
        let mut c = cache();
        let mut states = HashSet::new();
        for line in 0..65_535u32 {
            c.access_word(line << LINE_BYTES_LOG2);
            assert!(states.insert(c.victim));
        }
        assert_eq!(c.victim, VICTIM_SEED);
    }

    /// The simplest possible model of the cache.
    #[derive(Default)]
    struct Plain {
        ways: HashMap<(u32, u32), (u32, HashSet<u32>)>,
        victims: Vec<u32>,
    }

    impl Plain {
        fn hits(&mut self, word: u32) -> bool {
            let (line, set) = (word / 2, word / 2 % 1024);
            for way in 0..2 {
                if let Some((held, words)) = self.ways.get_mut(&(set, way))
                    && *held == line
                {
                    return !words.insert(word);
                }
            }
            let way = self.victims.remove(0);
            self.ways.insert((set, way), (line, HashSet::from([word])));
            false
        }
    }

    #[derive(Clone, Debug)]
    enum Action {
        Read(u32),
        Invalidate(u32),
        Flush,
    }

    proptest! {
        #[test]
        fn does_as_the_plain_cache(
            actions in prop::collection::vec(
                // Few sets and tags, so that lines collide.
                (0..200u32, 0..3u32, 0..4u32, 0..2u32).prop_map(|(kind, tag, set, word)| {
                    let at = (tag << 11) + (set << 1) + word;
                    match kind {
                        0 => Action::Flush,
                        1..=10 => Action::Invalidate(at),
                        _ => Action::Read(at),
                    }
                }),
                0..400,
            )
        ) {
            let mut chooser = cache();
            let victims = (0..400).map(|line| {
                let way = u32::from(chooser.victim & 1);
                chooser.access_word(line << LINE_BYTES_LOG2);
                way
            });
            let mut plain = Plain { victims: victims.collect(), ..Plain::default() };
            let mut c = cache();
            for action in actions {
                match action {
                    Action::Read(word) => {
                        let expected = if plain.hits(word) { 0 } else { 50 };
                        prop_assert_eq!(c.access_word(word << 2), expected);
                    }
                    Action::Invalidate(word) => {
                        plain.ways.retain(|_, (line, _)| *line != word / 2);
                        c.invalidate(word / 2);
                    }
                    Action::Flush => {
                        plain.ways.clear();
                        c.flush();
                    }
                }
            }
        }
    }

    #[test]
    fn invalidation_and_flush() {
        let mut c = cache();
        c.access_word(8);
        c.invalidate(1);
        assert_eq!(c.access_word(8), 50);
        c.flush();
        assert_eq!(c.access_word(8), 50);
        c.configure(false, false);
        assert!(c.is_sram());
        assert_eq!([c.access_word(8), c.access_word(8)], [50, 50]);
        assert_eq!(c.missed_offline, None);
        c.offline = true;
        c.configure(true, false);
        c.access_word(0x2468);
        assert_eq!(c.missed_offline, Some(0x2468));
    }

    /// The first new line goes into way 1 and the next ten into way 0.
    #[test]
    fn evictions_name_the_replaced_lines() {
        let mut c = cache();
        c.access_word(0x2468);
        c.evictions = Some(Box::default());
        for at in [0x246c, 0x446c, 0x4468, 0x6468, 0x446c, 0x446c] {
            c.access_word(at);
        }
        c.flush();
        c.access_word(0x446c);
        let expected = [
            ((0x2468, None), 1), // its other word
            ((0x4468, None), 3), // into an empty way, its other word, and after the flush
            ((0x4468, Some(0x6468)), 1),
            ((0x6468, Some(0x4468)), 1),
        ];
        assert_eq!(c.evictions.as_deref(), Some(&Evictions::from(expected)));
    }

    #[test]
    fn uncached_reads_miss_and_wait() {
        let mut c = cache();
        assert_eq!([c.access_uncached(0x44), c.access_uncached(0x44)], [48, 48]);
        assert_eq!((c.accesses, c.misses, c.stalled, c.missed_offline), (2, 2, 96, None));
        assert_eq!(c.access_word(0x44), 50);
        assert_eq!((c.accesses, c.misses, c.stalled), (3, 3, 146));
        c.cost_enabled = false;
        assert_eq!([c.access_uncached(0x44), c.access_word(0x80)], [0, 0]);
        assert_eq!((c.accesses, c.misses, c.stalled), (5, 5, 146));
        c.offline = true;
        c.access_uncached(0x1234);
        assert_eq!(c.missed_offline, Some(0x1234));
    }

    #[test]
    fn a_reset_enables_and_empties_the_cache_and_clears_the_counts() {
        let mut c = cache();
        assert!(c.enabled() && !c.is_sram());
        c.configure(false, true);
        assert!(!c.enabled() && !c.is_sram());
        c.configure(true, false);
        c.access_word(8);
        c.configure(true, true);
        assert_eq!((c.access_word(8), c.is_sram()), (0, false));
        c.reset();
        assert_eq!((c.enabled(), c.is_sram(), c.accesses, c.misses), (true, false, 0, 0));
        assert_eq!(c.access_word(8), 50);
        c.configure(false, true);
        c.reset();
        assert!(c.enabled() && !c.is_sram());
    }

    #[test]
    fn invalidation_keeps_other_lines_of_the_set_and_of_the_tag() {
        let mut c = cache();
        for at in [0x2008, 0x4008, 0x2010] {
            c.access_word(at);
        }
        c.invalidate(0x2008 >> LINE_BYTES_LOG2);
        assert_eq!([0x4008, 0x2010, 0x2008].map(|at| c.access_word(at)), [0, 0, 50]);
    }
}
