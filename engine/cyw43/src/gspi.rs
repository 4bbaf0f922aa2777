//! gSPI's wires: bits of 32-bit words, in the order that the bus is set to (datasheet 4.2).
//!
//! One wire carries data in both directions. The chip samples the host's bits at rising edges. It shifts its own bits
//! out at rising edges in high-speed mode, which is the mode after reset, otherwise at falling edges. The first one is
//! shifted out by the edge that sampled the command's last bit, or by the falling edge after it: it is valid before the
//! next rising edge (datasheet 4.2.1.3).

use sim::{PS_PER_NS, Ps, Snapshot};

/// Delay from the edge that shifts a bit out to the host's pin. At the clocks of a Pico W that is one edge later. The
/// value is fitted to the clocks at which embassy's three PIO programs were found to read correctly or not. From 75 MHz
/// on the first one reads too early, so the delay is more than 26.7 ns, and at 66.5 MHz it reads correctly. Up to 133
/// MHz the third one reads correctly, so the delay is at most 30 ns. A bit becomes visible at the last edge before that
/// time, or at that time if no edge comes until then.
pub(crate) const OUTPUT_DELAY: Ps = 28 * PS_PER_NS;

/// The wire format that SPI_BUS_CONTROL selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WireMode {
    /// Words of 32 bits, otherwise of 16.
    pub(crate) wide: bool,
    /// Bytes are in memory order.
    pub(crate) memory_order: bool,
    pub(crate) high_speed: bool,
}

impl WireMode {
    /// Converts 32 bits to or from their order on the wire, most significant first.
    pub(crate) fn swap(self, word: u32) -> u32 {
        match (self.wide, self.memory_order) {
            (_, true) => word.swap_bytes(),
            (true, false) => word,
            (false, false) => word.rotate_left(16),
        }
    }
}

/// The effect of a clock edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Nothing,
    /// The host has sent 32 bits.
    Word(u32),
    /// The chip must send the first bit of a word: [`Wires::send`].
    Wanted,
    /// The chip's level on the data wire.
    Data(bool),
}

#[derive(Clone, Debug, Default, Snapshot)]
pub(crate) struct Wires {
    clock: bool,
    driving: bool,
    /// Set while the next bit is delayed: the edge that shifted it out, if there was one, and the last edge.
    turning: Option<(Option<Ps>, Ps)>,
    /// The clock's level after the edges that shift bits out.
    shifts_at: bool,
    /// The clock's level after the edges at which bits become visible.
    shown_at: bool,
    /// Bits of `word` that have been received, or are still to be sent.
    bits: u32,
    word: u32,
}

impl Wires {
    /// Handles the falling edge of chip select: counting starts over.
    pub(crate) fn select(&mut self) {
        *self = Self { clock: self.clock, ..Self::default() };
    }

    /// Reverses the wire's direction at this rising edge: from now on the chip drives it.
    pub(crate) fn turn(&mut self, now: Ps, high_speed: bool) {
        self.driving = true;
        self.turning = Some((high_speed.then_some(now), now));
        self.shifts_at = high_speed;
        self.bits = 0;
    }

    /// Returns whether that level of the clock is an edge.
    pub(crate) fn moves(&self, clock: bool) -> bool {
        clock != self.clock
    }

    pub(crate) fn drives(&self) -> bool {
        self.driving
    }

    /// Returns the edges at which the chip's bits change (true: rising), or `None` while the first bit is delayed.
    pub(crate) fn shows_at(&self) -> Option<bool> {
        (self.driving && self.turning.is_none()).then_some(self.shown_at)
    }

    /// Returns how many bits the host may send before the last one of a word.
    pub(crate) fn room(&self) -> u32 {
        31 - self.bits
    }

    /// Accepts the host's next `count` bits, the first one in the most significant place. At most one word may end
    /// within them: returns it, and the number of bits after it, which the next call must pass again.
    pub(crate) fn take(&mut self, bits: u32, count: u32) -> (Option<u32>, u32) {
        let taken = count.min(32 - self.bits);
        let part = (bits >> (count - taken)) & (u32::MAX >> (32 - taken));
        self.word = self.word.checked_shl(taken).unwrap_or(0) | part;
        self.bits = (self.bits + taken) % 32;
        ((self.bits == 0).then_some(self.word), count - taken)
    }

    /// Shifts out up to `count` more bits of the word, the first one in the most significant place. Returns them and
    /// their number.
    pub(crate) fn give(&mut self, count: u32) -> (u32, u32) {
        let given = count.min(self.bits);
        let bits = self.word.checked_shr(32 - given).unwrap_or(0);
        self.word = self.word.checked_shl(given).unwrap_or(0);
        self.bits -= given;
        (bits, given)
    }

    /// Returns the time at which a delayed bit becomes visible if no edge comes until then.
    pub(crate) fn due(&self) -> Option<Ps> {
        self.turning?.0.map(|since| since + OUTPUT_DELAY)
    }

    /// Shows the delayed bit at its time, in a pause of the clock. The following one is delayed as well.
    pub(crate) fn show(&mut self, now: Ps) -> Edge {
        self.turning = Some((None, now));
        if self.bits == 0 { Edge::Wanted } else { Edge::Data(self.next_bit()) }
    }

    /// Returns whether the delayed bit becomes visible at this edge: the next edge, at the same distance, is too late.
    fn turns(&mut self, now: Ps, clock: bool) -> bool {
        let Some((clocked_out, last)) = self.turning else { return true };
        let Some(since) = clocked_out else {
            self.turning = Some(((clock == self.shifts_at).then_some(now), now));
            return false;
        };
        if now - since + (now - last) < OUTPUT_DELAY {
            self.turning = Some((clocked_out, now));
            return false;
        }
        (self.turning, self.shown_at) = (None, clock);
        true
    }

    pub(crate) fn edge(&mut self, now: Ps, clock: bool, data: bool) -> Edge {
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
    pub(crate) fn send(&mut self, word: u32) -> bool {
        self.load(word);
        self.next_bit()
    }

    /// Sets the word that is sent next.
    pub(crate) fn load(&mut self, word: u32) {
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
mod tests;
