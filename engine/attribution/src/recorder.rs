//! Records changes, with the core's counters at each change.

use sim::{PS_PER_MS, PS_PER_S, Ps};

use crate::Interval;
use crate::cause::exception;
use crate::marks::Mark;
use crate::tape::{Item, Tape};

/// State bits at one time.
pub mod state {
    /// An SPI controller has a frame in its shift register.
    pub const BUSY: u8 = 1;
    /// The network chip is selected.
    pub const SELECTED: u8 = 2;
    /// Core 0 sleeps.
    pub(crate) const ASLEEP: u8 = 4;
    /// Core 0 serves the USB interrupt, or an exception that preempted it.
    pub(crate) const USB: u8 = 8;
    /// Core 0 is held in reset or locked up.
    pub(crate) const STOPPED: u8 = 16;
    /// The network chip's PHY has a link.
    pub const LINK: u8 = 32;
}

/// Names of the counts, in the order of [`Counters::counts`].
pub(crate) const COUNTED: [&str; 7] = [
    "cache_accesses",
    "cache_misses",
    "instructions",
    "flash_instructions",
    "rom_instructions",
    "fpu_instructions",
    "dcp_instructions",
];
/// The first of them that are instructions.
const INSTRUCTIONS: usize = 2;
/// The first of them that not every chip has.
pub(crate) const FLOATS: usize = 5;

/// Core 0's counters since power-on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Cycles in which the core waited for a flash cache miss.
    pub stalled: u64,
    /// Cycles of wait states on the peripheral bus.
    pub waited: u64,
    /// Accesses to the flash cache; those that missed it; instructions; those from flash; those from ROM; the FPU's
    /// arithmetic; those that reach DCP.
    pub counts: [u64; COUNTED.len()],
}

/// One record: `state` holds from `at` to the next record; the other fields are the counters' increase until then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) at: Ps,
    pub(crate) state: u8,
    pub(crate) stalled_ps: Ps,
    pub(crate) waited_ps: Ps,
    pub(crate) counts: [u32; COUNTED.len()],
}

impl Item for Record {
    fn write(&self, before: &Self, put: &mut impl FnMut(u64)) {
        put(self.at.wrapping_sub(before.at));
        put(self.state.into());
        put(self.stalled_ps);
        put(self.waited_ps);
        self.counts.into_iter().for_each(|count| put(count.into()));
    }

    fn read(before: &Self, get: &mut impl FnMut() -> u64) -> Self {
        Self {
            at: before.at.wrapping_add(get()),
            state: get() as u8,
            stalled_ps: get(),
            waited_ps: get(),
            counts: std::array::from_fn(|_| get() as u32),
        }
    }
}

/// One SPI frame of the network chip: a register or a buffer, read or written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    pub(crate) start: Ps,
    pub(crate) wire_bytes: u32,
    /// Index of its name.
    pub(crate) what: u16,
}

impl Item for Transfer {
    fn write(&self, before: &Self, put: &mut impl FnMut(u64)) {
        put(self.start.wrapping_sub(before.start));
        put(self.wire_bytes.into());
        put(self.what.into());
    }

    fn read(before: &Self, get: &mut impl FnMut() -> u64) -> Self {
        Self { start: before.start.wrapping_add(get()), wire_bytes: get() as u32, what: get() as u16 }
    }
}

/// Most names of transfers; a chip has some hundred registers.
const MOST_NAMES: usize = 4096;

/// The SPI frames of the network chip, in order.
#[derive(Debug, Default)]
pub struct Transfers {
    /// The frames, in the order in which they ended.
    pub tape: Tape<Transfer>,
    names: Vec<String>,
}

impl Transfers {
    /// Adds a transfer of `what`, as `S0_RX_RSR read`.
    pub fn push(&mut self, start: Ps, wire_bytes: usize, what: &str) {
        let known = self.names.iter().position(|name| name == what);
        let index = known.unwrap_or_else(|| {
            if self.names.len() < MOST_NAMES {
                self.names.push(what.into());
            }
            self.names.len() - 1
        });
        self.tape.push(Transfer { start, wire_bytes: wire_bytes as u32, what: index as u16 });
    }

    pub(crate) fn name(&self, what: u16) -> &str {
        &self.names[usize::from(what)]
    }

    pub(crate) fn named(&self, is: impl Fn(&str) -> bool) -> Vec<bool> {
        self.names.iter().map(|name| is(name)).collect()
    }
}

/// A line of flash that was missed `count` times in the time before `at`, when the misses were copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missed {
    pub(crate) at: Ps,
    /// Its offset in flash.
    pub(crate) line: u32,
    pub(crate) count: u32,
}

impl Item for Missed {
    fn write(&self, before: &Self, put: &mut impl FnMut(u64)) {
        put(self.at.wrapping_sub(before.at));
        put(self.line.wrapping_sub(before.line).into());
        put(self.count.into());
    }

    fn read(before: &Self, get: &mut impl FnMut() -> u64) -> Self {
        let at = before.at.wrapping_add(get());
        Self { at, line: before.line.wrapping_add(get() as u32), count: get() as u32 }
    }
}

/// A complete recording, in order of time.
#[derive(Debug, Default)]
pub struct Recording {
    pub(crate) records: Tape<Record>,
    /// Times with bits on the bus.
    pub bits: Tape<Interval>,
    /// Exceptions taken, by number.
    pub(crate) exceptions: Tape<(Ps, u8)>,
    /// Readings of the timer, in order.
    pub marks: Tape<Mark>,
    pub(crate) misses: Tape<Missed>,
    /// End of the recording.
    pub(crate) end: Ps,
    /// Changes dropped for lack of space.
    pub lost: u64,
}

impl Recording {
    /// Returns whether anything of it is lost, be it for lack of space or with a file of its tapes.
    pub fn is_torn(&self) -> bool {
        let tapes = [self.records.has_failed(), self.bits.has_failed(), self.exceptions.has_failed()];
        self.lost > 0 || tapes.contains(&true) || self.marks.has_failed() || self.misses.has_failed()
    }
}

/// Least time between two copies of the misses.
const MISSES_EVERY: Ps = 5 * PS_PER_MS;

/// Records what core 0 and the SPI bus do while a board runs.
#[derive(Debug)]
pub struct Recorder {
    limit: u64,
    last: Counters,
    /// The last record, whose counts are not complete.
    open: Option<Record>,
    /// Counts last reported by the chip.
    instructions: [u64; COUNTED.len() - INSTRUCTIONS],
    asleep: bool,
    stopped: bool,
    /// Exceptions being served, innermost last.
    serving: Vec<u8>,
    next_misses: Ps,
    kept: Recording,
}

impl Recorder {
    /// Creates a recorder of at most `limit` changes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit: limit as u64,
            last: Counters::default(),
            open: None,
            instructions: [0; COUNTED.len() - INSTRUCTIONS],
            asleep: false,
            stopped: false,
            serving: Vec::new(),
            next_misses: 0,
            kept: Recording::default(),
        }
    }

    /// Sets core 0's state and its instructions so far, as [`Counters::counts`] has them.
    pub fn core(&mut self, asleep: bool, stopped: bool, instructions: [u64; COUNTED.len() - INSTRUCTIONS]) {
        self.asleep = asleep;
        self.stopped = stopped;
        self.instructions = instructions;
    }

    /// Handles the entry of core 0 into exception `number`.
    pub fn exception_taken(&mut self, at: Ps, number: u8) {
        self.serving.push(number);
        if self.has_room(self.kept.exceptions.count()) {
            self.kept.exceptions.push((at, number));
        }
    }

    /// Handles the return of core 0 from its innermost exception.
    pub fn exception_left(&mut self) {
        self.serving.pop();
    }

    /// Handles a restart of the core.
    pub fn reset(&mut self) {
        self.serving.clear();
    }

    /// Records bits on the bus from `begin` to `end`.
    pub fn shifted(&mut self, begin: Ps, end: Ps) {
        let begin = self.kept.bits.last().map_or(begin, |(_, before)| begin.max(before));
        if end > begin && self.has_room(self.kept.bits.count()) {
            self.kept.bits.push((begin, end));
        }
    }

    /// Returns whether `value` is what the instruction at `pc` read last, as in a loop that polls the clock.
    pub fn has_read(&self, value: u32, pc: u32) -> bool {
        self.kept.marks.last().is_some_and(|last| (last.value, last.pc) == (value, pc))
    }

    /// Records a reading of core 0's clock.
    pub fn read_clock(&mut self, mark: Mark) {
        if self.has_room(self.kept.marks.count()) {
            self.kept.marks.push(mark);
        }
    }

    /// Records the state at `at`; `outside` holds the bits that the recorder cannot derive. `always`: record even
    /// without a change, as a point where intervals may start.
    pub fn observe(&mut self, at: Ps, outside: u8, counters: Counters, clk_sys_hz: u64, always: bool) {
        let mut now = outside;
        now |= if self.asleep { state::ASLEEP } else { 0 };
        now |= if self.stopped { state::STOPPED } else { 0 };
        now |= if self.serving.contains(&exception::USB) { state::USB } else { 0 };
        let last = self.open;
        if !always && last.is_some_and(|last| last.state == now) {
            return;
        }
        let at = last.map_or(at, |last| at.max(last.at));
        self.count(counters, clk_sys_hz);
        let held = self.kept.records.count() + u64::from(self.open.is_some());
        if self.has_room(held) {
            let next = Record { at, state: now, ..Record::default() };
            if let Some(whole) = self.open.replace(next) {
                self.kept.records.push(whole);
            }
        }
    }

    /// Adds the counts since the last record to it.
    fn count(&mut self, counters: Counters, clk_sys_hz: u64) {
        let mut counters = counters;
        counters.counts[INSTRUCTIONS..].copy_from_slice(&self.instructions);
        let before = std::mem::replace(&mut self.last, counters);
        let Some(record) = &mut self.open else { return };
        let ps = |cycles: u64| (u128::from(cycles) * u128::from(PS_PER_S) / u128::from(clk_sys_hz.max(1))) as u64;
        record.stalled_ps += ps(moved(before.stalled, counters.stalled));
        record.waited_ps += ps(moved(before.waited, counters.waited));
        for (sum, (before, now)) in record.counts.iter_mut().zip(before.counts.into_iter().zip(counters.counts)) {
            *sum += moved(before, now) as u32;
        }
    }

    /// Returns whether a copy of the misses is due.
    pub fn wants_misses(&self, at: Ps) -> bool {
        at >= self.next_misses
    }

    /// Records how often each line of flash missed the cache since the last call: (line, misses).
    pub fn misses(&mut self, at: Ps, missed: Vec<(u32, u32)>) {
        self.next_misses = at + MISSES_EVERY;
        if !missed.is_empty() && self.has_room(self.kept.misses.count() + missed.len() as u64) {
            missed.into_iter().for_each(|(line, count)| self.kept.misses.push(Missed { at, line, count }));
        }
    }

    /// Ends the recording and returns it.
    pub fn finish(mut self, at: Ps, counters: Counters, clk_sys_hz: u64) -> Recording {
        self.count(counters, clk_sys_hz);
        if let Some(whole) = self.open {
            self.kept.records.push(whole);
        }
        self.kept.end = at;
        self.kept
    }

    fn has_room(&mut self, held: u64) -> bool {
        let room = held < self.limit;
        self.kept.lost += u64::from(!room);
        room
    }
}

/// Returns the increase of a counter that may have restarted.
fn moved(before: u64, now: u64) -> u64 {
    if now < before { now } else { now - before }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_known_until_the_clock_moves_or_another_instruction_reads_it() {
        let mut recorder = Recorder::new(10);
        assert!(!recorder.has_read(7, 0x100));
        recorder.read_clock(Mark { at: 7_000_000, value: 7, pc: 0x100 });
        assert!(recorder.has_read(7, 0x100) && !recorder.has_read(8, 0x100) && !recorder.has_read(7, 0x102));
    }

    #[test]
    fn only_changes_are_kept_with_the_counts_before_them() {
        let mut recorder = Recorder::new(10);
        let at = |stalled| Counters { stalled, ..Counters::default() };
        recorder.observe(0, 0, at(0), 1_000_000, false);
        recorder.observe(5_000_000, 0, at(2), 1_000_000, false);
        recorder.observe(9_000_000, state::SELECTED, at(3), 1_000_000, false);
        recorder.core(true, false, [70, 50, 20, 6, 3]);
        recorder.observe(12_000_000, state::SELECTED, at(4), 1_000_000, false);
        let kept = recorder.finish(13_000_000, at(4), 1_000_000);
        let states: Vec<_> = kept.records.iter().map(|r| (r.at, r.state, r.stalled_ps, r.counts)).collect();
        assert_eq!(
            states,
            [
                (0, 0, 3_000_000, [0; 7]),
                (9_000_000, state::SELECTED, 1_000_000, [0, 0, 70, 50, 20, 6, 3]),
                (12_000_000, state::SELECTED | state::ASLEEP, 0, [0; 7])
            ]
        );
    }

    #[test]
    fn dropped_changes_are_counted() {
        let mut recorder = Recorder::new(1);
        for at in 0..3 {
            recorder.observe(at, at as u8, Counters::default(), 1, false);
            recorder.shifted(2 * at, 2 * at + 1);
        }
        let kept = recorder.finish(9, Counters::default(), 1);
        assert_eq!((kept.records.count(), kept.bits.count(), kept.lost), (1, 1, 4));
    }

    #[test]
    fn interrupts_within_usb_are_usb() {
        let mut recorder = Recorder::new(9);
        recorder.exception_taken(1, exception::USB);
        recorder.exception_taken(2, 16);
        recorder.observe(3, 0, Counters::default(), 1, false);
        recorder.exception_left();
        recorder.exception_left();
        recorder.observe(4, 0, Counters::default(), 1, false);
        let kept = recorder.finish(9, Counters::default(), 1);
        assert_eq!(kept.records.iter().map(|r| r.state).collect::<Vec<_>>(), [state::USB, 0]);
        assert!(kept.exceptions.iter().eq([(1, 21), (2, 16)]));
    }
}
