//! Random values for a hostile guest.

use crate::FLASH_BYTES;

/// xorshift64.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.next() % bound
    }

    pub(crate) fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u32) as usize]
    }

    pub(crate) fn bytes(&mut self, len: u32) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }

    /// Returns an address that a faulty program might use.
    pub(crate) fn address(&mut self) -> u32 {
        match self.below(10) {
            0..4 => 0x2000_0000 + self.below(0x4_2000),
            4 => 0x1000_0000 + self.below(FLASH_BYTES as u32),
            5..8 => 0x4000_0000 + 0x4000 * self.below(28) + 4 * self.below(64) + 0x1000 * self.below(4),
            8 => 0x5000_0000 + 0x10_0000 * self.below(5) + 4 * self.below(64),
            _ => self.next(),
        }
    }

    pub(crate) fn fill(&mut self, memory: &mut [u8]) {
        for word in memory.chunks_exact_mut(4) {
            let value = if self.one_in(4) { self.address() | 1 } else { self.next() };
            word.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Damages some bytes, one time in four.
    pub(crate) fn damage(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        if self.one_in(4) {
            for _ in 0..=self.below(4) {
                let at = self.below(bytes.len() as u32) as usize;
                bytes[at] = self.next() as u8;
            }
        }
        if self.one_in(30) {
            bytes.truncate(self.below(bytes.len() as u32 + 1) as usize);
        }
        if self.one_in(60) {
            bytes.resize(1400 + self.below(300) as usize, 0xee);
        }
        bytes
    }
}
