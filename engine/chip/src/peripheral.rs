//! The interface between a block of registers and the bus.

use crate::sys::Sys;

/// The access has no target: the core takes a HardFault, a DMA channel stops with a bus error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusFault;

/// The atomic alias through which a register was written (datasheet 2.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alias {
    /// The plain register: the value replaces its bits.
    Normal,
    /// Each bit written as 1 is inverted.
    Xor,
    /// Each bit written as 1 is set.
    Set,
    /// Each bit written as 1 is cleared.
    Clear,
}

/// A register write as the peripheral sees it.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// The 32 bits on the bus (narrow writes are replicated over all lanes, datasheet 2.1.4).
    pub bits: u32,
    /// What the bits do to the register.
    pub alias: Alias,
}

/// Returns the `size` (1, 2, 4) bytes at `address` of the bus's word `value`.
#[inline]
pub fn lane(value: u32, address: u32, size: u32) -> u32 {
    match size {
        1 => (value >> ((address & 3) * 8)) & 0xff,
        2 => (value >> ((address & 2) * 8)) & 0xffff,
        _ => value,
    }
}

impl Write {
    /// Returns the write of the low `size` (1, 2, 4) bytes of `value` to a register or its alias at `address`.
    #[inline]
    pub fn at(address: u32, value: u32, size: u32) -> Self {
        let bits = match size {
            1 => (value & 0xff) * 0x0101_0101,
            2 => (value & 0xffff) * 0x0001_0001,
            _ => value,
        };
        let alias = match (address >> 12) & 3 {
            0 => Alias::Normal,
            1 => Alias::Xor,
            2 => Alias::Set,
            _ => Alias::Clear,
        };
        Self { bits, alias }
    }

    /// Returns a write of 32 bits without an alias.
    pub fn normal(bits: u32) -> Self {
        Self { bits, alias: Alias::Normal }
    }

    /// Returns the new value of a plain read/write register that holds `old`.
    pub fn apply(self, old: u32) -> u32 {
        match self.alias {
            Alias::Normal => self.bits,
            Alias::Xor => old ^ self.bits,
            Alias::Set => old | self.bits,
            Alias::Clear => old & !self.bits,
        }
    }

    /// Returns the bits that this write clears in a write-1-to-clear register: those written as 1, through any alias
    /// (the SDK clears flags both by plain writes and through the clear alias).
    pub fn ones(self) -> u32 {
        self.bits
    }

    /// Returns the new value of a register of which only `mask` is writable.
    pub fn apply_masked(self, old: u32, mask: u32) -> u32 {
        (old & !mask) | (self.apply(old) & mask)
    }
}

/// A block of registers on the APB or AHB-Lite bus.
pub trait Peripheral {
    /// Returns the name as in the datasheet, with its instance (`SPI0`).
    fn name(&self) -> &'static str;
    /// Reads a register. `offset` is below 0x1000 (0x4000 for AHB blocks) and word-aligned. May have side effects.
    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32;
    /// Writes a register, with the same `offset` as a read; `write` has the alias.
    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write);
    /// Puts all registers into their reset state (RESETS, or a chip reset) and clears the peripheral's lines and
    /// events.
    fn reset(&mut self, sys: &mut Sys);
}

/// Reports an access to a register that exists on the chip but is not modelled.
pub fn unmodelled(sys: &mut Sys, peripheral: &str, offset: u32, write: Option<u32>) {
    let what = match write {
        Some(value) => format!("{peripheral}+0x{offset:03x} write 0x{value:08x}"),
        None => format!("{peripheral}+0x{offset:03x} read"),
    };
    sys.unmodelled(what);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_alias_changes_the_writable_bits_alone() {
        let (old, bits, mask) = (0b1100, 0b1010, 0b0111);
        for (alias, whole, masked) in [
            (Alias::Normal, 0b1010, 0b1010),
            (Alias::Xor, 0b0110, 0b1110),
            (Alias::Set, 0b1110, 0b1110),
            (Alias::Clear, 0b0100, 0b1100),
        ] {
            let write = Write { bits, alias };
            assert_eq!((write.apply(old), write.apply_masked(old, mask), write.ones()), (whole, masked, bits));
        }
    }
}
