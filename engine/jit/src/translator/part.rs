//! The regions of memory that code is executed from, and blocks.

use cpu::{Architecture, Map, Memory};

use super::source;

/// Returns the offset in SRAM of the bank whose accesses may be counted.
pub(super) const fn counted<M: Map>() -> u32 {
    M::COUNTED.base - M::SRAM.base
}

/// The place for a new block.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// The address of its code.
    pub(super) code: usize,
    /// The address of its first link.
    pub(super) links: usize,
}

/// A block that is made.
pub(super) struct Made {
    /// The machine code.
    pub(super) code: Vec<u8>,
    /// The predecoded slot that each of its links leads to.
    pub(super) exits: Vec<usize>,
    /// Address after the block's last instruction.
    pub(super) end: u32,
}

/// A region of memory that code is executed from.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its first address.
    pub start: u32,
    /// Its length in bytes.
    pub size: u32,
    /// The region's first predecoded slot.
    pub slots: usize,
    /// Which it is, of [`source`].
    pub source: usize,
}

impl Part {
    /// Returns the region of `pc`. `counting`: accesses to [`Map::COUNTED`] are counted, including fetches.
    pub fn of<M: Map>(pc: u32, flash_size: usize, counting: bool) -> Option<Self> {
        let ram_size = if counting { M::UNCOUNTED } else { M::SRAM.bytes };
        let parts = [
            Self { start: M::FLASH.base, size: flash_size as u32, slots: M::FLASH_OPS, source: source::FLASH },
            Self { start: M::SRAM.base, size: ram_size, slots: M::SRAM_OPS, source: source::RAM },
            Self { start: M::ROM.base, size: M::ROM.bytes, slots: M::ROM_OPS, source: source::ROM },
        ];
        parts.into_iter().find(|part| part.contains(pc))
    }

    /// Returns the predecoded slot of `pc`.
    pub fn slot(self, pc: u32) -> usize {
        self.slots + (pc.wrapping_sub(self.start) >> 1) as usize
    }

    /// Returns whether `pc` is in the region.
    pub fn contains(self, pc: u32) -> bool {
        pc.wrapping_sub(self.start) < self.size
    }

    /// Returns the halfword at `pc` and the next; 0 outside of the region.
    pub fn halfwords<M: Map, A: Architecture>(self, mem: &Memory<M, A>, pc: u32) -> (u16, u16) {
        let at = pc.wrapping_sub(self.start) as usize;
        let halfword = |at: usize| match self.source {
            _ if at + 2 > self.size as usize => 0,
            source::FLASH => mem.flash_u16(at),
            source::RAM => mem.ram_u16(at),
            _ => mem.rom_u16(at),
        };
        (halfword(at), halfword(at + 2))
    }
}
