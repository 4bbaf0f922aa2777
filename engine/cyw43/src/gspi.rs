//! gSPI's wires: bits in and out of 32-bit words, in the order that the bus is set to (datasheet 4.2).
//!
//! One wire carries data both ways. The host's bits are taken at rising edges. The chip changes its own at rising edges in
//! high-speed mode, which is what it starts with, else at falling ones.

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
    /// Bits of `word` that have been taken, or are still to be sent.
    bits: u32,
    word: u32,
}

impl Wires {
    /// Chip select fell: counting starts over.
    pub fn select(&mut self) {
        *self = Self { clock: self.clock, ..Self::default() };
    }

    /// The wire changes its direction: from now on the chip drives it.
    pub fn turn(&mut self) {
        self.driving = true;
        self.bits = 0;
    }

    /// Whether that level of the clock is an edge.
    pub fn moves(&self, clock: bool) -> bool {
        clock != self.clock
    }

    pub fn drives(&self) -> bool {
        self.driving
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

    pub fn edge(&mut self, clock: bool, data: bool, high_speed: bool) -> Edge {
        if clock == self.clock {
            return Edge::Nothing;
        }
        self.clock = clock;
        if self.driving {
            return match (clock == high_speed, self.bits) {
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

    #[test]
    fn the_host_reads_at_falling_edges_what_the_chip_put_out_at_rising_ones() {
        let mut wires = Wires::default();
        wires.select();
        let mut heard = None;
        for bit in (0..32).rev() {
            wires.edge(false, 0x8000_0001u32 >> bit & 1 != 0, true);
            if let Edge::Word(word) = wires.edge(true, 0x8000_0001u32 >> bit & 1 != 0, true) {
                heard = Some(word);
            }
        }
        assert_eq!(heard, Some(0x8000_0001));
        wires.turn();
        let mut read = 0u32;
        assert_eq!(wires.edge(false, false, true), Edge::Nothing);
        for _ in 0..32 {
            let level = match wires.edge(true, false, true) {
                Edge::Wanted => wires.send(0xfeed_bead),
                Edge::Data(level) => level,
                other => panic!("{other:?}"),
            };
            read = read << 1 | u32::from(level);
            assert_eq!(wires.edge(false, false, true), Edge::Nothing);
        }
        assert_eq!(read, 0xfeed_bead);
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
                if let Edge::Word(word) = single.edge(true, bits >> bit & 1 != 0, true) {
                    expected.push(word);
                }
                single.edge(false, false, true);
            }
            assert_eq!((&words, grouped.room()), (&expected, single.room()));
        }
        assert!(words.len() > 10);
        for wires in [&mut grouped, &mut single] {
            wires.turn();
            wires.load(0xfeed_bead);
        }
        for (count, bits) in [(5, 0b11111), (27, 0x6ed_bead)] {
            assert_eq!(grouped.give(count), (bits, count));
            let one_by_one = (0..count).fold(0u32, |bits, _| {
                let Edge::Data(level) = single.edge(true, false, true) else { unreachable!("bits are left") };
                single.edge(false, false, true);
                bits << 1 | u32::from(level)
            });
            assert_eq!(one_by_one, bits);
        }
        assert_eq!(grouped.give(3), (0, 0), "the next word is wanted");
    }
}
