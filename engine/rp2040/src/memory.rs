//! ROM, SRAM and the flash array, with the predecoded instructions of each.

use w25q::Array;

use crate::cpu::decode::Op;
use crate::cpu::translated::Translated;
use crate::xip_cache::XipCache;

pub const ROM_SIZE: usize = 16 * 1024;
pub const RAM_SIZE: usize = 264 * 1024;
pub const RAM_BASE: u32 = 0x2000_0000;
pub const XIP_BASE: u32 = 0x1000_0000;

/// First predecoded slot of each region. Every region ends with a slot that is never decoded, so that execution past
/// its end is detected.
pub const ROM_OPS: usize = 0;
pub const RAM_OPS: usize = ROM_OPS + ROM_SIZE / 2 + 1;
/// One slot for instructions fetched from any other address (XIP aliases, SRAM banks, USB RAM).
pub const SCRATCH_OP: usize = RAM_OPS + RAM_SIZE / 2 + 1;
pub const FLASH_OPS: usize = SCRATCH_OP + 1;

/// RAM is checked for self-modification in granules of `1 << CODE_GRANULE_BITS` bytes.
pub(crate) const CODE_GRANULE_BITS: usize = 5;

/// A memory without read side effects.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    pub start: u32,
    pub bytes: &'a [u8],
    /// It is SRAM.
    pub writable: bool,
}

pub struct Memory {
    rom: Vec<u8>,
    ram: Vec<u8>,
    flash: Vec<u8>,
    /// Predecoded instructions; slot 0 of a region is its first halfword.
    pub(crate) ops: Vec<Op>,
    /// Granules of RAM that contain predecoded instructions.
    code: Vec<bool>,
    pub xip: XipCache,
    pub(crate) translated: Translated,
    /// Number of programs and erases of the flash array, by which a caller detects changes.
    pub flash_generation: u64,
}

impl Memory {
    /// Creates the memories. `rom` is at most 16 KiB; `flash_size` in bytes is a power of two of at most 16 MiB. Flash
    /// starts erased.
    pub fn new(rom: &[u8], flash_size: usize) -> Self {
        let mut full_rom = vec![0; ROM_SIZE];
        let len = rom.len().min(ROM_SIZE);
        full_rom[..len].copy_from_slice(&rom[..len]);
        let flash_size = flash_size.clamp(64 * 1024, 16 << 20).next_power_of_two();
        Self {
            rom: full_rom,
            ram: vec![0; RAM_SIZE],
            flash: vec![0xff; flash_size],
            ops: vec![Op::default(); FLASH_OPS + flash_size / 2 + 1],
            code: vec![false; (RAM_SIZE >> CODE_GRANULE_BITS) + 1],
            xip: XipCache::default(),
            translated: Translated::new(FLASH_OPS + flash_size / 2 + 1, flash_size),
            flash_generation: 0,
        }
    }

    /// Returns the memories as a debugger sees them.
    pub fn regions(&self) -> [Region<'_>; 3] {
        [
            Region { start: 0, bytes: &self.rom, writable: false },
            Region { start: XIP_BASE, bytes: &self.flash, writable: false },
            Region { start: RAM_BASE, bytes: &self.ram, writable: true },
        ]
    }

    /// Writes `data` to SRAM from `address` on, in no time; false: it is not all SRAM.
    pub fn poke(&mut self, address: u32, data: &[u8]) -> bool {
        let start = address.wrapping_sub(RAM_BASE) as usize;
        if start.checked_add(data.len()).is_none_or(|end| end > self.ram.len()) {
            return false;
        }
        for (offset, byte) in data.iter().enumerate() {
            self.set_ram_u8(start + offset, *byte);
        }
        true
    }

    pub fn rom(&self) -> &[u8] {
        &self.rom
    }

    pub fn flash(&self) -> &[u8] {
        &self.flash
    }

    pub fn flash_size(&self) -> usize {
        self.flash.len()
    }

    pub fn ram(&self) -> &[u8] {
        &self.ram
    }

    /// Replaces part of the flash array, like a preloaded image. Addresses wrap at its size.
    pub fn flash_write(&mut self, offset: usize, data: &[u8]) {
        let mask = self.flash.len() - 1;
        for (i, &byte) in data.iter().enumerate() {
            let at = (offset + i) & mask;
            self.flash[at] = byte;
            self.forget_flash(at);
        }
        self.flash_generation += 1;
    }

    fn forget_flash(&mut self, at: usize) {
        let slot = FLASH_OPS + at / 2;
        self.translated.forget(slot);
        self.ops[slot] = Op::default();
        // A 32-bit instruction is predecoded in its first halfword's slot.
        if at >= 2 {
            self.ops[slot - 1] = Op::default();
        }
    }

    #[inline]
    pub fn rom_u32(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.rom[offset..offset + 4].try_into().unwrap_or_default())
    }

    #[inline]
    pub fn rom_u16(&self, offset: usize) -> u16 {
        u16::from_le_bytes(self.rom[offset..offset + 2].try_into().unwrap_or_default())
    }

    #[inline]
    pub fn rom_u8(&self, offset: usize) -> u8 {
        self.rom[offset]
    }

    /// Reads flash; addresses wrap at the array's size, as the chip ignores higher address bits.
    #[inline]
    pub fn flash_u32(&self, offset: usize) -> u32 {
        let at = offset & (self.flash.len() - 4);
        u32::from_le_bytes(self.flash[at..at + 4].try_into().unwrap_or_default())
    }

    #[inline]
    pub fn flash_u16(&self, offset: usize) -> u16 {
        let at = offset & (self.flash.len() - 2);
        u16::from_le_bytes(self.flash[at..at + 2].try_into().unwrap_or_default())
    }

    #[inline]
    pub fn flash_u8(&self, offset: usize) -> u8 {
        self.flash[offset & (self.flash.len() - 1)]
    }

    #[inline]
    pub fn ram_u32(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.ram[offset..offset + 4].try_into().unwrap_or_default())
    }

    #[inline]
    pub fn ram_u16(&self, offset: usize) -> u16 {
        u16::from_le_bytes(self.ram[offset..offset + 2].try_into().unwrap_or_default())
    }

    #[inline]
    pub fn ram_u8(&self, offset: usize) -> u8 {
        self.ram[offset]
    }

    #[inline]
    pub fn set_ram_u32(&mut self, offset: usize, value: u32) {
        self.ram[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        if self.code[offset >> CODE_GRANULE_BITS] {
            self.forget_ram(offset);
        }
    }

    #[inline]
    pub fn set_ram_u16(&mut self, offset: usize, value: u16) {
        self.ram[offset..offset + 2].copy_from_slice(&value.to_le_bytes());
        if self.code[offset >> CODE_GRANULE_BITS] {
            self.forget_ram(offset);
        }
    }

    #[inline]
    pub fn set_ram_u8(&mut self, offset: usize, value: u8) {
        self.ram[offset] = value;
        if self.code[offset >> CODE_GRANULE_BITS] {
            self.forget_ram(offset);
        }
    }

    /// Reads an aligned value of `SIZE` (1, 2, 4) bytes from SRAM or cached flash, with its wait states. `None`: use
    /// the bus.
    #[inline(always)]
    pub(crate) fn load_fast<const SIZE: u32>(&mut self, address: u32) -> Option<(u32, u32)> {
        let offset = address.wrapping_sub(RAM_BASE) as usize;
        if address & (SIZE - 1) != 0 {
            return None;
        }
        if offset < RAM_SIZE {
            let value = match SIZE {
                1 => u32::from(self.ram_u8(offset)),
                2 => u32::from(self.ram_u16(offset)),
                _ => self.ram_u32(offset),
            };
            return Some((value, 0));
        }
        // The bus handles a flash that cannot answer.
        if address >> 24 != XIP_BASE >> 24 || self.xip.offline {
            return None;
        }
        let offset = address & 0x00ff_ffff;
        let waits = self.xip.access_word(offset);
        let value = match SIZE {
            1 => u32::from(self.flash_u8(offset as usize)),
            2 => u32::from(self.flash_u16(offset as usize)),
            _ => self.flash_u32(offset as usize),
        };
        Some((value, waits))
    }

    /// Writes an aligned value of `SIZE` (1, 2, 4) bytes to SRAM; false: not SRAM.
    #[inline(always)]
    pub(crate) fn store_fast<const SIZE: u32>(&mut self, address: u32, value: u32) -> bool {
        let offset = address.wrapping_sub(RAM_BASE) as usize;
        if offset >= RAM_SIZE || address & (SIZE - 1) != 0 {
            return false;
        }
        match SIZE {
            1 => self.set_ram_u8(offset, value as u8),
            2 => self.set_ram_u16(offset, value as u16),
            _ => self.set_ram_u32(offset, value),
        }
        true
    }

    #[cold]
    fn forget_ram(&mut self, offset: usize) {
        let slot = RAM_OPS + offset / 2;
        // The word's two halfwords, and a 32-bit instruction that starts just before.
        let first = slot.saturating_sub(1).max(RAM_OPS);
        let last = (slot + 1).min(SCRATCH_OP - 2);
        self.ops[first..=last].fill(Op::default());
        // Up to four bytes are written at once.
        self.translated.forget(slot);
        self.translated.forget(slot + 1);
    }

    /// Records that the instruction at `offset` of RAM is predecoded.
    pub(crate) fn mark_code(&mut self, offset: usize) {
        self.code[offset >> CODE_GRANULE_BITS] = true;
        self.code[(offset + 2) >> CODE_GRANULE_BITS] = true;
    }

    /// Returns the addresses that translated code reads and writes.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn parts(&mut self) -> Parts {
        Parts {
            entries: self.translated.entries(),
            ram: self.ram.as_mut_ptr(),
            granules: self.code.as_ptr(),
            flash: self.flash.as_ptr(),
            lines: self.xip.lines(),
            offline: &raw const self.xip.offline,
        }
    }

    /// Returns the offset into SRAM of an address in the non-striped bank windows at 0x2100_0000 (datasheet 2.6.2).
    pub fn bank_offset(address: u32) -> Option<usize> {
        let offset = (address.wrapping_sub(0x2100_0000)) as usize;
        if offset >= 0x4_0000 {
            return None;
        }
        let (bank, within) = (offset >> 16, offset & 0xffff);
        Some(((within >> 2) << 4) | (bank << 2) | (within & 3))
    }
}

/// Addresses within a [`Memory`], valid until it moves or is borrowed again.
#[cfg(target_arch = "x86_64")]
#[repr(C)]
pub(crate) struct Parts {
    /// Each slot's offset from the start of the code.
    pub entries: *const u32,
    pub ram: *mut u8,
    /// For each granule of RAM, whether code in it is predecoded.
    pub granules: *const bool,
    pub flash: *const u8,
    /// Tags of the XIP cache, two per set.
    pub lines: *const u32,
    pub offline: *const bool,
}

/// The flash chip's cells.
impl Array for Memory {
    fn size(&self) -> usize {
        self.flash.len()
    }

    fn byte(&self, at: usize) -> u8 {
        self.flash_u8(at)
    }

    fn program(&mut self, at: usize, data: &[u8]) {
        let mask = self.flash.len() - 1;
        for (i, &byte) in data.iter().enumerate() {
            let cell = (at + i) & mask;
            self.flash[cell] &= byte;
            self.forget_flash(cell);
        }
        self.flash_generation += 1;
    }

    fn erase(&mut self, at: usize, len: usize) {
        let len = len.min(self.flash.len());
        let start = (at & (self.flash.len() - 1)).min(self.flash.len() - len);
        self.flash[start..start + len].fill(0xff);
        for cell in (start..start + len).step_by(2) {
            self.forget_flash(cell);
        }
        self.flash_generation += 1;
    }
}
