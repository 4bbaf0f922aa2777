//! gSPI's wires: bits in and out of 32-bit words, in the order that the bus is set to (datasheet 4.2).
//!
//! One wire carries data both ways. The host's bits are taken at rising edges. The chip clocks its own out at rising edges in
//! high-speed mode, which is what it starts with, else at falling ones. The first one is clocked out by the edge that took the
//! command's last bit, or by the falling one after it: it is there before the next rising edge (datasheet 4.2.1.3).

use sim::{PS_PER_NS, Ps};

/// From the edge that clocks a bit out until the host's pin has it. At the clocks of a Pico W that is an edge later. Fitted to
/// the clocks at which embassy's three PIO programs were found to read rightly or not: from 75 MHz on the first one reads too
/// early, so that it is more than 26.7 ns, and at 66.5 MHz it does not; to 133 MHz the third one does not, so that it is 30 ns at
/// most. A bit is shown from the last edge before that time on.
const OUTPUT_DELAY: Ps = 28 * PS_PER_NS;

/// What SPI_BUS_CONTROL says of the wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireMode {
    /// Words of 32 bits, else of 16.
    pub wide: bool,
    /// Bytes come in the order of memory.
    pub memory_order: bool,
    pub high_speed: bool,
}

impl WireMode {
    /// 32 bits as they pass over the wire, most significant first; and back.
    pub fn swap(self, word: u32) -> u32 {
        match (self.wide, self.memory_order) {
            (_, true) => word.swap_bytes(),
            (true, false) => word,
            (false, false) => word.rotate_left(16),
        }
    }
}

/// What a clock edge led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    Nothing,
    /// The host has sent 32 bits.
    Word(u32),
    /// The chip has to send the first bit of a word: [`Wires::send`].
    Wanted,
    /// The chip's level on the data wire.
    Data(bool),
}

#[derive(Clone, Debug, Default)]
pub struct Wires {
    clock: bool,
    driving: bool,
    /// While the first bit is on its way: the edge that clocked it out, where there has been one, and the last edge.
    turning: Option<(Option<Ps>, Ps)>,
    /// The clock's level after the edges from which on bits are shown.
    shown_at: bool,
    /// Bits of `word` that have been taken, or are still to be sent.
    bits: u32,
    word: u32,
}

impl Wires {
    /// Chip select fell: counting starts over.
    pub fn select(&mut self) {
        *self = Self { clock: self.clock, ..Self::default() };
    }

    /// The wire changes its direction at this rising edge: from now on the chip drives it.
    pub fn turn(&mut self, now: Ps, high_speed: bool) {
        self.driving = true;
        self.turning = Some((high_speed.then_some(now), now));
        self.bits = 0;
    }

    /// Whether that level of the clock is an edge.
    pub fn moves(&self, clock: bool) -> bool {
        clock != self.clock
    }

    pub fn drives(&self) -> bool {
        self.driving
    }

    /// At which edges the chip's bits change, true: at rising ones. `None`: the first one is not there yet.
    pub fn shows_at(&self) -> Option<bool> {
        (self.driving && self.turning.is_none()).then_some(self.shown_at)
    }

    /// Bits that the host may send before the last one of a word.
    pub fn room(&self) -> u32 {
        31 - self.bits
    }

    /// The host's next `count` bits, the first in the most significant place. At most one word may end with them: returns it,
    /// and leaves those behind it to the next call.
    pub fn take(&mut self, bits: u32, count: u32) -> (Option<u32>, u32) {
        let taken = count.min(32 - self.bits);
        let part = (bits >> (count - taken)) & (u32::MAX >> (32 - taken));
        self.word = self.word.checked_shl(taken).unwrap_or(0) | part;
        self.bits = (self.bits + taken) % 32;
        ((self.bits == 0).then_some(self.word), count - taken)
    }

    /// Puts out up to `count` more bits of the word, the first in the most significant place. Returns them and how many.
    pub fn give(&mut self, count: u32) -> (u32, u32) {
        let given = count.min(self.bits);
        let bits = self.word.checked_shr(32 - given).unwrap_or(0);
        self.word = self.word.checked_shl(given).unwrap_or(0);
        self.bits -= given;
        (bits, given)
    }

    /// Whether the first bit is shown from this edge on: the next one, as far off as the last, comes too late.
    fn turns(&mut self, now: Ps, clock: bool) -> bool {
        let Some((clocked_out, last)) = self.turning else { return true };
        let Some(since) = clocked_out else {
            self.turning = Some((Some(now), now));
            return false;
        };
        if now - since + (now - last) < OUTPUT_DELAY {
            self.turning = Some((clocked_out, now));
            return false;
        }
        (self.turning, self.shown_at) = (None, clock);
        true
    }

    pub fn edge(&mut self, now: Ps, clock: bool, data: bool) -> Edge {
        if clock == self.clock {
            return Edge::Nothing;
        }
        self.clock = clock;
        if self.driving {
            if !self.turns(now, clock) {
                return Edge::Nothing;
            }
            return match (clock == self.shown_at, self.bits) {
                (false, _) => Edge::Nothing,
                (true, 0) => Edge::Wanted,
                (true, _) => Edge::Data(self.next_bit()),
            };
        }
        if !clock {
            return Edge::Nothing;
        }
        self.word = (self.word << 1) | u32::from(data);
        self.bits += 1;
        if self.bits < 32 {
            return Edge::Nothing;
        }
        self.bits = 0;
        Edge::Word(self.word)
    }

    /// Sends `word` from this edge on; returns the level of its first bit.
    pub fn send(&mut self, word: u32) -> bool {
        self.load(word);
        self.next_bit()
    }

    /// The word that is sent next.
    pub fn load(&mut self, word: u32) {
        self.word = word;
        self.bits = 32;
    }

    fn next_bit(&mut self) -> bool {
        let level = self.word & 0x8000_0000 != 0;
        self.word <<= 1;
        self.bits -= 1;
        level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cross_the_wire_as_the_drivers_swap_them() {
        let mode = |wide, memory_order| WireMode { wide, memory_order, high_speed: true };
        // A driver sends two halves, the lower first, before the switch to 32 bits.
        assert_eq!(mode(false, false).swap(0x4000_a004), 0xa004_4000);
        assert_eq!(mode(true, true).swap(0x4000_a004), 0x04a0_0040);
        assert_eq!(mode(true, false).swap(0x4000_a004), 0x4000_a004);
        for (wide, order) in [(false, false), (false, true), (true, false), (true, true)] {
            assert_eq!(mode(wide, order).swap(mode(wide, order).swap(0x0123_4567)), 0x0123_4567, "its own inverse");
        }
    }

    /// A host's PIO program from the command's last rising edge on, instruction by instruction: the clock's level, and whether
    /// the data wire is sampled just before it changes. The second list is repeated for each bit.
    type Program = (&'static [bool], [(bool, bool); 2]);

    /// pico-sdk's `spi_gap01_sample0`, embassy's second.
    const GAP01_SAMPLE0: Program = (&[false, true], [(false, true), (true, false)]);
    /// embassy's first.
    const SAMPLE1: Program = (&[false, false], [(true, true), (false, false)]);
    /// pico-sdk's `spi_gap010_sample1`, embassy's third.
    const GAP010_SAMPLE1: Program = (&[false, true, false], [(true, true), (false, false)]);

    /// What a host reads of `word` whose PIO takes `cycle` for an instruction.
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

    /// embassy's cyw43-pio says at which clocks of the PIO each of its programs was found to read rightly.
    #[test]
    fn programs_read_rightly_at_the_clocks_that_they_are_for() {
        let reads = |program, pio_mhz: f64, high_speed| {
            [0x8000_0001, 0xfeed_bead, 0x7fff_fffe]
                .iter()
                .all(|&word| read(program, (1e6 / pio_mhz) as Ps, high_speed, word) == word)
        };
        for mhz in [62.5, 66.5, 75.0, 100.0] {
            assert!(reads(GAP01_SAMPLE0, mhz, true), "{mhz}");
        }
        assert!(!reads(GAP01_SAMPLE0, 133.0, true), "the first bit is not there yet");
        for mhz in [44.3, 62.5, 66.5] {
            assert!(reads(SAMPLE1, mhz, true), "{mhz}");
        }
        assert!(!reads(SAMPLE1, 75.0, true), "nor is it here");
        assert!(reads(GAP010_SAMPLE1, 133.0, true));
        assert!(reads(GAP01_SAMPLE0, 62.5, false), "half a period later, and still in time");
        assert!(!reads(SAMPLE1, 62.5, false));
    }

    /// Bits in groups are bits one by one.
    #[test]
    fn groups_of_bits_pass_as_edges_do() {
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
}
