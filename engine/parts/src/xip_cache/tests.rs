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
    assert!(c.enabled && !c.is_sram());
    c.configure(false, true);
    assert!(!c.enabled && !c.is_sram());
    c.configure(true, false);
    c.access_word(8);
    c.configure(true, true);
    assert_eq!((c.access_word(8), c.is_sram()), (0, false));
    c.reset();
    assert_eq!((c.enabled, c.is_sram(), c.accesses, c.misses), (true, false, 0, 0));
    assert_eq!(c.access_word(8), 50);
    c.configure(false, true);
    c.reset();
    assert!(c.enabled && !c.is_sram());
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

#[test]
fn a_line_fills_whole_and_the_next_one_costs_less() {
    let mut c = XipCache { whole_lines: true, next_line_cycles: Some(20), ..cache() };
    assert_eq!([0, 4, 8, 16, 32, 40].map(|at| c.access_word(at)), [50, 0, 20, 20, 50, 20]);
    c.deselect();
    assert_eq!(c.access_word(48), 50);
    c.invalidate_way(0, 0);
    c.invalidate_way(0, 1);
    assert_eq!(c.access_word(0), 50);
}
