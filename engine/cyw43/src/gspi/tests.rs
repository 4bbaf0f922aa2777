use super::*;

#[test]
fn words_cross_the_wire_as_the_drivers_swap_them() {
    let mode = |wide, memory_order| WireMode { wide, memory_order, high_speed: true };
    // Before the switch to 32 bits a driver sends two halves, the lower one first.
    assert_eq!(mode(false, false).swap(0x4000_a004), 0xa004_4000);
    assert_eq!(mode(true, true).swap(0x4000_a004), 0x04a0_0040);
    assert_eq!(mode(true, false).swap(0x4000_a004), 0x4000_a004);
    for (wide, order) in [(false, false), (false, true), (true, false), (true, true)] {
        assert_eq!(mode(wide, order).swap(mode(wide, order).swap(0x0123_4567)), 0x0123_4567, "its own inverse");
    }
}

/// A host's PIO program from the command's last rising edge on, instruction by instruction: the clock's level, and
/// whether the data wire is sampled just before it changes. The second list is repeated for each bit.
type Program = (&'static [bool], [(bool, bool); 2]);

/// pico-sdk's `spi_gap01_sample0`, embassy's second.
const GAP01_SAMPLE0: Program = (&[false, true], [(false, true), (true, false)]);
/// embassy's first.
const SAMPLE1: Program = (&[false, false], [(true, true), (false, false)]);
/// pico-sdk's `spi_gap010_sample1`, embassy's third.
const GAP010_SAMPLE1: Program = (&[false, true, false], [(true, true), (false, false)]);

/// Returns the bits of `word` that a host reads whose PIO takes `cycle` per instruction.
fn read((gap, each): Program, cycle: Ps, high_speed: bool, word: u32) -> u32 {
    let (mut wires, mut now, mut level) = (Wires::default(), 0, true);
    wires.select();
    for bit in 0..32 {
        now += cycle;
        assert_eq!(wires.edge(now, false, bit == 31), Edge::Nothing);
        now += cycle;
        assert_eq!(wires.edge(now, true, bit == 31), if bit == 31 { Edge::Word(1) } else { Edge::Nothing });
    }
    wires.turn(now, high_speed);
    let gap = gap.iter().map(|&clock| (clock, false));
    gap.chain(std::iter::repeat_n(each, 32).flatten()).fold(0, |mut read, (clock, samples)| {
        if samples {
            read = read << 1 | u32::from(level);
        }
        now += cycle;
        match wires.edge(now, clock, true) {
            Edge::Wanted => level = wires.send(word),
            Edge::Data(next) => level = next,
            _ => {}
        }
        read
    })
}

/// embassy's cyw43-pio lists the PIO clocks at which each of its programs was found to read correctly.
#[test]
fn programs_read_correctly_at_their_clocks() {
    let reads = |program, pio_mhz: f64, high_speed| {
        [0x8000_0001, 0xfeed_bead, 0x7fff_fffe]
            .iter()
            .all(|&word| read(program, (1e6 / pio_mhz) as Ps, high_speed, word) == word)
    };
    for mhz in [62.5, 66.5, 75.0, 100.0] {
        assert!(reads(GAP01_SAMPLE0, mhz, true), "{mhz}");
    }
    assert!(!reads(GAP01_SAMPLE0, 133.0, true), "the first bit is delayed");
    for mhz in [44.3, 62.5, 66.5] {
        assert!(reads(SAMPLE1, mhz, true), "{mhz}");
    }
    assert!(!reads(SAMPLE1, 75.0, true), "nor is it here");
    assert!(reads(GAP010_SAMPLE1, 133.0, true));
    assert!(reads(GAP01_SAMPLE0, 62.5, false), "half a period later, and still in time");
    assert!(!reads(SAMPLE1, 62.5, false));
}

/// A bit is there 28 ns after its edge, whatever the next one's time. The host pauses after the command, and samples
/// just before each rising edge.
#[test]
fn the_first_bit_appears_in_a_pause_of_the_clock() {
    const WORD: u32 = 0x8000_0001;
    for (first, half) in
        [(8, 40), (8, 500), (16, 40), (500, 500)].map(|(first, half)| (first * PS_PER_NS, half * PS_PER_NS))
    {
        for high_speed in [false, true] {
            let (mut wires, mut level, mut read) = (Wires { clock: true, ..Wires::default() }, false, 0);
            wires.turn(0, high_speed);
            let edges = (0..64).map(|edge| if edge == 0 { first } else { 1000 * PS_PER_NS + edge * half });
            for (now, clock) in edges.zip([false, true].into_iter().cycle()) {
                let shown = wires.due().filter(|&due| due <= now).map(|due| wires.show(due));
                for sampling in [true, false] {
                    let bit = if sampling { shown } else { Some(wires.edge(now, clock, true)) };
                    level = match bit {
                        Some(Edge::Wanted) => wires.send(WORD),
                        Some(Edge::Data(next)) => next,
                        _ => level,
                    };
                    read = if clock && sampling { read << 1 | u32::from(level) } else { read };
                }
            }
            assert_eq!(read, WORD, "{first} ps, {half} ps, {high_speed}");
        }
    }
}

/// Bits in groups must equal single bits.
#[test]
fn groups_of_bits_equal_single_edges() {
    let (mut grouped, mut single) = (Wires::default(), Wires::default());
    let (mut words, mut expected) = (Vec::new(), Vec::new());
    let mut random = 1u32;
    for count in (1..=32).chain([31, 1, 32, 32, 7]) {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let bits = random & (u32::MAX >> (32 - count));
        let mut left = count;
        while left != 0 {
            let (word, rest) = grouped.take(bits, left);
            words.extend(word);
            left = rest;
        }
        for bit in (0..count).rev() {
            if let Edge::Word(word) = single.edge(0, true, bits >> bit & 1 != 0) {
                expected.push(word);
            }
            single.edge(0, false, false);
        }
        assert_eq!((&words, grouped.room()), (&expected, single.room()));
    }
    assert!(words.len() > 10);
    for wires in [&mut grouped, &mut single] {
        wires.turn(0, true);
        wires.load(0xfeed_bead);
    }
    for (count, bits) in [(5, 0b11111), (27, 0x6ed_bead)] {
        assert_eq!(grouped.give(count), (bits, count));
        let one_by_one = (0..count).fold(0u32, |bits, _| {
            let Edge::Data(level) = single.edge(OUTPUT_DELAY, true, false) else { unreachable!("bits are left") };
            single.edge(0, false, false);
            bits << 1 | u32::from(level)
        });
        assert_eq!(one_by_one, bits);
    }
    assert_eq!(grouped.give(3), (0, 0), "the next word is wanted");
}
