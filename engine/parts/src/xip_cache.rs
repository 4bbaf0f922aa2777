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

use placement::{MANY_SHOWN, Placement};
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

/// Number of misses of a line, with the line that it replaced: both as flash offsets.
pub type Evictions = BTreeMap<(u32, Option<u32>), u64>;

/// The tags of the XIP cache, and what its misses cost.
#[derive(Snapshot)]
pub struct XipCache {
    /// Tag and valid bits of each way; 0: nothing valid. Under a `Placement`: some of the lines that it holds, each in
    /// its own set, so that translated code finds them as ever. A hit changes nothing in the cache, so it is no matter
    /// which of the two finds it.
    pub lines: Box<[[u32; 2]; SETS]>,
    placement: Option<Box<Placement>>,
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

impl Default for XipCache {
    fn default() -> Self {
        Self {
            lines: Box::new([[0; 2]; SETS]),
            placement: None,
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
        if self.hits(offset) { 0 } else { self.miss(offset, true) }
    }

    /// Returns whether `lines` has the word at flash offset `offset`.
    #[inline]
    pub fn hits(&self, offset: u32) -> bool {
        let line = offset >> LINE_BYTES_LOG2;
        let other = BOTH_WORDS & !(1 << ((offset >> 2) & 1));
        let wanted = ((line >> 10) << TAG_SHIFT) | BOTH_WORDS;
        let ways = &self.lines[line as usize & (SETS - 1)];
        (ways[0] | other) == wanted || (ways[1] | other) == wanted
    }

    /// Looks up a word that `lines` does not have; returns its wait states. `shown`: it may have it from now on.
    #[cold]
    pub fn miss(&mut self, offset: u32, shown: bool) -> u32 {
        let (line, word) = (offset >> LINE_BYTES_LOG2, 1 << (offset >> 2 & 1));
        if self.placement.as_ref().is_some_and(|placement| placement.words(line) & word != 0) {
            if shown {
                self.show(line);
            }
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
        let (set, tag) = self.place_of(line);
        let way = self.victim as usize & 1;
        let pinned = self.pinned[set] >> way & 1 != 0;
        self.changes += 1;
        if self.stale {
            let stale = self.place_of(line | STALE).1;
            if self.ways(set).iter().any(|way| *way & BOTH_WORDS != 0 && *way >> TAG_SHIFT == stale) {
                self.read_stale = Some(line << LINE_BYTES_LOG2);
            }
        }
        let ways = self.ways(set);
        let held = ways.iter().position(|way| *way & BOTH_WORDS != 0 && *way >> TAG_SHIFT == tag);
        let (way, gone) = if let Some(held) = held {
            ways[held] |= word;
            (held, None)
        } else if pinned {
            self.next_victim();
            return None;
        } else {
            let gone = std::mem::replace(&mut ways[way], tag << TAG_SHIFT | word);
            self.next_victim();
            (way, (gone & BOTH_WORDS != 0).then(|| self.line_of(set, gone >> TAG_SHIFT)))
        };
        if let Some(gone) = gone
            && self.dirty[set] >> way & 1 != 0
        {
            self.write_back(gone, set, way);
        }
        if let Some(evictions) = &mut self.evictions {
            let gone = gone.map(|line| (line & !STALE) << LINE_BYTES_LOG2);
            *evictions.entry((line << LINE_BYTES_LOG2, gone)).or_default() += 1;
        }
        if let Some(placement) = &mut self.placement {
            placement.from[set][way] = placement.page;
            gone.into_iter().for_each(|line| self.hide(line));
            if shown {
                self.show(line);
            }
        }
        Some(way * SETS + set)
    }

    fn write_back(&mut self, line: u32, set: usize, way: usize) {
        self.dirty[set] &= !(1 << way);
        self.written_back.push((line << LINE_BYTES_LOG2, self.data[way * SETS + set]));
    }

    /// Returns where the data of a whole line are that it holds.
    pub fn find(&mut self, line: u32) -> Option<usize> {
        let (set, tag) = self.place_of(line);
        let way = self.ways(set).iter().position(|way| *way == tag << TAG_SHIFT | BOTH_WORDS)?;
        Some(way * SETS + set)
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
        let held = self.ways(set)[way] >> TAG_SHIFT;
        self.write_back(self.line_of(set, held), set, way);
        let in_flash = becomes < FLASH_LINES;
        self.stale |= in_flash;
        let (_, tag) = self.place_of(if in_flash { becomes | STALE } else { becomes });
        self.set_way(set, way, tag << TAG_SHIFT | BOTH_WORDS, false);
    }

    /// Keeps the lines that it holds apart from those that `lines` shows, which are hidden when addresses change.
    pub fn keep_apart(&mut self) {
        let placement = self.placement.get_or_insert_with(|| Box::new(Placement::as_linked(&self.lines)));
        for (ways, from) in placement.lines.iter().zip(placement.from.iter_mut()) {
            *from = ways.map(|way| (way >> TAG_SHIFT >> PAGE_LINES_LOG2) as u16);
        }
        placement.shown.iter_mut().for_each(|lines| lines.resize(MANY_SHOWN, 0));
    }

    /// Lets no line of a pane of 4 MiB be found but by a miss, in no time.
    pub fn hide_pane(&mut self, pane: usize) {
        let Some(placement) = &mut self.placement else { return };
        let mut shown = std::mem::take(&mut placement.shown[pane]);
        if shown.len() == MANY_SHOWN {
            for way in self.lines.as_flattened_mut() {
                let line = *way >> TAG_SHIFT << SETS.ilog2();
                *way = if line >> PANE_LINES_LOG2 == pane as u32 { 0 } else { *way };
            }
        } else {
            shown.iter().for_each(|&line| self.hide(line));
        }
        self.changes += u64::from(!shown.is_empty());
        shown.clear();
        if let Some(placement) = &mut self.placement {
            placement.shown[pane] = shown;
        }
    }

    /// Notes from which page of the flash chip the line at `offset` comes when it is looked up next. If it is held and came
    /// from another one that does not have the `same` there, it is stale.
    pub fn readdress(&mut self, offset: u32, page: u16, same: impl Fn(u16) -> bool) {
        let Some(placement) = &mut self.placement else { return };
        placement.page = page;
        let line = offset >> LINE_BYTES_LOG2;
        let set = placement.set(line);
        for (held, from) in placement.lines[set].iter_mut().zip(&mut placement.from[set]) {
            if *held & BOTH_WORDS != 0 && *held >> TAG_SHIFT == line && *from != page {
                if same(*from) {
                    *from = page;
                } else {
                    *held |= STALE << TAG_SHIFT;
                    self.stale = true;
                }
            }
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

    fn ways(&mut self, set: usize) -> &mut [u32; 2] {
        match &mut self.placement {
            None => &mut self.lines[set],
            Some(placement) => &mut placement.lines[set],
        }
    }

    /// Lets `lines` find a line of the placement.
    fn show(&mut self, line: u32) {
        let Some(placement) = &mut self.placement else { return };
        let shown = &mut placement.shown[(line >> PANE_LINES_LOG2) as usize & 3];
        if shown.len() < MANY_SHOWN {
            shown.push(line);
        }
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
        self.dirty.fill(0);
        self.stale = false;
        if let Some(placement) = &mut self.placement {
            placement.lines.fill([0; 2]);
        }
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
        let gone = std::mem::replace(&mut self.ways(set)[way], content);
        if self.placement.is_some() {
            self.hide(gone >> TAG_SHIFT);
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
            if self.ways(set)[way] >> TAG_SHIFT | marks == tag {
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
