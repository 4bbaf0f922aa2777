//! Seeded random numbers.

use crate::Snapshot;

/// Returns the number in the environment variable `name`, or `usual`: the length or the seed of a fuzz test.
pub fn asked(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: use a number")))
}

/// splitmix64 (Steele, Lea, Flood 2014): one word of state.
#[derive(Clone, Debug, Snapshot)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Returns a generator. Equal seeds give equal draws.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws uniformly from `0..bound`; the bias of the multiplication is below 2^-32 for bounds below 2^32.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns the next 32 bits.
    pub fn draw32(&mut self) -> u32 {
        self.draw() as u32
    }

    /// Draws like [`Self::below`], with 32 bits.
    pub fn below32(&mut self, bound: u32) -> u32 {
        self.below(bound.into()) as u32
    }

    /// Returns true once in `n` draws on average.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Draws one of `items`.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// Draws fewer than `bound` bytes.
    pub fn bytes(&mut self, bound: u64) -> Vec<u8> {
        (0..self.below(bound)).map(|_| self.draw() as u8).collect()
    }

    /// Draws uniformly from `least` to `most`, both included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }
}
