//! The memories, and their addresses.

use armv8m::V8m;
use cpu::{Kind, Map, Region};

/// The memories, for cores of one architecture.
pub(crate) type Memory<A = V8m> = cpu::Memory<Addresses, A>;

/// RP2350's address map, as the cores see it (datasheet 2.2).
pub struct Addresses;

impl Map for Addresses {
    const REGIONS: &'static [Region] = &[
        Region::new(Kind::Rom, 0, 32 * 1024),
        Region::new(Kind::CachedFlash, 0x1000_0000, 16 << 20),
        Region::new(Kind::Sram, 0x2000_0000, 520 * 1024),
        // APB: an access takes three cycles for a read and four for a write, of which the first is the access itself
        // (datasheet 2.1.4).
        Region { kind: Kind::Registers, base: 0x4000_0000, bytes: 0x1000_0000, read_waits: 2, write_waits: 3 },
        Region::new(Kind::CacheRegisters, 0x400c_8000, 0x8000),
        Region::new(Kind::IoPort, 0xd000_0000, 0x1000_0000),
    ];
    const MOST_COUNTED: u32 = 0;
}

pub(crate) const ROM_SIZE: usize = Addresses::ROM.bytes as usize;
pub(crate) const XIP_BASE: u32 = Addresses::FLASH.base;
