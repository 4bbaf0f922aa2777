//! Attribution of simulated time: every picosecond of an interval belongs to exactly one cause.

use std::collections::BTreeMap;

use sim::{PS_PER_US, Ps};

use crate::Interval;
use crate::cause::{Cause, of_sleep};
use crate::lan::Frame;
pub use crate::overlay::JOIN;
use crate::overlay::{Overlays, Sparse, overlays, stretches, whole};
use crate::recorder::{COUNTED, FLOATS, Record, Recording, Transfers, state};
use crate::tape::{Cursor, with_next};

/// Most time between two frames to the network chip for which the core counts as running the chip's driver: some 6000
/// cycles, in which a driver in C prepares an access and an interpreter cannot complete a function.
pub(crate) const DRIVER_GAP: Ps = 50 * PS_PER_US;
/// Time after a wake-up during which a core serves the event that woke it.
const WOKEN: Ps = 20 * PS_PER_US;
/// Most time after a spurious wake-up until a core sleeps again.
const AGAIN: Ps = 100 * PS_PER_US;

/// The shares of each interval, in order.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    /// By [`Cause`].
    pub causes_ps: Vec<[Ps; Cause::COUNT]>,
    /// Counts by name, such as `cache_misses`.
    pub counts: BTreeMap<&'static str, Vec<u64>>,
    /// Exceptions taken, by number.
    pub exceptions: BTreeMap<u8, Vec<u64>>,
    /// SPI frames by the register or buffer accessed.
    pub registers: BTreeMap<String, Vec<u64>>,
    /// Flash cache misses from the first interval to the last one, by the flash offset of the line.
    pub misses: BTreeMap<u32, u64>,
}

/// Attributes the time of `intervals`, which are in order and do not overlap. `transfers` are those of the network chip, in
/// order.
pub fn attribute(recording: &Recording, frames: &[Frame], transfers: &Transfers, intervals: &[Interval]) -> Shares {
    let overlays = overlays(&Sparse::new(recording, frames, transfers), frames);
    let mut views = Views::new(recording);
    let mut moved = Cursor::new(transfers.tape.iter());
    let mut taken = Cursor::new(recording.exceptions.iter());
    let mut sleeps = Cursor::new(stretches(whole(recording), state::ASLEEP));
    let arrivals = |to_board: bool| {
        let mut times: Vec<Ps> = frames.iter().filter(|each| each.to_board == to_board).map(|f| f.arrival).collect();
        times.sort_unstable();
        times
    };
    let (from_board, to_board) = (arrivals(false), arrivals(true));
    let mut registers: Vec<Vec<u64>> = Vec::new();
    let mut shares = Shares::default();
    let mut passed = 0;
    for (index, &interval) in intervals.iter().enumerate() {
        if interval.0 < passed {
            views = Views::new(recording);
            moved = Cursor::new(transfers.tape.iter());
            taken = Cursor::new(recording.exceptions.iter());
            sleeps = Cursor::new(stretches(whole(recording), state::ASLEEP));
        }
        passed = interval.1;
        let mut causes = [0; Cause::COUNT];
        let mut counts = [0; COUNTED.len()];
        views.share(interval, &overlays, &mut causes, &mut counts);
        let named: Ps = causes.iter().sum();
        causes[Cause::Unnamed as usize] += (interval.1 - interval.0) - named;
        shares.causes_ps.push(causes);
        let mut count = |name: &'static str, value: u64| {
            shares.counts.entry(name).or_insert_with(|| vec![0; intervals.len()])[index] = value;
        };
        for (name, counted) in COUNTED.into_iter().zip(counts) {
            count(name, counted);
        }
        count("frames_from_board", within(&from_board, interval));
        count("frames_to_board", within(&to_board, interval));
        count("hidden_ps", overlays.hidden.iter().map(|&each| length(common(each, interval))).sum());
        let (mut spi_frames, mut spi_bytes) = (0, 0);
        moved.first(|each| each.start < interval.0);
        while let Some(each) = moved.take_if(|each| each.start < interval.1) {
            spi_frames += 1;
            spi_bytes += u64::from(each.wire_bytes);
            let what = usize::from(each.what);
            if registers.len() <= what {
                registers.resize_with(what + 1, Vec::new);
            }
            registers[what].resize(intervals.len(), 0);
            registers[what][index] += 1;
        }
        count("spi_frames", spi_frames);
        count("spi_bytes", spi_bytes);
        let mut slept = 0;
        sleeps.first(|sleep| sleep.0 < interval.0);
        while sleeps.take_if(|sleep| sleep.0 < interval.1).is_some() {
            slept += 1;
        }
        count("sleeps", slept);
        taken.first(|each| each.0 < interval.0);
        while let Some((_, number)) = taken.take_if(|each| each.0 < interval.1) {
            shares.exceptions.entry(number).or_insert_with(|| vec![0; intervals.len()])[index] += 1;
        }
    }
    for name in &COUNTED[FLOATS..] {
        if shares.counts.get(name).is_some_and(|column| column.iter().all(|&count| count == 0)) {
            shares.counts.remove(name);
        }
    }
    let used = registers.into_iter().enumerate().filter(|(_, column)| !column.is_empty());
    shares.registers = used.map(|(what, column)| (transfers.name(what as u16).to_owned(), column)).collect();
    if let (Some(first), Some(last)) = (intervals.first(), intervals.last()) {
        shares.misses = misses_between(recording, first.0, last.1);
    }
    shares
}

/// Returns the causes within `interval`, in order and without a gap. Misses and wait states are only counted, without a
/// time: they are part of the cause that ends in `_run`.
pub fn timeline(
    recording: &Recording,
    frames: &[Frame],
    transfers: &Transfers,
    interval: Interval,
) -> Vec<(Interval, Cause)> {
    let overlays = overlays(&Sparse::new(recording, frames, transfers), frames);
    let mut views = Views::new(recording);
    let mut found: Vec<(Interval, Cause)> = Vec::new();
    let mut add = |(from, to): Interval, cause: Cause| {
        let at = found.last().map_or(interval.0, |last| last.0.1);
        if at < from {
            found.push(((at, from), Cause::Unnamed));
        }
        match found.last_mut() {
            Some(last) if last.1 == cause && last.0.1 == from => last.0.1 = to,
            _ if from < to => found.push(((from, to), cause)),
            _ => {}
        }
    };
    views.walk(interval, &overlays, |views, piece| match piece {
        Piece::Stretch(..) => {}
        Piece::Wait(part, cause) => add(part, cause),
        Piece::Board(record, _, part) => {
            let cause = views.idle(record, part.0).unwrap_or_else(|| views.place(record, part.0)[2]);
            let mut at = part.0;
            for bits in views.bits_in(part) {
                add((at, bits.0), cause);
                add(bits, Cause::SpiBits);
                at = bits.1;
            }
            add((at, part.1), cause);
        }
    });
    add((interval.1, interval.1), Cause::Unnamed);
    found
}

/// Returns how many of `times`, which are in order, are within the interval.
fn within(times: &[Ps], (from, to): Interval) -> u64 {
    (times.partition_point(|&at| at < to) - times.partition_point(|&at| at < from)) as u64
}

/// Returns the misses up to the copy at `to`: misses since the previous copy count for the interval of the later copy.
fn misses_between(recording: &Recording, from: Ps, to: Ps) -> BTreeMap<u32, u64> {
    let mut found = BTreeMap::new();
    let mut upto = to;
    for missed in recording.misses.iter().filter(|missed| missed.at > from) {
        if missed.at > upto {
            if !found.is_empty() {
                break;
            }
            upto = missed.at; // intervals shorter than the time between copies
        }
        *found.entry(missed.line).or_default() += u64::from(missed.count);
    }
    found
}

fn common(one: Interval, other: Interval) -> Interval {
    (one.0.max(other.0), one.1.min(other.1))
}

fn length((from, to): Interval) -> Ps {
    to.saturating_sub(from)
}

type Counts = [u64; COUNTED.len()];

enum Piece {
    /// A stretch of the recording: all of it, and the part within the interval. Its pieces follow.
    Stretch(Record, Interval, Interval),
    Wait(Interval, Cause),
    /// A piece of a stretch: the whole stretch and the piece.
    Board(Record, Interval, Interval),
}

type Items<'a, T> = Cursor<Box<dyn Iterator<Item = T> + 'a>>;

/// The board's activities over time, for questions in order of time.
struct Views<'a> {
    records: Items<'a, (Record, Interval)>,
    /// Sleeps, and those that one follows within [`AGAIN`] as one.
    sleeps: Items<'a, (Interval, Cause)>,
    /// Stretches between two frames that belong to the driver.
    driver: Items<'a, Interval>,
    bits: Items<'a, Interval>,
}

impl<'a> Views<'a> {
    fn new(recording: &'a Recording) -> Self {
        let selected = with_next(stretches(whole(recording), state::SELECTED));
        let gaps = selected.filter_map(|(one, next)| Some((one.1, next?.0)));
        Self {
            records: Cursor::new(Box::new(whole(recording))),
            sleeps: Cursor::new(Box::new(sleeps(recording))),
            driver: Cursor::new(Box::new(gaps.filter(|&gap| length(gap) <= DRIVER_GAP))),
            bits: Cursor::new(Box::new(recording.bits.iter())),
        }
    }

    fn share(&mut self, interval: Interval, overlays: &Overlays, causes: &mut [Ps; Cause::COUNT], counts: &mut Counts) {
        self.walk(interval, overlays, |views, piece| match piece {
            Piece::Stretch(record, whole, inside) => add(counts, &record, whole, inside),
            Piece::Wait(part, cause) => causes[cause as usize] += length(part),
            Piece::Board(record, whole, part) => views.board(record, whole, part, causes),
        });
    }

    /// Visits every piece of `interval` in order: the parts covered by the network or a wait, and the rest.
    fn walk(&mut self, interval: Interval, overlays: &Overlays, mut visit: impl FnMut(&mut Self, Piece)) {
        let mut overlay = overlays.waits.partition_point(|(wait, _)| wait.1 <= interval.0);
        while let Some(&(record, whole)) = self.records.first(|(_, whole)| whole.1 <= interval.0) {
            if whole.0 >= interval.1 {
                break;
            }
            let inside = common(whole, interval);
            if length(inside) > 0 {
                visit(self, Piece::Stretch(record, whole, inside));
            }
            let mut at = inside.0;
            while at < inside.1 {
                let next = overlays.waits.get(overlay);
                match next {
                    Some(&((from, to), cause)) if from <= at => {
                        let until = to.min(inside.1);
                        if until > at {
                            visit(self, Piece::Wait((at, until), cause));
                            at = until;
                        }
                        if to <= at {
                            overlay += 1;
                        }
                    }
                    _ => {
                        let until = next.map_or(inside.1, |each| each.0.0.min(inside.1));
                        visit(self, Piece::Board(record, whole, (at, until)));
                        at = until;
                    }
                }
            }
            if whole.1 > interval.1 {
                break; // the next interval may begin in it
            }
            self.records.take_if(|_| true);
        }
    }

    /// Attributes `part` of the stretch `whole`, in which only the board takes time.
    fn board(&mut self, record: Record, whole: Interval, part: Interval, causes: &mut [Ps; Cause::COUNT]) {
        let bits: Ps = self.bits_in(part).into_iter().map(length).sum();
        causes[Cause::SpiBits as usize] += bits;
        let rest = length(part) - bits;
        let mut add = |cause: Cause, ps: Ps| causes[cause as usize] += ps;
        if let Some(cause) = self.idle(record, part.0) {
            add(cause, rest);
        } else {
            let stalled = scaled(record.stalled_ps, rest, length(whole)).min(rest);
            let waited = scaled(record.waited_ps, rest, length(whole)).min(rest - stalled);
            let [miss, wait, run] = self.place(record, part.0);
            add(miss, stalled);
            add(wait, waited);
            add(run, rest - stalled - waited);
        }
    }

    /// Returns the cause at `at` if core 0 does not run a program there.
    fn idle(&mut self, record: Record, at: Ps) -> Option<Cause> {
        let is = |bit: u8| record.state & bit != 0;
        if is(state::BUSY) {
            Some(Cause::GapPause)
        } else if is(state::STOPPED) {
            Some(Cause::Unnamed)
        } else if is(state::ASLEEP) {
            Some(self.sleeps.first(|sleep| sleep.0.1 <= at).map_or(Cause::WaitOther, |sleep| sleep.1))
        } else {
            is(state::USB).then_some(Cause::Usb)
        }
    }

    fn place(&mut self, record: Record, at: Ps) -> [Cause; 3] {
        use Cause::*;
        if record.state & state::SELECTED != 0 {
            return [GapMiss, GapWait, GapRun];
        }
        match self.driver.first(|gap| gap.1 <= at) {
            Some(gap) if gap.0 <= at => [DriverMiss, DriverWait, DriverRun],
            _ => [CodeMiss, CodeWait, CodeRun],
        }
    }

    /// Returns the times with bits on the bus.
    fn bits_in(&mut self, part: Interval) -> Vec<Interval> {
        let mut found = Vec::new();
        while let Some(&bits) = self.bits.first(|each| each.1 <= part.0) {
            if bits.0 >= part.1 {
                break;
            }
            found.push(common(bits, part));
            if bits.1 > part.1 {
                break;
            }
            self.bits.take_if(|_| true);
        }
        found
    }
}

/// Adds what the `part` of a stretch has of its counts.
fn add(counts: &mut Counts, record: &Record, whole: Interval, part: Interval) {
    for (sum, value) in counts.iter_mut().zip(record.counts) {
        *sum += scaled(u64::from(value), length(part), length(whole));
    }
}

/// Returns the sleeps with their causes. A core that goes back to sleep at once was not woken by the event it waits for:
/// such sleeps are one.
fn sleeps(recording: &Recording) -> impl Iterator<Item = (Interval, Cause)> {
    let mut all = stretches(whole(recording), state::ASLEEP).peekable();
    let mut taken = Cursor::new(recording.exceptions.iter());
    std::iter::from_fn(move || {
        let (from, mut to) = all.next()?;
        while let Some(next) = all.next_if(|next| next.0 - to <= AGAIN) {
            to = next.1;
        }
        // The exception that the core takes when it wakes.
        let woken_by = taken.first(|each| each.0 < to).filter(|each| each.0 <= to + WOKEN);
        Some(((from, to), of_sleep(woken_by.map(|each| each.1))))
    })
}

fn scaled(value: u64, part: Ps, whole: Ps) -> u64 {
    if part == whole { value } else { (u128::from(value) * u128::from(part) / u128::from(whole.max(1))) as u64 }
}

#[cfg(test)]
mod tests;
