//! Locates a client's measurements among the readings of its clock.
//!
//! A client reports how long each interval took, not when it was. But an interval starts and ends with a reading of the
//! timer, and the two values differ by the reported duration. Readings by a single instruction are tried first.

use std::collections::{BTreeMap, BTreeSet};

use sim::Ps;

use crate::Interval;

/// One reading of the timer's low word by core 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Time when the timer reached the value that was read.
    pub at: Ps,
    pub value: u32,
    /// The reading instruction's address.
    pub pc: u32,
}

/// A runtime's clock, derived from the timer's microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The microseconds themselves: MicroPython's `ticks_us`, C.
    #[default]
    Timer,
    /// CircuitPython's `monotonic_ns` on the RP2040: ticks of 1/1024 s, which it counts as 977 us within a second, and
    /// 32nds of them.
    CircuitPython,
    /// The same, with each reading truncated to whole microseconds by the client before it subtracts.
    CircuitPythonMicroseconds,
    /// CircuitPython's clock before release 9: whole ticks.
    CircuitPythonTicks,
    /// The same, truncated to whole microseconds.
    CircuitPythonTicksMicroseconds,
}

impl Clock {
    /// Finer clocks before coarser ones: whole ticks match more readings than intended.
    pub const ALL: [Clock; 5] = [
        Clock::Timer,
        Clock::CircuitPython,
        Clock::CircuitPythonMicroseconds,
        Clock::CircuitPythonTicks,
        Clock::CircuitPythonTicksMicroseconds,
    ];

    fn ns(self, timer_us: u32) -> u64 {
        let us = u64::from(timer_us);
        match self {
            Clock::Timer => us * 1000,
            Clock::CircuitPython => {
                let (seconds, rest) = (us / 1_000_000, us % 1_000_000);
                let (ticks, subticks) = (1024 * seconds + rest / 977, rest % 977 / 31);
                976_562 * ticks + ticks / 2 + 30_518 * subticks
            }
            Clock::CircuitPythonMicroseconds => Clock::CircuitPython.ns(timer_us) / 1000 * 1000,
            Clock::CircuitPythonTicks => {
                let ticks = 1024 * (us / 1_000_000) + us % 1_000_000 / 977;
                976_562 * ticks + ticks / 2
            }
            Clock::CircuitPythonTicksMicroseconds => Clock::CircuitPythonTicks.ns(timer_us) / 1000 * 1000,
        }
    }
}

/// A client's report: whole microseconds on its clock.
#[derive(Clone, Debug, Default)]
pub struct Sought {
    /// Durations in order of time; none starts before the previous one ended.
    pub intervals_us: Vec<u64>,
    pub clock: Clock,
    /// If known, a time within each interval: when the PC had the message.
    pub within: Vec<Ps>,
    /// Time from the client's start to the start of the workload, and to the link.
    pub ready_us: Option<u64>,
    pub link_us: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    pub intervals: Vec<Interval>,
    /// Times when the client started, saw the link, and was ready, if it reports them.
    pub started: Option<Ps>,
    pub linked: Option<Ps>,
    pub ready: Option<Ps>,
}

/// Most readings searched between the end of an interval and the start of the next one.
const BETWEEN: usize = 64;
/// Returns the intervals, or `None` if no readings match.
pub fn find(marks: &[Mark], sought: &Sought) -> Option<Windows> {
    groups(marks).iter().find_map(|group| find_among(group, sought))
}

/// Returns when a client that measures nothing itself was ready: by the last matching readings in `marks`.
pub fn find_ready(marks: &[Mark], sought: &Sought) -> Option<Windows> {
    let sought = Sought { intervals_us: Vec::new(), ..sought.clone() };
    groups(marks).iter().filter_map(|group| find_among(group, &sought)).find(|found| found.ready.is_some())
}

/// Groups the readings by instruction, followed by all of them together.
fn groups(marks: &[Mark]) -> Vec<Vec<Mark>> {
    let mut groups: BTreeMap<u32, Vec<Mark>> = BTreeMap::new();
    for mark in marks {
        groups.entry(mark.pc).or_default().push(*mark);
    }
    let mut groups: Vec<Vec<Mark>> = groups.into_values().collect();
    // The instruction with the fewest readings is most likely the client's.
    groups.sort_by_key(Vec::len);
    groups.push(marks.to_vec());
    groups
}

fn find_among(marks: &[Mark], sought: &Sought) -> Option<Windows> {
    let read = Read { marks, ns: marks.iter().map(|mark| sought.clock.ns(mark.value)).collect(), sought };
    let pairs = read.chain()?;
    let first = pairs.first().map_or(marks.len(), |pair| pair.0);
    let intervals = pairs.iter().map(|&(from, to)| (marks[from].at, marks[to].at)).collect();
    let mut windows = Windows { intervals, ..Windows::default() };
    let Some(ready_us) = sought.ready_us else { return Some(windows) };
    let last = first.min(marks.len().checked_sub(1)?);
    for ready in (first.saturating_sub(BETWEEN)..=last).rev() {
        let Some(started) = read.before(ready, ready_us) else { continue };
        let linked = sought.link_us.map(|link_us| read.after(started, link_us).start);
        if linked.is_some_and(|linked| sought.link_us != read.us(started, linked)) {
            continue;
        }
        windows.started = Some(marks[started].at);
        windows.linked = linked.map(|index| marks[index].at);
        windows.ready = Some(marks[ready].at);
        break;
    }
    Some(windows)
}

/// Readings in order of time, with the runtime's clock values.
struct Read<'a> {
    marks: &'a [Mark],
    ns: Vec<u64>,
    sought: &'a Sought,
}

impl Read<'_> {
    /// Returns the duration that a client reports for readings `from` and `to`; `None`: no such reading.
    fn us(&self, from: usize, to: usize) -> Option<u64> {
        Some(self.ns.get(to)?.saturating_sub(self.ns[from]) / 1000)
    }

    /// Returns the readings that a client counts as `interval_us` after reading `from`.
    fn after(&self, from: usize, interval_us: u64) -> std::ops::Range<usize> {
        let rest = &self.ns[from + 1..];
        let since = |ns: &u64| ns.saturating_sub(self.ns[from]) / 1000;
        let first = rest.partition_point(|ns| since(ns) < interval_us);
        let count = rest[first..].partition_point(|ns| since(ns) == interval_us);
        from + 1 + first..from + 1 + first + count
    }

    /// Returns the reading that a client counts as `interval_us` before reading `to`.
    fn before(&self, to: usize, interval_us: u64) -> Option<usize> {
        let ago = |ns: &u64| (self.ns[to] - ns) / 1000;
        let first = self.ns[..to].partition_point(|ns| ago(ns) > interval_us);
        (first < to && self.us(first, to) == Some(interval_us)).then_some(first)
    }

    /// Returns the start and end of each interval, as indices: depth first, without repeating dead ends.
    fn chain(&self) -> Option<Vec<(usize, usize)>> {
        let intervals = self.sought.intervals_us.len();
        if intervals == 0 {
            return Some(Vec::new());
        }
        let mut dead: BTreeSet<(usize, usize)> = BTreeSet::new();
        // From the end: a client does little between its intervals, so the tighter of two chains is the client's.
        for first in (0..self.marks.len()).rev() {
            // The choices left for each interval, the best one last.
            let mut open = vec![self.pairs_from(first, 1, 0)];
            let mut chosen: Vec<(usize, usize)> = Vec::new();
            while let Some(choices) = open.last_mut() {
                let Some(pair) = choices.pop() else {
                    open.pop();
                    chosen.pop();
                    continue;
                };
                if !dead.insert((chosen.len(), pair.1)) {
                    continue;
                }
                chosen.push(pair);
                if chosen.len() == intervals {
                    return Some(chosen);
                }
                open.push(self.pairs_from(pair.1, BETWEEN, chosen.len()));
            }
        }
        None
    }

    /// Returns pairs for interval `number` that start within `count` readings after `from`; the best one last.
    fn pairs_from(&self, from: usize, count: usize, number: usize) -> Vec<(usize, usize)> {
        let (marks, interval_us) = (self.marks, self.sought.intervals_us[number]);
        let moment = self.sought.within.get(number).copied();
        let mut pairs = Vec::new();
        for start in from..marks.len().min(from.saturating_add(count)) {
            if moment.is_some_and(|moment| moment < marks[start].at) {
                break;
            }
            let ends =
                self.after(start, interval_us).filter(|&end| moment.is_none_or(|moment| moment <= marks[end].at));
            pairs.extend(ends.map(|end| (start, end)));
        }
        pairs.reverse();
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::PS_PER_US;

    fn marks(readings: &[(u32, u32)]) -> Vec<Mark> {
        readings.iter().map(|&(value, pc)| Mark { at: u64::from(value) * PS_PER_US, value, pc }).collect()
    }

    fn us(windows: &Windows) -> Vec<(u64, u64)> {
        windows.intervals.iter().map(|&(from, to)| (from / PS_PER_US, to / PS_PER_US)).collect()
    }

    #[test]
    fn the_clients_readings_are_distinguished_from_others() {
        // 10, 20, ...: a poll loop. The client: 5 (started), 33 (ready), 41-141, 150-260.
        let mut all: Vec<(u32, u32)> = (1..40).map(|n| (10 * n, 0x100)).collect();
        all.extend([5, 33, 40, 41, 141, 150, 260, 261].map(|value| (value, 0x200)));
        all.sort_unstable();
        let sought = Sought { intervals_us: vec![100, 110], ready_us: Some(28), ..Sought::default() };
        let windows = find(&marks(&all), &sought).unwrap();
        assert_eq!(us(&windows), [(41, 141), (150, 260)]);
        assert_eq!((windows.started, windows.ready), (Some(5 * PS_PER_US), Some(33 * PS_PER_US)));
    }

    #[test]
    fn readings_by_several_instructions_are_found_together() {
        let all = marks(&[(7, 1), (107, 2), (110, 1), (230, 2)]);
        let sought = Sought { intervals_us: vec![100, 120], ..Sought::default() };
        assert_eq!(us(&find(&all, &sought).unwrap()), [(7, 107), (110, 230)]);
    }

    #[test]
    fn circuitpython_s_clock_moves_in_steps_and_jumps_at_each_second() {
        // A run reported 33 355, 33 386 and, over a full second, 33 813 us for rounds of nearly equal length.
        let clock = Clock::CircuitPython;
        let told = |from: u32, to: u32| (clock.ns(to) - clock.ns(from)) / 1000;
        assert_eq!(told(100_000, 133_390), 33_355);
        assert_eq!(told(980_000, 1_013_390), 33_813);
        let all = marks(&[(980_000, 1), (990_000, 1), (1_013_390, 1), (1_013_700, 1), (1_047_000, 1)]);
        let intervals_us = vec![told(980_000, 1_013_390), told(1_013_700, 1_047_000)];
        let sought = Sought { intervals_us, clock, ..Sought::default() };
        assert_eq!(us(&find(&all, &sought).unwrap()), [(980_000, 1_013_390), (1_013_700, 1_047_000)]);
    }

    #[test]
    fn circuitpython_8_s_clock_moves_in_whole_ticks() {
        // 257 ticks of 976.5625 us.
        let clock = Clock::CircuitPythonTicks;
        let told = |from: u32, to: u32| (clock.ns(to) - clock.ns(from)) / 1000;
        assert_eq!((told(4_000_100, 4_251_300), told(4_000_900, 4_251_500)), (250_976, 250_976));
        let all = marks(&[(4_000_100, 1), (4_251_300, 1), (4_253_000, 1), (4_552_700, 1)]);
        let sought = Sought { intervals_us: vec![250_976, told(4_253_000, 4_552_700)], clock, ..Sought::default() };
        assert_eq!(us(&find(&all, &sought).unwrap()), [(4_000_100, 4_251_300), (4_253_000, 4_552_700)]);
    }

    #[test]
    fn a_client_may_cut_each_reading_to_microseconds() {
        let (cut, whole) = (Clock::CircuitPythonMicroseconds, Clock::CircuitPython);
        let told = |clock: Clock, from: u32, to: u32| (clock.ns(to) - clock.ns(from)) / 1000;
        assert_eq!(cut.ns(123_456) % 1000, 0);
        let differs = (1..2000).map(|n| (31 * n, 31 * n + 5000)).find(|&(a, b)| told(cut, a, b) != told(whole, a, b));
        let (from, to) = differs.expect("one more or less");
        let all = marks(&[(from, 1), (to, 1)]);
        let sought = |clock| Sought { intervals_us: vec![told(cut, from, to)], clock, ..Sought::default() };
        assert_eq!(find(&all, &sought(whole)), None);
        assert_eq!(us(&find(&all, &sought(cut)).unwrap()), [(u64::from(from), u64::from(to))]);
    }

    #[test]
    fn no_interval_is_invented() {
        let all = marks(&[(7, 1), (107, 1), (210, 1)]);
        let sought = |intervals_us: &[u64]| Sought { intervals_us: intervals_us.to_vec(), ..Sought::default() };
        assert_eq!(find(&all, &sought(&[99])), None);
        assert_eq!(find(&all, &sought(&[100, 103, 1])), None);
        assert_eq!(find(&[], &sought(&[1])), None);
    }

    #[test]
    fn the_tighter_of_two_chains_is_the_clients() {
        // Unrelated readings at 0 and 100 have the same distance as the client's at 400 and 500.
        let all = marks(&[(0, 1), (100, 1), (400, 1), (500, 1), (501, 1), (551, 1)]);
        let sought = Sought { intervals_us: vec![100, 50], ..Sought::default() };
        assert_eq!(us(&find(&all, &sought).unwrap()), [(400, 500), (501, 551)]);
    }

    #[test]
    fn an_interval_contains_the_time_when_the_pc_had_its_message() {
        let all = marks(&[(0, 1), (100, 1), (300, 1), (400, 1), (450, 1)]);
        let within = vec![350 * PS_PER_US, 420 * PS_PER_US];
        let sought = Sought { intervals_us: vec![100, 50], within, ..Sought::default() };
        assert_eq!(us(&find(&all, &sought).unwrap()), [(300, 400), (400, 450)]);
    }
}
