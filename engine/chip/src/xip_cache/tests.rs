use super::*;
use sim::SplitMix64;
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
    fn hits(&mut self, word: u32, set: u32) -> bool {
        let line = word / 2;
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

#[test]
fn does_as_the_plain_cache() {
    for number in 0..256 {
        let random = &mut SplitMix64::new(number);
        let seed = random.below(4) as u32;
        let (mut c, mut chooser) = (placed(seed), placed(seed));
        let victims = (0..400).map(|line| {
            let way = u32::from(chooser.victim & 1);
            chooser.access_word(line << LINE_BYTES_LOG2);
            way
        });
        let mut plain = Plain { victims: victims.collect(), ..Plain::default() };
        for _ in 0..random.below(400) {
            // Few sets and tags, so that lines collide.
            let word = ((random.below(3) << 11) + (random.below(4) << 1) + random.below(2)) as u32;
            match random.below(200) {
                0 => {
                    plain.ways.clear();
                    c.flush();
                }
                1..=10 => {
                    plain.ways.retain(|_, (line, _)| *line != word / 2);
                    c.invalidate(word / 2);
                }
                _ => {
                    let set = c.place_of(word / 2).0 as u32;
                    let expected = if plain.hits(word, set) { 0 } else { 50 };
                    assert_eq!(c.access_word(word << 2), expected, "case {number}");
                }
            }
        }
    }
}

/// Returns a cache in that layout; 0: as linked.
fn placed(layout: u32) -> XipCache {
    let mut c = cache();
    if layout != 0 {
        c.place(layout);
    }
    c
}

/// Returns the words that miss when each of `offsets` is read `turns` times in turn.
fn misses(layout: u32, offsets: &[u32], turns: u64) -> u64 {
    let mut c = placed(layout);
    for _ in 0..turns {
        offsets.iter().for_each(|at| {
            c.access_word(*at);
        });
    }
    c.misses
}

#[test]
fn lines_of_one_set_part_in_other_layouts() {
    let three = [0x2000, 0x4000, 0x6000];
    assert!(misses(0, &three, 1000) > 1500);
    let missed: Vec<u64> = (1..=8).map(|layout| misses(layout, &three, 1000)).collect();
    assert_eq!(missed, [3; 8]);
}

#[test]
fn lines_of_other_sets_meet_in_some_layouts() {
    let one_way: Vec<u32> = (0..0x2000).step_by(4).collect();
    assert_eq!(misses(0, &one_way, 4), 2048);
    let missed: Vec<u64> = (1..=8).map(|layout| misses(layout, &one_way, 4)).collect();
    assert!(missed.iter().any(|count| *count > 2048), "{missed:?}");
    assert_eq!(missed, (1..=8).map(|layout| misses(layout, &one_way, 4)).collect::<Vec<_>>());
}

#[test]
fn pieces_keep_their_lines_in_order() {
    for layout in 1..=8 {
        let (placed, _) = Placement::drawn(layout);
        let cuts: Vec<u32> = (1..4096).filter(|line| placed.set(*line) != (placed.set(*line - 1) + 1) % SETS).collect();
        assert_eq!(cuts.len(), 8);
        assert!(cuts.windows(2).all(|pair| pair[1] - pair[0] == 512), "{cuts:?}");
    }
}

#[test]
fn a_placed_line_is_pinned_and_invalidated_where_it_lies() {
    let mut c = cache();
    c.place(1);
    let (set, _) = c.place_of(0x2468 >> LINE_BYTES_LOG2);
    c.pin(0x2468 >> LINE_BYTES_LOG2);
    assert_eq!(c.find(0x2468 >> LINE_BYTES_LOG2).map(|place| place % SETS), Some(set));
    assert_eq!([c.access_word(0x2468), c.access_word(0x246c)], [0, 0]);
    for way in 0..2 {
        c.invalidate_way(set as u32, way);
    }
    assert_eq!(c.find(0x2468 >> LINE_BYTES_LOG2), None);
    assert_eq!([c.access_word(0x2468), c.access_word(0x246c), c.access_word(0x2468)], [50, 50, 0]);
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

#[test]
fn it_tells_which_words_of_a_line_it_holds() {
    for line in [0, 5 << LINE_BYTES_LOG2, 7 << 13] {
        let mut c = cache();
        c.access_word(line + 4);
        assert_eq!((c.holds(line), c.holds(line + 4)), (0, 1));
        c.access_word(line);
        assert_eq!((c.holds(line), c.holds(line + 4)), (2, 1));
        assert_eq!(c.holds(line ^ 1 << 13), 0);
    }
}

/// A run is forgotten before any of its words can miss, whatever happens to the cache in between.
#[test]
fn a_run_is_known_only_while_its_words_hit() {
    for number in 0..256 {
        let random = &mut SplitMix64::new(number);
        let mut c = placed(random.below(3) as u32);
        for _ in 0..=random.below(199) {
            // Few lines, three of which share a set.
            let tag = random.below(3) as u32;
            let line = tag << SETS.ilog2() | random.below(4) as u32;
            let offset = line << LINE_BYTES_LOG2;
            match random.below(12) {
                0..3 => _ = c.access_word(offset),
                3..6 => _ = c.access_word(offset + 4),
                6..8 => {
                    for word in [offset, offset + 4] {
                        let words = c.holds(word);
                        if words != 0 {
                            c.remember_run(word, word + 4 * words - 2);
                            assert_eq!(c.run_from(word), word + 4 * words - 2);
                        }
                    }
                }
                8 => c.flush(),
                9 => c.invalidate(line),
                10 => c.pin(line),
                _ => c.invalidate_way(line, tag),
            }
            for word in 0..24 {
                let line = (word / 2 % 4) | ((word / 8) << SETS.ilog2());
                let (start, misses) = ((line << LINE_BYTES_LOG2) | ((word & 1) << 2), c.misses);
                let (held, end) = (c.holds(start), c.run_from(start));
                assert!(held <= 2 - (word & 1));
                let words = held.max(if end == 0 { 0 } else { (end + 2 - start) / 4 });
                (0..words).for_each(|next| _ = c.access_word(start + 4 * next));
                assert_eq!(c.misses, misses, "case {number}");
            }
        }
    }
}

#[test]
fn each_written_line_of_a_set_is_written_back_once() {
    let mut cache = cache();
    let lines = [0, 1, 2, 3, 4, 5, 6, 7].map(|number| number * SETS as u32);
    for line in lines {
        let place = cache.fill(line).unwrap();
        cache.set_dirty(place);
    }
    assert!(cache.is_dirty());
    for line in lines {
        cache.clean(line);
    }
    let mut back: Vec<u32> = cache.written_back.iter().map(|&(offset, _)| offset >> LINE_BYTES_LOG2).collect();
    back.sort_unstable();
    assert_eq!((back.as_slice(), cache.is_dirty()), (&lines[..], false));
}
