//! The 16 KiB XIP cache: two ways, 8-byte lines (datasheet 2.6.3.1).
//!
//! Only tags are kept: the data always comes from the flash array, which the firmware can only change through the SSI
//! and, as on the chip, must flush the cache after. The datasheet does not name the replacement policy; the way that was
//! filled or hit longer ago is replaced.
//!
//! A line is filled one 32-bit word at a time, each by its own flash read: pico-feedback issue 307 reports lines half
//! filled on the chip, and a flash read of the SSI in XIP mode is one 32-bit frame (datasheet 4.10).

pub const LINE_BYTES_LOG2: u32 = 3;
const SETS: usize = 1024;
/// Valid bit of a line's words 0 and 1, and where the tag begins.
const TAG_SHIFT: u32 = 2;
const BOTH_WORDS: u32 = 3;

pub struct XipCache {
    /// Tag and valid bits of each way; 0: nothing valid.
    lines: Box<[[u32; 2]; SETS]>,
    /// Way that was used last.
    recent: Box<[u8; SETS]>,
    enabled: bool,
    /// Whether misses cost anything; off to see what they take.
    pub cost_enabled: bool,
    powered_down: bool,
    /// Cycles of clk_sys that one 32-bit flash read keeps the bus waiting; set by the SSI from its registers.
    pub miss_cycles: u32,
    /// Cycles of one uncached 32-bit read.
    pub uncached_cycles: u32,
    /// The flash cannot answer XIP reads now (SSI disabled or set up for serial transfers, chip busy): maintained by the SSI.
    pub offline: bool,
    /// Flash offset of a line that was read while the flash was offline; the bus reports it.
    pub(crate) missed_offline: Option<u32>,
    /// Counted accesses and those of them that went to the flash, since power-on.
    pub(crate) accesses: u64,
    pub(crate) misses: u64,
    /// Cycles that core 0 has waited for misses since power-on.
    pub(crate) stalled: u64,
    /// Misses since power-on by 4 KiB page of flash, while somebody wants to know.
    pub(crate) pages: Option<Box<[u32]>>,
}

impl Default for XipCache {
    fn default() -> Self {
        Self {
            lines: Box::new([[0; 2]; SETS]),
            recent: Box::new([0; SETS]),
            enabled: true,
            cost_enabled: true,
            powered_down: false,
            miss_cycles: 0,
            uncached_cycles: 0,
            offline: true,
            missed_offline: None,
            accesses: 0,
            misses: 0,
            stalled: 0,
            pages: None,
        }
    }
}

impl XipCache {
    /// One access to the word that holds flash offset `offset`: the wait states it costs.
    #[inline]
    pub fn access_word(&mut self, offset: u32) -> u32 {
        let (line, word) = (offset >> LINE_BYTES_LOG2, 1 << ((offset >> 2) & 1));
        let set = (line as usize) & (SETS - 1);
        // A way as it is where the tag is this one and this word is valid.
        let wanted = ((line >> 10) << TAG_SHIFT) | word;
        let ways = &self.lines[set];
        self.accesses += 1;
        let other = BOTH_WORDS & !word;
        if (ways[0] | other) == (wanted | other) {
            self.recent[set] = 0;
            0
        } else if (ways[1] | other) == (wanted | other) {
            self.recent[set] = 1;
            0
        } else {
            self.miss(set, wanted)
        }
    }

    #[cold]
    fn miss(&mut self, set: usize, wanted: u32) -> u32 {
        self.misses += 1;
        if let Some(pages) = &mut self.pages {
            let at = ((wanted >> TAG_SHIFT) << 13) | ((set as u32) << LINE_BYTES_LOG2);
            count_page(pages, at);
        }
        if self.offline {
            self.missed_offline = Some(((wanted >> TAG_SHIFT) << 13) | ((set as u32) << LINE_BYTES_LOG2));
        }
        if !self.enabled {
            return self.cost(self.miss_cycles);
        }
        let ways = &mut self.lines[set];
        let held = ways.iter().position(|&way| way & BOTH_WORDS != 0 && way >> TAG_SHIFT == wanted >> TAG_SHIFT);
        let way = held.unwrap_or(1 - usize::from(self.recent[set]));
        let valid = if held.is_some() { ways[way] & BOTH_WORDS } else { 0 };
        ways[way] = wanted | valid;
        self.recent[set] = way as u8;
        self.cost(self.miss_cycles)
    }

    fn cost(&mut self, cycles: u32) -> u32 {
        let cycles = if self.cost_enabled { cycles } else { 0 };
        self.stalled += u64::from(cycles);
        cycles
    }

    /// One read that bypasses the cache: its wait states.
    pub fn access_uncached(&mut self, offset: u32) -> u32 {
        self.accesses += 1;
        self.misses += 1;
        if let Some(pages) = &mut self.pages {
            count_page(pages, offset);
        }
        if self.offline {
            self.missed_offline = Some(offset);
        }
        self.cost(self.uncached_cycles)
    }

    /// XIP_CTRL.FLUSH.
    pub fn flush(&mut self) {
        self.lines.fill([0; 2]);
    }

    /// A write to a cached address invalidates its line (datasheet 2.6.3.2).
    pub fn invalidate(&mut self, line: u32) {
        let set = (line as usize) & (SETS - 1);
        for way in &mut self.lines[set] {
            if *way >> TAG_SHIFT == line >> 10 {
                *way = 0;
            }
        }
    }

    /// A reset of the XIP block: enabled, flushed, counters zero.
    pub fn reset(&mut self) {
        self.flush();
        self.configure(true, false);
        self.accesses = 0;
        self.misses = 0;
    }

    /// XIP_CTRL.CTRL: EN and POWER_DOWN. A disabled cache that has power is 16 KiB of SRAM at 0x1500_0000.
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

    /// Whether the data memory can be used as SRAM.
    pub fn is_sram(&self) -> bool {
        !self.enabled && !self.powered_down
    }
}

const PAGE_BYTES_LOG2: u32 = 12;
/// Of 16 MiB, the most that XIP can address.
pub(crate) const PAGES: usize = 1 << (24 - PAGE_BYTES_LOG2);

fn count_page(pages: &mut [u32], offset: u32) {
    if let Some(count) = pages.get_mut((offset >> PAGE_BYTES_LOG2) as usize) {
        *count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> XipCache {
        XipCache { miss_cycles: 50, uncached_cycles: 48, offline: false, ..XipCache::default() }
    }

    fn both_words(c: &mut XipCache, line: u32) -> u32 {
        c.access_word(line << LINE_BYTES_LOG2) + c.access_word((line << LINE_BYTES_LOG2) + 4)
    }

    #[test]
    fn words_of_a_line_fill_separately() {
        let mut c = cache();
        assert_eq!([0, 2, 4, 6, 0, 4].map(|at| c.access_word(at)), [50, 0, 50, 0, 0, 0]);
        assert_eq!(both_words(&mut c, 0), 0);
        assert_eq!(both_words(&mut c, 1), 100);
        assert_eq!(c.access_word(16), 50);
        assert_eq!(both_words(&mut c, 2), 50, "only the missing half");
        assert_eq!((c.accesses, c.misses), (13, 6));
    }

    #[test]
    fn two_ways_keep_the_recent_line() {
        let mut c = cache();
        let at = |way: u32| way << 13;
        assert_eq!([at(0), at(1), at(0), at(2)].map(|a| c.access_word(a)), [50, 50, 0, 50]);
        assert_eq!([at(0), at(1)].map(|a| c.access_word(a)), [0, 50]);
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
}
