//! The 16 KiB XIP cache: two ways, 8-byte lines (RP2040 datasheet 2.6.3.1, RP2350 datasheet 4.4.1).
//!
//! Of flash only tags are stored: the data always comes from the flash array, which the firmware can only change through
//! the SSI or QMI, and it must then flush the cache, as on the chip. Lines of other memories have their data in
//! [`XipCache::data`], and the bus writes them back ([`XipCache::written_back`]). The datasheet does not name the
//! replacement policy; a pseudo-random way is replaced, as measured programs show (docs/evidence/cache.md).
//!
//! RP2040 fills a line one 32-bit word at a time, each by a separate flash read: pico-feedback issue 307 reports
//! half-filled lines on the chip, and a flash read of the SSI in XIP mode is one 32-bit frame (datasheet 4.10).

mod placement;
mod runs;

use std::collections::BTreeMap;

use placement::Placement;
use runs::Runs;

use sim::Snapshot;

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
/// Bytes of a line.
const LINE_BYTES: usize = 1 << LINE_BYTES_LOG2;
/// In the number of a line: it was filled with other content than its address has now.
const STALE: u32 = 1 << (27 - LINE_BYTES_LOG2);
/// Lines of the flash's window.
const FLASH_LINES: u32 = 1 << (24 - LINE_BYTES_LOG2);
/// Binary logarithm of the lines of a page and of a pane, which QMI translates the addresses of.
const PAGE_LINES_LOG2: u32 = 12 - LINE_BYTES_LOG2;
const PANE_LINES_LOG2: u32 = 22 - LINE_BYTES_LOG2;
/// Lines of a pane that are hidden one by one.
const MANY_SHOWN: usize = 64;

/// Number of misses of a line, with the line that it replaced: both as flash offsets.
pub type Evictions = BTreeMap<(u32, Option<u32>), u64>;

/// The tags of the XIP cache, and what its misses cost.
#[derive(Snapshot)]
pub struct XipCache {
    /// Tag and valid bits of each way; 0: nothing valid.
    lines: Box<[[u32; 2]; SETS]>,
    #[snapshot(skip)]
    held: Held,
    placement: Option<Placement>,
    apart: Option<Box<Apart>>,
    /// How often it has gained or lost a word.
    #[snapshot(skip)]
    changes: u64,
    #[snapshot(skip)]
    runs: Runs,
    /// RP2350: the ways of each set that are not replaced, a bit for each.
    pinned: Box<[u8; SETS]>,
    /// RP2350: the ways of each set whose data memory does not have yet.
    dirty: Box<[u8; SETS]>,
    /// RP2350: the data of lines that are not flash's, by [`Self::find`].
    pub data: Box<[[u8; LINE_BYTES]; 2 * SETS]>,
    /// Offsets and data of lines that were replaced before memory had them, in order.
    pub written_back: Vec<(u32, [u8; LINE_BYTES])>,
    /// Cycles that it takes to write a line back.
    pub write_back_cycles: u32,
    /// Some lines are stale.
    stale: bool,
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
    /// Cycles of the next miss, after a transfer of another chip select.
    pub next_miss_cycles: Option<u32>,
    /// Cycles of one uncached 32-bit read.
    pub uncached_cycles: u32,
    /// The flash cannot answer XIP reads now (SSI disabled or set up for serial transfers, chip busy): maintained by the SSI.
    pub offline: bool,
    /// Flash offset of a line that was read while the flash was offline; the bus reports it.
    pub missed_offline: Option<u32>,
    /// Flash offset of a stale line that was read; the bus reports it.
    pub read_stale: Option<u32>,
    /// Counted accesses, and those of them that read the flash, since power-on.
    pub accesses: u64,
    /// Those of them that read the flash.
    pub misses: u64,
    /// Missed and replaced lines, while requested.
    #[snapshot(skip)]
    pub evictions: Option<Box<Evictions>>,
    /// Cycles that core 0 has waited for misses since power-on.
    pub stalled: u64,
    /// Missed lines, while requested.
    #[snapshot(skip)]
    pub(crate) missed_lines: Option<Box<MissedLines>>,
}

/// Places of lines, once the addresses of flash are translated.
#[derive(Snapshot)]
struct Apart {
    /// The page of the flash chip that each line came from, and the one that the next line comes from.
    from: Box<[[u16; 2]; SETS]>,
    page: u16,
    /// For each pane, the lines that [`Held`] shows; [`MANY_SHOWN`]: these and more.
    #[snapshot(skip)]
    shown: [Vec<u32>; 4],
}

/// The words of flash that the cache holds, a byte for each, by which interpreter and translated code find them.
struct Held(Vec<u8>);

impl Default for Held {
    fn default() -> Self {
        Self(vec![0; 2 * FLASH_LINES as usize])
    }
}

impl Held {
    #[inline(always)]
    fn word(&self, word: u32) -> bool {
        self.0.get(word as usize).is_some_and(|&held| held != 0)
    }
}

impl Default for XipCache {
    fn default() -> Self {
        Self {
            lines: Box::new([[0; 2]; SETS]),
            held: Held::default(),
            placement: None,
            apart: None,
            changes: 0,
            runs: Runs::default(),
            pinned: Box::new([0; SETS]),
            dirty: Box::new([0; SETS]),
            data: Box::new([[0; LINE_BYTES]; 2 * SETS]),
            written_back: Vec::new(),
            write_back_cycles: 0,
            stale: false,
            victim: VICTIM_SEED,
            enabled: true,
            cost_enabled: true,
            powered_down: false,
            miss_cycles: 0,
            sck_cycles: 0,
            whole_lines: false,
            next_line_cycles: None,
            filled: NO_LINE,
            next_miss_cycles: None,
            uncached_cycles: 0,
            offline: true,
            missed_offline: None,
            read_stale: None,
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
        (self.placement, self.victim) = (Some(placement), victim);
    }

    /// Accesses the word at flash offset `offset`; returns its wait states.
    #[inline]
    pub fn access_word(&mut self, offset: u32) -> u32 {
        self.accesses += 1;
        if self.hits(offset) { 0 } else { self.miss(offset, true) }
    }

    /// Returns how often it has gained or lost a word.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns whether it shows the word at flash offset `offset`.
    #[inline]
    pub fn hits(&self, offset: u32) -> bool {
        self.held.word(offset >> 2)
    }

    /// Looks up a word that it does not show; returns its wait states. `shown`: it may show it from now on.
    #[cold]
    pub fn miss(&mut self, offset: u32, shown: bool) -> u32 {
        let (line, word) = (offset >> LINE_BYTES_LOG2, 1 << (offset >> 2 & 1));
        if self.apart.is_some()
            && let Some((set, way)) = self.way_of(line)
            && self.lines[set][way] & word != 0
        {
            self.show(line, if shown { self.lines[set][way] } else { 0 });
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
        let mut written_back = 0;
        if self.enabled {
            let before = self.written_back.len();
            if self.allocate(line, word, shown).is_none() {
                return self.cost(self.uncached_cycles);
            }
            written_back = self.write_back_cycles * (self.written_back.len() - before) as u32;
        }
        let follows = std::mem::replace(&mut self.filled, line) == line.wrapping_sub(1);
        let first = self.next_miss_cycles.take().unwrap_or(self.miss_cycles);
        self.cost(written_back + self.next_line_cycles.filter(|_| follows).unwrap_or(first))
    }

    /// Allocates words of a line that it does not hold; returns where its data are. `None`: the way to be replaced is
    /// pinned.
    fn allocate(&mut self, line: u32, word: u32, shown: bool) -> Option<usize> {
        self.changes += 1;
        let (set, tag) = self.place_of(line);
        if self.stale {
            let stale = self.place_of(line | STALE).1;
            if self.lines[set].iter().any(|way| *way & BOTH_WORDS != 0 && *way >> TAG_SHIFT == stale) {
                self.read_stale = Some(line << LINE_BYTES_LOG2);
            }
        }
        let (way, content, gone) = if let Some((_, held)) = self.way_of(line) {
            (held, self.lines[set][held] | word, None)
        } else {
            let way = self.victim as usize & 1;
            self.victim = (self.victim >> 1) ^ ((self.victim & 1) * VICTIM_TAPS);
            if self.pinned[set] >> way & 1 != 0 {
                return None;
            }
            let gone = self.lines[set][way];
            (way, tag << TAG_SHIFT | word, (gone & BOTH_WORDS != 0).then(|| self.line_of(set, gone >> TAG_SHIFT)))
        };
        self.lines[set][way] = content;
        if let Some(gone) = gone {
            self.mark(gone, 0);
            if self.dirty[set] >> way & 1 != 0 {
                self.write_back(gone, set, way);
            }
        }
        if let Some(apart) = &mut self.apart {
            apart.from[set][way] = apart.page;
        }
        self.show(line, if shown { content } else { 0 });
        if let Some(evictions) = &mut self.evictions {
            let gone = gone.map(|line| (line & !STALE) << LINE_BYTES_LOG2);
            *evictions.entry((line << LINE_BYTES_LOG2, gone)).or_default() += 1;
        }
        Some(way * SETS + set)
    }

    /// Shows the words of a line that has these valid bits.
    #[inline(always)]
    fn show(&mut self, line: u32, valid: u32) {
        if let Some(apart) = &mut self.apart
            && valid != 0
            && let shown = &mut apart.shown[(line >> PANE_LINES_LOG2) as usize & 3]
            && shown.len() < MANY_SHOWN
        {
            shown.push(line);
        }
        self.mark(line, valid);
    }

    /// Notes that of a line the words of these valid bits are held.
    #[inline(always)]
    fn mark(&mut self, line: u32, valid: u32) {
        if let Some(words) = self.held.0.get_mut(2 * line as usize..).and_then(<[u8]>::first_chunk_mut) {
            *words = [valid as u8 & 1, valid as u8 >> 1 & 1];
        }
    }

    /// Returns the set of a line, and the way that holds words of it.
    fn way_of(&self, line: u32) -> Option<(usize, usize)> {
        let (set, tag) = self.place_of(line);
        let holds = |way: &u32| way & BOTH_WORDS != 0 && way >> TAG_SHIFT == tag;
        self.lines[set].iter().position(holds).map(|way| (set, way))
    }

    /// Finds what a restored cache holds. Once addresses are translated, a miss shows it, in no time.
    pub fn restored(&mut self) {
        if self.apart.is_some() {
            return;
        }
        for set in 0..SETS {
            for content in self.lines[set].into_iter().filter(|content| content & BOTH_WORDS != 0) {
                self.mark(self.line_of(set, content >> TAG_SHIFT), content);
            }
        }
    }

    fn write_back(&mut self, line: u32, set: usize, way: usize) {
        self.dirty[set] &= !(1 << way);
        self.written_back.push((line << LINE_BYTES_LOG2, self.data[way * SETS + set]));
    }

    /// Returns where the data of a whole line are that it holds.
    pub fn find(&mut self, line: u32) -> Option<usize> {
        let (set, way) = self.way_of(line)?;
        (self.lines[set][way] & BOTH_WORDS == BOTH_WORDS).then_some(way * SETS + set)
    }

    /// Allocates a line whose data the bus reads, which also knows its cost; returns where. `None`: the access is not
    /// cached.
    pub fn fill(&mut self, line: u32) -> Option<usize> {
        self.misses += 1;
        if self.enabled { self.allocate(line, BOTH_WORDS, false) } else { None }
    }

    /// Notes that the data at `place` were written.
    pub fn set_dirty(&mut self, place: usize) {
        self.dirty[place % SETS] |= 1 << (place / SETS);
    }

    /// Returns whether any data are not in memory yet.
    pub fn is_dirty(&self) -> bool {
        self.dirty.iter().any(|&ways| ways != 0)
    }

    /// Writes a line back, if it is dirty and not pinned.
    pub fn clean(&mut self, line: u32) {
        if let Some(place) = self.find(line) {
            self.clean_way(place % SETS, place / SETS, line);
        }
    }

    /// Writes the line in a way back, if it is dirty and not pinned. The way is then said to have line `becomes`,
    /// whatever that has (RP2350-E11).
    pub fn clean_way(&mut self, set: usize, way: usize, becomes: u32) {
        let (set, way) = (set & (SETS - 1), way & 1);
        if self.dirty[set] & !self.pinned[set] & 1 << way == 0 {
            return;
        }
        let held = self.lines[set][way] >> TAG_SHIFT;
        self.write_back(self.line_of(set, held), set, way);
        let in_flash = becomes < FLASH_LINES;
        self.stale |= in_flash;
        let (_, tag) = self.place_of(if in_flash { becomes | STALE } else { becomes });
        self.set_way(set, way, tag << TAG_SHIFT | BOTH_WORDS, false);
    }

    /// Keeps what it shows apart from what it holds: lines are hidden when their addresses change.
    pub fn keep_apart(&mut self) {
        let page = |set: usize, way: u32| (self.line_of(set, way >> TAG_SHIFT) >> PAGE_LINES_LOG2) as u16;
        let from = std::array::from_fn(|set| self.lines[set].map(|way| page(set, way)));
        let shown = std::array::from_fn(|_| vec![0; MANY_SHOWN]);
        self.apart = Some(Box::new(Apart { from: Box::new(from), page: 0, shown }));
    }

    /// Lets no line of a pane of 4 MiB be found but by a miss, in no time.
    pub fn hide_pane(&mut self, pane: usize) {
        let Some(apart) = &mut self.apart else { return };
        let mut shown = std::mem::take(&mut apart.shown[pane]);
        if shown.len() == MANY_SHOWN {
            for set in 0..SETS {
                for line in self.lines[set].map(|way| self.line_of(set, way >> TAG_SHIFT)) {
                    if line >> PANE_LINES_LOG2 == pane as u32 {
                        self.mark(line, 0);
                    }
                }
            }
        } else {
            shown.iter().for_each(|&line| self.mark(line, 0));
        }
        self.changes += u64::from(!shown.is_empty());
        shown.clear();
        if let Some(apart) = &mut self.apart {
            apart.shown[pane] = shown;
        }
    }

    /// Notes from which page of the flash chip the line at `offset` comes when it is looked up next. If it is held and came
    /// from another one that does not have the `same` there, it is stale.
    pub fn readdress(&mut self, offset: u32, page: u16, same: impl Fn(u16) -> bool) {
        let line = offset >> LINE_BYTES_LOG2;
        let (held, (_, stale)) = (self.way_of(line), self.place_of(line | STALE));
        let Some(apart) = &mut self.apart else { return };
        apart.page = page;
        let Some((set, way)) = held else { return };
        let from = &mut apart.from[set][way];
        if *from != page && !same(*from) {
            let ways = &mut self.lines[set];
            ways[way] = stale << TAG_SHIFT | ways[way] & BOTH_WORDS;
            self.stale = true;
        } else {
            *from = page;
        }
    }

    /// Returns the set of a line, and what tells it from the other lines of that set.
    fn place_of(&self, line: u32) -> (usize, u32) {
        match &self.placement {
            None => (line as usize & (SETS - 1), line >> SETS.ilog2()),
            Some(placement) => (placement.set(line & !STALE), line),
        }
    }

    fn line_of(&self, set: usize, tag: u32) -> u32 {
        if self.placement.is_some() { tag } else { tag << SETS.ilog2() | set as u32 }
    }

    fn cost(&mut self, cycles: u32) -> u32 {
        let cycles = if self.cost_enabled { cycles } else { 0 };
        self.stalled += u64::from(cycles);
        cycles
    }

    /// Returns, for each word of flash, a byte that is not 0 while the cache holds it.
    pub fn words(&self) -> *const u8 {
        self.held.0.as_ptr()
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
        for set in 0..SETS {
            for content in std::mem::take(&mut self.lines[set]) {
                self.mark(self.line_of(set, content >> TAG_SHIFT), 0);
            }
        }
        self.pinned.fill(0);
        self.dirty.fill(0);
        self.stale = false;
    }

    /// Ends the transfer that the next line could have continued; false: there was none.
    pub fn deselect(&mut self) -> bool {
        std::mem::replace(&mut self.filled, NO_LINE) != NO_LINE
    }

    /// Invalidates one of the lines of a set, whatever it holds.
    pub fn invalidate_way(&mut self, set: u32, way: u32) {
        self.set_way(set as usize & (SETS - 1), way as usize & 1, 0, false);
    }

    fn set_way(&mut self, set: usize, way: usize, content: u32, pinned: bool) {
        self.changes += 1;
        let gone = std::mem::replace(&mut self.lines[set][way], content);
        let shown = if self.apart.is_some() { 0 } else { content };
        for (content, valid) in [(gone, 0), (content, shown)] {
            if content & BOTH_WORDS != 0 {
                self.mark(self.line_of(set, content >> TAG_SHIFT), valid);
            }
        }
        self.pinned[set] = self.pinned[set] & !(1 << way) | u8::from(pinned) << way;
        self.dirty[set] &= !(1 << way);
    }

    /// Allocates a line, which then stays: in the way that its number names beside the set.
    pub fn pin(&mut self, line: u32) {
        self.invalidate(line);
        let (set, tag) = self.place_of(line);
        self.set_way(set, (line >> 10) as usize & 1, tag << TAG_SHIFT | BOTH_WORDS, true);
    }

    /// Invalidates a line after a write to its cached address (datasheet 2.6.3.2).
    pub fn invalidate(&mut self, line: u32) {
        let (set, tag) = self.place_of(line | STALE);
        let marks = tag ^ self.place_of(line).1;
        for way in 0..2 {
            if self.lines[set][way] >> TAG_SHIFT | marks == tag {
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
        Self { counts: vec![0; FLASH_LINES as usize].into_boxed_slice(), lines: Vec::new() }
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
