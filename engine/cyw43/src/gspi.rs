//! gSPI's wires: bits of 32-bit words, in the order that the bus is set to (datasheet 4.2).
//!
//! One wire carries data in both directions. The chip samples the host's bits at rising edges. It shifts its own bits
//! out at rising edges in high-speed mode, which is the mode after reset, otherwise at falling edges. The first one is
//! shifted out by the edge that sampled the command's last bit, or by the falling edge after it: it is valid before the
//! next rising edge (datasheet 4.2.1.3).

use sim::{PS_PER_NS, Ps};

/// Delay from the edge that shifts a bit out to the host's pin. At the clocks of a Pico W that is one edge later. The
/// value is fitted to the clocks at which embassy's three PIO programs were found to read correctly or not. From 75 MHz
/// on the first one reads too early, so the delay is more than 26.7 ns, and at 66.5 MHz it reads correctly. Up to 133
/// MHz the third one reads correctly, so the delay is at most 30 ns. A bit becomes visible at the last edge before that
/// time.
const OUTPUT_DELAY: Ps = 28 * PS_PER_NS;

/// The wire format that SPI_BUS_CONTROL selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireMode {
    /// Words of 32 bits, otherwise of 16.
    pub wide: bool,
    /// Bytes are in memory order.
    pub memory_order: bool,
    pub high_speed: bool,
}

impl WireMode {
    /// Converts 32 bits to or from their order on the wire, most significant first.
    pub fn swap(self, word: u32) -> u32 {
        match (self.wide, self.memory_order) {
            (_, true) => word.swap_bytes(),
            (true, false) => word,
            (false, false) => word.rotate_left(16),
        }
    }
}

/// The effect of a clock edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    Nothing,
    /// The host has sent 32 bits.
    Word(u32),
    /// The chip must send the first bit of a word: [`Wires::send`].
    Wanted,
    /// The chip's level on the data wire.
    Data(bool),
}

#[derive(Clone, Debug, Default)]
pub struct Wires {
    clock: bool,
    driving: bool,
    /// Set while the first bit is delayed: the edge that shifted it out, if there was one, and the last edge.
    turning: Option<(Option<Ps>, Ps)>,
    /// The clock's level after the edges at which bits become visible.
    shown_at: bool,
    /// Bits of `word` that have been received, or are still to be sent.
    bits: u32,
    word: u32,
}

impl Wires {
    /// Handles the falling edge of chip select: counting starts over.
    pub fn select(&mut self) {
        *self = Self { clock: self.clock, ..Self::default() };
    }

    /// Reverses the wire's direction at this rising edge: from now on the chip drives it.
    pub fn turn(&mut self, now: Ps, high_speed: bool) {
        self.driving = true;
        self.turning = Some((high_speed.then_some(now), now));
        self.bits = 0;
    }

    /// Returns whether that level of the clock is an edge.
    pub fn moves(&self, clock: bool) -> bool {
        clock != self.clock
    }

    pub fn drives(&self) -> bool {
        self.driving
    }

    /// Returns the edges at which the chip's bits change (true: rising), or `None` while the first bit is delayed.
    pub fn shows_at(&self) -> Option<bool> {
        (self.driving && self.turning.is_none()).then_some(self.shown_at)
    }

    /// Returns how many bits the host may send before the last one of a word.
    pub fn room(&self) -> u32 {
        31 - self.bits
    }

    /// Accepts the host's next `count` bits, the first one in the most significant place. At most one word may end
    /// within them: returns it, and the number of bits after it, which the next call must pass again.
    pub fn take(&mut self, bits: u32, count: u32) -> (Option<u32>, u32) {
        let taken = count.min(32 - self.bits);
        let part = (bits >> (count - taken)) & (u32::MAX >> (32 - taken));
        self.word = self.word.checked_shl(taken).unwrap_or(0) | part;
        self.bits = (self.bits + taken) % 32;
        ((self.bits == 0).then_some(self.word), count - taken)
    }

    /// Shifts out up to `count` more bits of the word, the first one in the most significant place. Returns them and
    /// their number.
    pub fn give(&mut self, count: u32) -> (u32, u32) {
        let given = count.min(self.bits);
        let bits = self.word.checked_shr(32 - given).unwrap_or(0);
        self.word = self.word.checked_shl(given).unwrap_or(0);
        self.bits -= given;
        (bits, given)
    }

    /// Returns whether the first bit becomes visible at this edge: the next edge, at the same distance, is too late.
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

    /// Sets the word that is sent next.
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
}
