//! The memories, and their addresses.

use cpu::{Kind, Map, Region};

/// The memories of an RP2040.
pub type Memory = armv6m::Memory<Addresses>;

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
/// The peripherals behind the APB bridge.
pub(crate) const APB: Region = cpu::map::find(Addresses::REGIONS, Kind::Registers);

/// Returns the offset into SRAM of an address in the non-striped bank windows at 0x2100_0000 (datasheet 2.6.2).
pub(crate) fn bank_offset(address: u32) -> Option<usize> {
    let offset = (address.wrapping_sub(0x2100_0000)) as usize;
    if offset >= 0x4_0000 {
        return None;
    }
    let (bank, within) = (offset >> 16, offset & 0xffff);
    Some(((within >> 2) << 4) | (bank << 2) | (within & 3))
}
