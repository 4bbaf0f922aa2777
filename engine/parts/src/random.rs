//! Random numbers for tests: splitmix64 (Steele, Lea, Flood 2014), one word of state.

/// A generator, with its state.
pub struct Random(pub u64);

impl Random {
    /// Returns the next number, equally distributed.
    pub fn draw(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u32
    }

    /// Returns a number below `n`, which is not 0.
    pub fn below(&mut self, n: u32) -> u32 {
        self.draw() % n
    }

    /// Returns true once in `n` draws on average.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
}
