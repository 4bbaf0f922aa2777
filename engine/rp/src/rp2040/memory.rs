//! The memories, and their addresses.

use armv6m::V6m;
use cpu::{Kind, Map, Region};

/// The memories, for cores of one architecture.
pub type Memory<A = V6m> = cpu::Memory<Addresses, A>;

/// RP2040's address map, as the cores see it (datasheet 2.2).
pub struct Addresses;

impl Map for Addresses {
    const REGIONS: &'static [Region] = &[
        Region::new(Kind::Rom, 0, 16 * 1024),
        Region::new(Kind::CachedFlash, 0x1000_0000, 16 << 20),
        Region::new(Kind::CacheRegisters, 0x1400_0000, 16 << 20),
        Region::new(Kind::Sram, 0x2000_0000, 264 * 1024),
        // SRAM5.
        Region::new(Kind::CountedBank, 0x2004_1000, 4 * 1024),
        // APB. The bridge adds two cycles to a read and three to a write, of which the first is the access itself
        // (datasheet 2.1.3).
        Region { kind: Kind::Registers, base: 0x4000_0000, bytes: 0x1000_0000, read_waits: 2, write_waits: 3 },
        Region::new(Kind::IoPort, 0xd000_0000, 0x1000_0000),
    ];
    const MOST_COUNTED: u32 = crate::rp2040::peripherals::busctrl::COUNTER_MOST;
}

/// Bytes of boot ROM.
pub const ROM_SIZE: usize = Addresses::ROM.bytes as usize;
/// Bytes of SRAM.
pub const RAM_SIZE: usize = Addresses::SRAM.bytes as usize;
/// First address of SRAM.
pub const RAM_BASE: u32 = Addresses::SRAM.base;
/// First address of flash.
pub const XIP_BASE: u32 = Addresses::FLASH.base;
