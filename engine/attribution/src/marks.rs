//! Locates a client's measurements among the readings of its clock.
//!
//! A client reports how long each interval took, not when it was. But an interval starts and ends with a reading of the
//! timer, and the two values differ by the reported duration. Readings by a single instruction are tried first.

use std::collections::BTreeMap;

use sim::Ps;

use crate::Interval;
use crate::tape::{Item, Tape};

/// One reading of the timer's low word by core 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Time when the timer reached the value that was read.
    pub at: Ps,
    /// The value read: microseconds, modulo 2^32.
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
    /// The `monotonic_ns` of CircuitPython 9: ticks of 1/1024 s, which it counts as 977 us within a second, and 32nds of
    /// them.
    CircuitPython,
    /// The same, with each reading truncated to whole microseconds by the client before it subtracts.
    CircuitPythonMicroseconds,
    /// CircuitPython's clock from release 10 on: 32nds of exact ticks of 1/1024 s.
    CircuitPython10,
    /// The same, truncated to whole microseconds.
    CircuitPython10Microseconds,
    /// CircuitPython's clock before release 9: whole ticks.
    CircuitPythonTicks,
    /// The same, truncated to whole microseconds.
    CircuitPythonTicksMicroseconds,
}

impl Clock {
    /// Finer clocks before coarser ones: whole ticks match more readings than intended.
    pub const ALL: [Clock; 7] = [
        Clock::Timer,
        Clock::CircuitPython,
        Clock::CircuitPythonMicroseconds,
        Clock::CircuitPython10,
        Clock::CircuitPython10Microseconds,
        Clock::CircuitPythonTicks,
        Clock::CircuitPythonTicksMicroseconds,
    ];

    fn ns(self, timer_us: u32) -> u64 {
        let us = u64::from(timer_us);
        let (seconds, rest) = (us / 1_000_000, us % 1_000_000);
        let ticks = 1024 * seconds + rest / 977;
        let (ticks, subticks) = match self {
            Clock::Timer => return us * 1000,
            Clock::CircuitPython => (ticks, rest % 977 / 31),
            Clock::CircuitPython10 => (us * 512 / 15_625 / 32, us * 512 / 15_625 % 32),
            Clock::CircuitPythonTicks => (ticks, 0),
            Clock::CircuitPythonMicroseconds => return Clock::CircuitPython.ns(timer_us) / 1000 * 1000,
            Clock::CircuitPython10Microseconds => return Clock::CircuitPython10.ns(timer_us) / 1000 * 1000,
            Clock::CircuitPythonTicksMicroseconds => return Clock::CircuitPythonTicks.ns(timer_us) / 1000 * 1000,
        };
        976_562 * ticks + ticks / 2 + 30_518 * subticks
    }
}

/// A client's report: whole microseconds on its clock.
#[derive(Clone, Debug, Default)]
pub struct Sought {
    /// Durations in order of time; none starts before the previous one ended.
    pub intervals_us: Vec<u64>,
    /// The clock by which the client measured.
    pub clock: Clock,
    /// If known, a time within each interval: when the PC had the message.
    pub within: Vec<Ps>,
    /// Time from the client's start to the start of the workload, and to the link.
    pub ready_us: Option<u64>,
    /// Time from the client's start to the link.
    pub link_us: Option<u64>,
}

/// The measured times as simulated time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// One interval for each entry of [`Sought::intervals_us`].
    pub intervals: Vec<Interval>,
    /// Times when the client started, saw the link, and was ready, if it reports them.
    pub started: Option<Ps>,
    /// When the client saw the link.
    pub linked: Option<Ps>,
    /// When the client was ready.
    pub ready: Option<Ps>,
}

/// Most readings searched between the end of an interval and the start of the next one.
const BETWEEN: usize = 64;
/// Most instructions whose readings are tried by themselves.
const MOST_GROUPS: usize = 64;

impl Item for Mark {
    fn write(&self, before: &Self, put: &mut impl FnMut(u64)) {
        put(self.at.wrapping_sub(before.at));
        put(self.value.wrapping_sub(before.value).into());
        put((self.pc ^ before.pc).into());
    }

    fn read(before: &Self, get: &mut impl FnMut() -> u64) -> Self {
        let at = before.at.wrapping_add(get());
        Self { at, value: before.value.wrapping_add(get() as u32), pc: before.pc ^ get() as u32 }
    }
}

/// A reading's place: how often the timer has gone back, in the upper half, and its value. Readings of one value are of
/// one time.
type Key = u64;

/// Keys in little room: some bytes for each, and a bit for each value where they are dense.
#[derive(Clone, Debug, Default)]
struct Keys(BTreeMap<u64, Block>);

#[derive(Clone, Debug)]
enum Block {
    Few(Vec<u16>),
    Many(Box<[u64; 1024]>),
}

const MOST_FEW: usize = 4096;

impl Block {
    /// Adds `low`; false: it is there.
    fn add(&mut self, low: u16) -> bool {
        if let Block::Few(few) = self {
            match few.binary_search(&low) {
                Ok(_) => return false,
                Err(place) if few.len() < MOST_FEW => {
                    few.insert(place, low);
                    return true;
                }
                Err(_) => {
                    let mut bits = Box::new([0; 1024]);
                    few.iter().for_each(|&low| bits[usize::from(low >> 6)] |= 1 << (low & 63));
                    *self = Block::Many(bits);
                }
            }
        }
        let Block::Many(bits) = self else { return false };
        let (word, bit) = (&mut bits[usize::from(low >> 6)], 1 << (low & 63));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn from(&self, low: u16) -> Option<u16> {
        match self {
            Block::Few(few) => few.get(few.partition_point(|&each| each < low)).copied(),
            Block::Many(bits) => {
                let mut word = usize::from(low >> 6);
                let mut left = bits[word] & (u64::MAX << (low & 63));
                while left == 0 {
                    word += 1;
                    left = *bits.get(word)?;
                }
                Some((word * 64) as u16 + left.trailing_zeros() as u16)
            }
        }
    }

    fn upto(&self, low: u16) -> Option<u16> {
        match self {
            Block::Few(few) => few[..few.partition_point(|&each| each <= low)].last().copied(),
            Block::Many(bits) => {
                let mut word = usize::from(low >> 6);
                let mut left = bits[word] & (u64::MAX >> (63 - (low & 63)));
                while left == 0 {
                    word = word.checked_sub(1)?;
                    left = bits[word];
                }
                Some((word * 64) as u16 + 63 - left.leading_zeros() as u16)
            }
        }
    }
}

impl Keys {
    /// Adds `key`; false: it is there.
    fn add(&mut self, key: Key) -> bool {
        self.0.entry(key >> 16).or_insert_with(|| Block::Few(Vec::new())).add(key as u16)
    }

    /// Returns the first key at or after `key`.
    fn from(&self, key: Key) -> Option<Key> {
        let whole = |(high, block): (&u64, &Block), low: u16| block.from(low).map(|low| high << 16 | u64::from(low));
        let high = key >> 16;
        let same = self.0.get(&high).and_then(|block| whole((&high, block), key as u16));
        same.or_else(|| self.0.range(high + 1..).next().and_then(|block| whole(block, 0)))
    }

    /// Returns the last key at or before `key`.
    fn upto(&self, key: Key) -> Option<Key> {
        let whole = |(high, block): (&u64, &Block), low: u16| block.upto(low).map(|low| high << 16 | u64::from(low));
        let high = key >> 16;
        let same = self.0.get(&high).and_then(|block| whole((&high, block), key as u16));
        same.or_else(|| self.0.range(..high).next_back().and_then(|block| whole(block, u16::MAX)))
    }
}

/// Keys of readings, of which several may be of one microsecond.
#[derive(Clone, Debug, Default)]
struct Group {
    keys: Keys,
    /// Those of a second reading, of a third and so on.
    again: Vec<Keys>,
}

impl Group {
    fn add(&mut self, key: Key) {
        if self.keys.add(key) || self.again.iter_mut().any(|keys| keys.add(key)) || self.again.len() == BETWEEN {
            return;
        }
        self.again.push(Keys::default());
        self.again.iter_mut().for_each(|keys| _ = keys.add(key));
    }

    /// Returns the number of readings of `key`.
    fn count(&self, key: Key) -> usize {
        1 + self.again.iter().take_while(|keys| keys.from(key) == Some(key)).count()
    }
}

/// The readings of a recording, by instruction.
pub struct Readings<'a> {
    marks: &'a Tape<Mark>,
    /// Those of each instruction, the fewest first: that is most likely the client's. All of them together are last.
    groups: Vec<Group>,
}

impl<'a> Readings<'a> {
    /// Reads the marks up to the time `until`.
    pub fn new(marks: &'a Tape<Mark>, until: Ps) -> Self {
        let mut groups: BTreeMap<u32, (u64, Group)> = BTreeMap::new();
        let mut all = Group::default();
        for (key, mark) in keyed(marks).take_while(|(_, mark)| mark.at <= until) {
            if groups.len() < MOST_GROUPS || groups.contains_key(&mark.pc) {
                let (count, keys) = groups.entry(mark.pc).or_default();
                *count += 1;
                keys.add(key);
            }
            all.add(key);
        }
        let mut groups: Vec<(u64, Group)> = groups.into_values().collect();
        groups.sort_by_key(|group| group.0);
        let groups = groups.into_iter().map(|group| group.1).chain([all]).collect();
        Self { marks, groups }
    }

    /// Returns the intervals, or `None` if no readings match.
    pub fn find(&self, sought: &Sought) -> Option<Windows> {
        let within = self.places(&sought.within);
        self.groups.iter().find_map(|group| self.find_among(group, sought, &within))
    }

    /// Returns when a client that measures nothing itself was ready: by the last matching readings.
    pub fn find_ready(&self, sought: &Sought) -> Option<Windows> {
        let sought = Sought { intervals_us: Vec::new(), ..sought.clone() };
        let found = self.groups.iter().filter_map(|group| self.find_among(group, &sought, &[]));
        found.into_iter().find(|found| found.ready.is_some())
    }

    fn find_among(&self, group: &Group, sought: &Sought, within: &[(Key, Key)]) -> Option<Windows> {
        let keys = &group.keys;
        let read = Read { group, keys, sought, within };
        let pairs = read.chain()?;
        let mut found = Found { pairs, ..Found::default() };
        if let Some(ready_us) = sought.ready_us {
            let mut next = keys.upto(found.pairs.first().map_or(Key::MAX, |pair| pair.0));
            if found.pairs.is_empty() {
                next?;
            }
            let mut left = BETWEEN + 1;
            while let Some(ready) = next.filter(|_| left > 0) {
                left = left.saturating_sub(group.count(ready));
                next = ready.checked_sub(1).and_then(|before| keys.upto(before));
                let Some(started) = read.before(ready, ready_us) else { continue };
                let linked = sought.link_us.map(|link_us| read.after(started, link_us));
                if linked.is_some_and(|linked| linked.is_none()) {
                    continue;
                }
                found.started = Some(started);
                found.linked = linked.flatten();
                found.ready = Some(ready);
                break;
            }
        }
        Some(self.windows(&found))
    }

    /// Returns for each of the times the last key before it or at it, and the first one at it or after it.
    fn places(&self, times: &[Ps]) -> Vec<(Key, Key)> {
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by_key(|&index| times[index]);
        let mut found = vec![(0, Key::MAX); times.len()];
        let (mut marks, mut before) = (keyed(self.marks).peekable(), 0);
        for index in order {
            while let Some((key, _)) = marks.next_if(|(_, mark)| mark.at < times[index]) {
                before = key;
            }
            let after = marks.peek().copied();
            let is_at = after.is_some_and(|(_, mark)| mark.at == times[index]);
            let after = after.map_or(Key::MAX, |(key, _)| key);
            found[index] = (if is_at { after } else { before }, after);
        }
        found
    }

    fn windows(&self, found: &Found) -> Windows {
        let mut times: BTreeMap<Key, Ps> = BTreeMap::new();
        let wanted = [found.started, found.linked, found.ready].into_iter().flatten();
        times.extend(wanted.chain(found.pairs.iter().flat_map(|pair| [pair.0, pair.1])).map(|key| (key, 0)));
        for (key, mark) in keyed(self.marks) {
            if let Some(at) = times.get_mut(&key) {
                *at = mark.at;
            }
        }
        let at = |key: Option<Key>| key.map(|key| times[&key]);
        Windows {
            intervals: found.pairs.iter().map(|pair| (times[&pair.0], times[&pair.1])).collect(),
            started: at(found.started),
            linked: at(found.linked),
            ready: at(found.ready),
        }
    }
}

/// Windows as keys.
#[derive(Default)]
struct Found {
    pairs: Vec<(Key, Key)>,
    started: Option<Key>,
    linked: Option<Key>,
    ready: Option<Key>,
}

fn keyed(marks: &Tape<Mark>) -> impl Iterator<Item = (Key, Mark)> {
    let mut last = 0;
    marks.iter().map(move |mark| {
        let back = u64::from(mark.value < last as u32);
        last = ((last >> 32) + back) << 32 | u64::from(mark.value);
        (last, mark)
    })
}

/// The pairs of readings that an interval may begin and end with, nearest first.
struct Choices {
    /// The begin of the next pair; `None`: there is no further pair.
    start: Option<Key>,
    /// Begins left after this one.
    left: usize,
    /// The least end of the next pair.
    end: Key,
}

/// A search among the readings of one group.
struct Read<'a> {
    group: &'a Group,
    keys: &'a Keys,
    sought: &'a Sought,
    /// For each interval the keys around the time that is known to be within it.
    within: &'a [(Key, Key)],
}

impl Read<'_> {
    /// Returns the microseconds that a client reports from one key to another.
    fn us(&self, from: Key, to: Key) -> u64 {
        let ns = |key: Key| self.sought.clock.ns(key as u32);
        ns(to).saturating_sub(ns(from)) / 1000
    }

    /// Returns the first key, read or not, that a client counts as `interval_us` or more after `from`; `None`: the timer
    /// goes back before.
    fn earliest(&self, from: Key, interval_us: u64) -> Option<Key> {
        // Two readings may be of one microsecond.
        let (mut low, mut high) = (from + u64::from(interval_us > 0), (from | u64::from(u32::MAX)) + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.us(from, middle) < interval_us { low = middle + 1 } else { high = middle }
        }
        (low <= from | u64::from(u32::MAX)).then_some(low)
    }

    /// Returns the first reading at or after `least` that a client counts as `interval_us` after `from`.
    fn end(&self, from: Key, least: Key, interval_us: u64) -> Option<Key> {
        let end = self.keys.from(least)?;
        (end >> 32 == from >> 32 && self.us(from, end) == interval_us).then_some(end)
    }

    fn after(&self, from: Key, interval_us: u64) -> Option<Key> {
        self.end(from, self.earliest(from, interval_us)?, interval_us)
    }

    /// Returns the first reading that a client counts as `interval_us` before reading `to`.
    fn before(&self, to: Key, interval_us: u64) -> Option<Key> {
        let (mut low, mut high) = (to & !u64::from(u32::MAX), to);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.us(middle, to) > interval_us { low = middle + 1 } else { high = middle }
        }
        let first = self.keys.from(low)?;
        (first < to && self.us(first, to) == interval_us).then_some(first)
    }

    /// Returns the start and end of each interval: depth first, without repeating dead ends.
    fn chain(&self) -> Option<Vec<(Key, Key)>> {
        let intervals = self.sought.intervals_us.len();
        if intervals == 0 {
            return Some(Vec::new());
        }
        let mut dead: Vec<Keys> = Vec::new();
        let mut next_first = self.keys.upto(Key::MAX);
        // From the end: a client does little between its intervals, so the tighter of two chains is the client's.
        while let Some(first) = next_first {
            next_first = first.checked_sub(1).and_then(|before| self.keys.upto(before));
            // The choices left for each interval.
            let mut open = vec![self.choices(first, 1, 0)];
            let mut chosen: Vec<(Key, Key)> = Vec::new();
            while let Some(choices) = open.last_mut() {
                let Some(pair) = self.next_pair(choices, chosen.len()) else {
                    open.pop();
                    chosen.pop();
                    continue;
                };
                if dead.len() == chosen.len() {
                    dead.push(Keys::default());
                }
                if !dead[chosen.len()].add(pair.1) {
                    continue;
                }
                chosen.push(pair);
                if chosen.len() == intervals {
                    return Some(chosen);
                }
                open.push(self.choices(pair.1, BETWEEN, chosen.len()));
            }
        }
        None
    }

    /// Returns pairs for interval `number` that start within `count` readings from `from` on.
    fn choices(&self, from: Key, count: usize, number: usize) -> Choices {
        let end = self.earliest(from, self.sought.intervals_us[number]).unwrap_or(Key::MAX);
        Choices { start: Some(from), left: count - 1, end }
    }

    fn next_pair(&self, choices: &mut Choices, number: usize) -> Option<(Key, Key)> {
        let interval_us = self.sought.intervals_us[number];
        let within = self.within.get(number);
        while let Some(start) = choices.start {
            if within.is_some_and(|within| start > within.0) {
                break;
            }
            let least = within.map_or(choices.end, |within| choices.end.max(within.1));
            if let Some(end) = self.end(start, least, interval_us) {
                choices.end = end + 1;
                return Some((start, end));
            }
            choices.start = (choices.left > 0).then(|| self.keys.from(start + 1)).flatten();
            if let Some(start) = choices.start {
                choices.left = choices.left.saturating_sub(self.group.count(start));
                choices.end = self.earliest(start, interval_us).unwrap_or(Key::MAX);
            }
        }
        choices.start = None;
        None
    }
}

#[cfg(test)]
mod tests;
