//! A chip's memories, as data for the core and its translator.

use std::ops::RangeInclusive;

/// What answers in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Code and data that never change.
    Rom,
    /// Memory for code and data.
    Sram,
    /// The last bank of the SRAM, whose accesses translated code can count.
    CountedBank,
    /// Flash through the XIP cache.
    CachedFlash,
    /// Registers that show the cache's counters.
    CacheRegisters,
    /// Registers on the bus.
    Registers,
    /// Registers on the core's port, which take no cycle beside the instruction's.
    IoPort,
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// What answers.
    pub kind: Kind,
    /// First address.
    pub base: u32,
    /// Length in bytes; 0 where the chip has no such region.
    pub bytes: u32,
    /// Least wait states of a read.
    pub read_waits: u32,
    /// Least wait states of a write.
    pub write_waits: u32,
}

impl Region {
    /// Returns a region without wait states.
    pub const fn new(kind: Kind, base: u32, bytes: u32) -> Self {
        Self { kind, base, bytes, read_waits: 0, write_waits: 0 }
    }

    /// Returns whether the region has `address`.
    pub const fn contains(self, address: u32) -> bool {
        address.wrapping_sub(self.base) < self.bytes
    }

    /// Returns whether the region has any of `addresses`.
    pub fn meets(self, addresses: &RangeInclusive<u32>) -> bool {
        self.contains(*addresses.start()) || addresses.contains(&self.base)
    }
}

/// Returns the first region of `kind`, or an empty one.
pub const fn find(regions: &[Region], kind: Kind) -> Region {
    let mut at = 0;
    while at < regions.len() {
        if regions[at].kind as u8 == kind as u8 {
            return regions[at];
        }
        at += 1;
    }
    Region::new(kind, 0, 0)
}

/// A chip's table of regions, and what follows from it. Only the table is to be given.
pub trait Map: 'static {
    /// The table, in any order.
    const REGIONS: &'static [Region];
    /// Most that a counter of accesses holds.
    const MOST_COUNTED: u32;

    /// The boot ROM.
    const ROM: Region = find(Self::REGIONS, Kind::Rom);
    /// The SRAM, all of its banks.
    const SRAM: Region = find(Self::REGIONS, Kind::Sram);
    /// Its last bank, if accesses to that are counted.
    const COUNTED: Region = find(Self::REGIONS, Kind::CountedBank);
    /// Bytes of the SRAM whose instructions fetch nothing from that bank: while those in the last word before it execute,
    /// the core may fetch its first word.
    const UNCOUNTED: u32 = Self::COUNTED.base.wrapping_sub(Self::SRAM.base).wrapping_sub(4);
    /// The window of the cached flash: a power of two of bytes.
    const FLASH: Region = find(Self::REGIONS, Kind::CachedFlash);
    /// The registers that show the cache's counters.
    const CACHE_REGISTERS: Region = find(Self::REGIONS, Kind::CacheRegisters);
    /// The registers behind the bus's bridge.
    const REGISTERS: Region = find(Self::REGIONS, Kind::Registers);
    /// The registers on the core's port, of which the first has the number of the core.
    const IO_PORT: Region = find(Self::REGIONS, Kind::IoPort);

    /// First predecoded slot of each region. Every region ends with a slot that is never decoded, so that execution
    /// past its end is detected.
    const ROM_OPS: usize = 0;
    /// First slot of SRAM.
    const SRAM_OPS: usize = Self::ROM_OPS + Self::ROM.bytes as usize / 2 + 1;
    /// One slot for instructions fetched from any other address.
    const SCRATCH_OP: usize = Self::SRAM_OPS + Self::SRAM.bytes as usize / 2 + 1;
    /// First slot of flash.
    const FLASH_OPS: usize = Self::SCRATCH_OP + 1;
}
