//! ROM, SRAM and the flash array, with the predecoded instructions of each.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use bytemuck::{Zeroable, zeroed_vec};
use chip::mcu::Contents;
use chip::xip_cache::XipCache;
use sim::snapshot::{self, Torn, save_bytes, saved_bytes};
use w25q::Array;

use crate::architecture::{Architecture, Translations};
use crate::map::{Map, Region};

/// RAM is checked for self-modification in granules of `1 << CODE_GRANULE_BITS` bytes.
pub const CODE_GRANULE_BITS: usize = 5;

/// The memories of a chip with the map `M`, for cores of the architecture `A`.
pub struct Memory<M, A: Architecture> {
    rom: Vec<u8>,
    ram: Vec<u8>,
    /// The flash as its window shows it.
    flash: Vec<u8>,
    translation: Option<Translation>,
    /// Bytes from the start of the window on that `flash` answers for; the bus does for the others.
    reach: u32,
    /// Predecoded instructions; slot 0 of a region is its first halfword.
    pub ops: Vec<A::Op>,
    /// Granules of RAM that contain predecoded instructions.
    code: Vec<bool>,
    /// Pages of the window that contain predecoded or translated ones, a bit for each.
    decoded: Vec<u64>,
    /// What the cores may not do, by core.
    guards: [Vec<Guard>; 2],
    /// Addresses of SRAM that exclusive loads have reserved, by core: the bus fabric's global monitor.
    reserved: [Option<u32>; 2],
    /// The XIP cache.
    pub xip: XipCache,
    /// The translated code.
    pub translated: A::Translated,
    /// Number of programs and erases of the flash array, by which a caller detects changes.
    pub flash_generation: u64,
    map: PhantomData<M>,
}

/// Addresses with rules of a core's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The addresses.
    pub addresses: RangeInclusive<u32>,
    /// The core may not write there.
    pub read_only: bool,
    /// It may not execute code there.
    pub never_executed: bool,
}

/// Bytes of a page of flash, the unit in which its addresses are translated.
const PAGE: usize = 4096;
/// Bytes of the window's parts that are translated apart.
const PANE: usize = 4 << 20;

/// The four panes of the window: the first cell that each shows, and how many bytes.
pub type Panes = [(u32, u32); 4];

/// The flash chip's cells, where the window may show them at other addresses. The window has the content of the lines that
/// the cache shows, and otherwise what it had.
struct Translation {
    cells: Vec<u8>,
    panes: Panes,
}

impl Translation {
    /// Shows every cell in its own place.
    fn plain(cells: Vec<u8>) -> Self {
        Self { cells, panes: std::array::from_fn(|pane| ((pane * PANE) as u32, PANE as u32)) }
    }

    /// Returns the cell that `panes` show at an offset of the window. `None`: nothing is there.
    fn cell(&self, panes: &Panes, offset: usize) -> Option<usize> {
        let ((first, bytes), within) = (panes[(offset / PANE) & 3], offset % PANE);
        (within < bytes as usize).then(|| (first as usize + within) & (self.cells.len() - 1))
    }

    /// Returns where a cell is in a pane whose code can be predecoded.
    fn place(&self, cell: usize, pane: usize) -> Option<usize> {
        let (size, (first, bytes)) = (self.cells.len(), self.panes[pane]);
        let within = cell.wrapping_sub(first as usize) & (size - 1);
        (pane * PANE < size && within < bytes as usize).then_some(pane * PANE + within)
    }

    /// Returns how many bytes from the start of a `window` on the cells show as if none were translated.
    fn reach(&self, window: u32) -> u32 {
        let size = self.cells.len();
        let is_full = |&(_, bytes): &(u32, u32)| bytes as usize == PANE;
        let full = self.panes.iter().take_while(|pane| is_full(pane)).count();
        if full == 4 && (0..4).all(|pane| (self.panes[pane].0 as usize ^ (pane * PANE)) & (size - 1) == 0) {
            return window;
        }
        ((full * PANE) as u32 + self.panes.get(full).map_or(0, |pane| pane.1)).min(size as u32)
    }
}

/// Reads the value of `SIZE` (1, 2, 4) bytes at `offset` of a memory.
#[inline(always)]
fn value<const SIZE: u32>(memory: &[u8], offset: usize) -> Option<u32> {
    let at = memory.get(offset..)?;
    match SIZE {
        1 => at.first().map(|&byte| u32::from(byte)),
        2 => at.first_chunk().map(|&bytes| u32::from(u16::from_le_bytes(bytes))),
        _ => at.first_chunk().map(|&bytes| u32::from_le_bytes(bytes)),
    }
}

impl<M: Map, A: Architecture> Memory<M, A> {
    /// Creates the memories. A longer `rom` is cut; `flash_size` in bytes is a power of two of at most the window. Flash
    /// starts erased.
    pub fn new(rom: &[u8], flash_size: usize) -> Self {
        let mut full_rom = vec![0; M::ROM.bytes as usize];
        let len = rom.len().min(full_rom.len());
        full_rom[..len].copy_from_slice(&rom[..len]);
        let flash_size = flash_size.clamp(64 * 1024, M::FLASH.bytes as usize).next_power_of_two();
        Self {
            rom: full_rom,
            ram: vec![0; M::SRAM.bytes as usize],
            flash: vec![0xff; flash_size],
            translation: None,
            reach: M::FLASH.bytes,
            ops: zeroed_vec(M::FLASH_OPS + flash_size / 2 + 1),
            code: vec![false; (M::SRAM.bytes as usize >> CODE_GRANULE_BITS) + 1],
            decoded: vec![0; flash_size / PAGE / 64 + 1],
            guards: Default::default(),
            reserved: [None; 2],
            xip: XipCache::default(),
            translated: A::Translated::new::<M>(flash_size),
            flash_generation: 0,
            map: PhantomData,
        }
    }

    /// Returns the same memories for cores of another architecture, which decode the code again.
    #[must_use]
    pub fn for_architecture<B: Architecture>(self) -> Memory<M, B> {
        let mut translated = B::Translated::new::<M>(self.flash.len());
        translated.reach_flash(self.code_bytes() as usize);
        Memory {
            ops: zeroed_vec(self.ops.len()),
            code: vec![false; self.code.len()],
            decoded: vec![0; self.decoded.len()],
            guards: Default::default(),
            reserved: [None; 2],
            translated,
            rom: self.rom,
            ram: self.ram,
            flash: self.flash,
            translation: self.translation,
            reach: self.reach,
            xip: self.xip,
            flash_generation: self.flash_generation,
            map: PhantomData,
        }
    }

    /// Returns the memories as a debugger sees them.
    pub fn regions(&self) -> Vec<Contents<'_>> {
        let mut regions = vec![Contents { start: M::ROM.base, bytes: &self.rom, writable: false }, self.sram()];
        let (mut at, end) = (0, self.code_bytes() as usize);
        while at < end {
            let (cells, cell) = self.shown(at);
            let pane = if self.translation.is_some() { PANE - at % PANE } else { end };
            let bytes = pane.min(end - at).min(cells.len() - cell);
            regions.push(Contents {
                start: M::FLASH.base + at as u32,
                bytes: &cells[cell..][..bytes],
                writable: false,
            });
            at += bytes;
        }
        regions
    }

    /// Returns SRAM as a debugger sees it.
    pub fn sram(&self) -> Contents<'_> {
        Contents { start: M::SRAM.base, bytes: &self.ram, writable: true }
    }

    /// Writes `data` to SRAM from `address` on, in no time; false: it is not all SRAM.
    pub fn poke(&mut self, address: u32, data: &[u8]) -> bool {
        let start = address.wrapping_sub(M::SRAM.base) as usize;
        if start.checked_add(data.len()).is_none_or(|end| end > self.ram.len()) {
            return false;
        }
        for (offset, byte) in data.iter().enumerate() {
            self.set_ram_u8(start + offset, *byte);
        }
        true
    }

    /// Appends all state but the boot ROM to a snapshot.
    pub fn save(&self, to: &mut Vec<u8>) {
        // The erased end of flash takes no room.
        let flash = self.flash();
        let end = flash.iter().rposition(|&byte| byte != 0xff).map_or(0, |last| last + 1);
        save_bytes(&self.ram, to);
        save_bytes(&flash[..end], to);
        snapshot::save(&self.translation.as_ref().map(|translation| translation.panes), to);
        snapshot::save(&self.flash_generation, to);
        snapshot::save(&self.reserved, to);
        snapshot::save(&self.xip, to);
    }

    /// Restores new memories of the same sizes from a snapshot. Instructions are decoded and translated again.
    pub fn restore(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        let (ram, flash) = (saved_bytes(from)?, saved_bytes(from)?);
        let mut panes: Option<Panes> = None;
        snapshot::restore(&mut panes, from)?;
        snapshot::restore(&mut self.flash_generation, from)?;
        snapshot::restore(&mut self.reserved, from)?;
        for address in self.reserved.into_iter().flatten() {
            self.watch(address);
        }
        if ram.len() != self.ram.len() || flash.len() > self.flash.len() {
            return Err(Torn);
        }
        self.ram.copy_from_slice(ram);
        self.flash.fill(0xff);
        self.flash[..flash.len()].copy_from_slice(flash);
        if let Some(panes) = panes {
            let translation = Translation { panes, ..Translation::plain(self.flash.clone()) };
            for (page, at) in self.flash.chunks_mut(PAGE).zip((0..).step_by(PAGE)) {
                let cell = translation.cell(&panes, at).unwrap_or(at);
                page.copy_from_slice(&translation.cells[cell..][..PAGE]);
            }
            self.set_translation(translation);
        }
        snapshot::restore(&mut self.xip, from)?;
        self.xip.restored();
        Ok(())
    }

    /// Returns the contents of the flash chip.
    pub fn flash(&self) -> &[u8] {
        self.translation.as_ref().map_or(&self.flash, |translation| &translation.cells)
    }

    /// Shows the flash chip's pages of 4 KiB at other addresses, in a time that does not depend on their number: a line of
    /// the window is read again when the cache next looks it up. Changed code is decoded and translated again. Returns
    /// whether there is any code in the panes that change.
    pub fn show_flash(&mut self, panes: Panes) -> bool {
        let mut translation = self.translation.take().unwrap_or_else(|| {
            self.xip.keep_apart();
            Translation::plain(self.flash.clone())
        });
        let old = std::mem::replace(&mut translation.panes, panes);
        let reach = translation.reach(M::FLASH.bytes);
        let all = reach != self.reach;
        let mut code = all;
        for pane in (0..4).filter(|&pane| all || panes[pane] != old[pane]) {
            self.xip.hide_pane(pane);
            let words = pane * PANE / PAGE / 64..((pane + 1) * PANE / PAGE / 64).min(self.decoded.len());
            for word in words {
                let mut pages = self.decoded[word];
                code |= pages != 0;
                while pages != 0 {
                    let at = (64 * word + pages.trailing_zeros() as usize) * PAGE;
                    pages &= pages - 1;
                    let before = translation.cell(&old, at);
                    let after = translation.cell(&panes, at).filter(|_| at < reach as usize);
                    let content = |cell: usize| &translation.cells[cell..][..PAGE];
                    if before != after && before.map(content) != after.map(content) {
                        self.forget_flash(at, PAGE);
                    }
                }
            }
        }
        self.set_translation(translation);
        code
    }

    fn set_translation(&mut self, translation: Translation) {
        self.reach = translation.reach(M::FLASH.bytes);
        self.translation = Some(translation);
        self.translated.reach_flash(self.code_bytes() as usize);
    }

    /// Returns the cells, and where the one at an offset of the window is in them.
    fn shown(&self, offset: usize) -> (&[u8], usize) {
        let at = offset & (self.flash.len() - 1);
        match &self.translation {
            Some(translation) => (&translation.cells, translation.cell(&translation.panes, offset).unwrap_or(at)),
            None => (&self.flash, at),
        }
    }

    /// Accesses the word at `offset` of the window through the cache; returns its wait states.
    #[inline]
    pub fn access_word(&mut self, offset: u32) -> u32 {
        self.xip.accesses += 1;
        self.look_up(offset)
    }

    /// Looks up an access that is counted already; returns its wait states.
    #[inline]
    pub fn look_up(&mut self, offset: u32) -> u32 {
        if self.xip.hits(offset) { 0 } else { self.miss(offset) }
    }

    #[cold]
    fn miss(&mut self, offset: u32) -> u32 {
        let shown = offset < self.reach;
        if let Some(Translation { cells, .. }) = &self.translation {
            let (start, within) = (offset as usize & !7, offset as usize & (PAGE - 8));
            let (_, cell) = self.shown(start);
            let line: [u8; 8] = std::array::from_fn(|byte| cells[cell + byte]);
            self.xip.readdress(offset, (cell / PAGE) as u16, |page| {
                cells[(usize::from(page) * PAGE) & (cells.len() - 1) | within..].starts_with(&line)
            });
            if shown {
                let at = start & (self.flash.len() - 1);
                self.flash[at..][..8].copy_from_slice(&line);
            }
        }
        self.xip.miss(offset, shown)
    }

    /// Returns how many bytes from the start of the window on need no translation: all of them while there is none.
    #[inline]
    pub fn reach(&self) -> u32 {
        self.reach
    }

    /// Returns how many bytes of the window can have predecoded code.
    #[inline]
    pub fn code_bytes(&self) -> u32 {
        self.reach.min(self.flash.len() as u32)
    }

    /// Returns the bytes of flash.
    pub fn flash_size(&self) -> usize {
        self.flash.len()
    }

    /// Returns the contents of SRAM.
    pub fn ram(&self) -> &[u8] {
        &self.ram
    }

    /// Replaces part of the flash array, like a preloaded image. Addresses wrap at its size.
    pub fn flash_write(&mut self, offset: usize, data: &[u8]) {
        self.change_cells(offset, data.len(), |cells, at| cells.copy_from_slice(&data[at..][..cells.len()]));
    }

    /// Changes `len` cells of the flash chip from `start` on, and what the window shows of them. Addresses wrap at the
    /// chip's size. `change` gets cells, and how many were before them.
    fn change_cells(&mut self, start: usize, len: usize, change: impl Fn(&mut [u8], usize)) {
        let mut done = 0;
        while done < len {
            let cell = (start + done) & (self.flash.len() - 1);
            let bytes = (len - done).min(PAGE - cell % PAGE);
            if let Some(mut translation) = self.translation.take() {
                let changed = &mut translation.cells[cell..][..bytes];
                change(changed, done);
                for at in (0..4).filter_map(|pane| translation.place(cell, pane)) {
                    self.flash[at..][..bytes].copy_from_slice(&translation.cells[cell..][..bytes]);
                    self.forget_flash(at, bytes);
                }
                self.translation = Some(translation);
            } else {
                change(&mut self.flash[cell..][..bytes], done);
                self.forget_flash(cell, bytes);
            }
            done += bytes;
        }
        self.flash_generation += 1;
    }

    /// Decodes and translates again what a page of the window has from `at` on.
    fn forget_flash(&mut self, at: usize, bytes: usize) {
        let slots = M::FLASH_OPS + at / 2..M::FLASH_OPS + (at + bytes).div_ceil(2);
        let (word, bit) = (at / PAGE / 64, 1 << (at / PAGE % 64));
        // A program may map other pages all the time: most have no code.
        if self.decoded[word] & bit == 0 {
            return;
        }
        // A 32-bit instruction is predecoded in its first halfword's slot.
        self.ops[slots.start - usize::from(at >= 2)..slots.end].fill(A::Op::zeroed());
        if bytes == PAGE {
            self.decoded[word] &= !bit;
        }
        if self.translated.reaches(slots.clone()) {
            slots.for_each(|slot| self.translated.forget(slot));
        }
    }

    /// Records that an instruction at `offset` of flash is predecoded or translated.
    pub fn mark_flash(&mut self, offset: usize) {
        for page in [offset, (offset + 2) & (self.flash.len() - 1)].map(|at| at / PAGE) {
            self.decoded[page / 64] |= 1 << (page % 64);
        }
    }

    /// Reads the word at `offset` of ROM.
    #[inline]
    pub fn rom_u32(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.rom[offset..offset + 4].try_into().unwrap_or_default())
    }

    /// Reads the halfword at `offset` of ROM.
    #[inline]
    pub fn rom_u16(&self, offset: usize) -> u16 {
        u16::from_le_bytes(self.rom[offset..offset + 2].try_into().unwrap_or_default())
    }

    /// Reads the byte at `offset` of ROM.
    #[inline]
    pub fn rom_u8(&self, offset: usize) -> u8 {
        self.rom[offset]
    }

    /// Reads a word of the flash chip, wherever the window shows it; addresses wrap at its size.
    pub fn cell_u32(&self, at: usize) -> u32 {
        let cells = self.flash();
        let at = at & (cells.len() - 4);
        u32::from_le_bytes(cells[at..at + 4].try_into().unwrap_or_default())
    }

    /// Reads flash where the window shows it; addresses wrap at the array's size, as the chip ignores higher address bits.
    #[inline]
    pub fn flash_u32(&self, offset: usize) -> u32 {
        let (cells, at) = self.shown(offset & !3);
        value::<4>(cells, at).unwrap_or_default()
    }

    /// Reads a halfword of flash; addresses wrap at the array's size.
    #[inline]
    pub fn flash_u16(&self, offset: usize) -> u16 {
        let (cells, at) = self.shown(offset & !1);
        value::<2>(cells, at).unwrap_or_default() as u16
    }

    /// Reads a byte of flash; addresses wrap at the array's size.
    #[inline]
    pub fn flash_u8(&self, offset: usize) -> u8 {
        let (cells, at) = self.shown(offset);
        cells[at]
    }

    /// Reads the word at `offset` of SRAM.
    #[inline]
    pub fn ram_u32(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.ram[offset..offset + 4].try_into().unwrap_or_default())
    }

    /// Reads the halfword at `offset` of SRAM.
    #[inline]
    pub fn ram_u16(&self, offset: usize) -> u16 {
        u16::from_le_bytes(self.ram[offset..offset + 2].try_into().unwrap_or_default())
    }

    /// Reads the byte at `offset` of SRAM.
    #[inline]
    pub fn ram_u8(&self, offset: usize) -> u8 {
        self.ram[offset]
    }

    /// Writes the word at `offset` of SRAM.
    #[inline]
    pub fn set_ram_u32(&mut self, offset: usize, value: u32) {
        self.ram[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        if self.code[offset >> CODE_GRANULE_BITS] {
            self.forget_ram(offset);
        }
    }

    /// Writes the halfword at `offset` of SRAM.
    #[inline]
    pub fn set_ram_u16(&mut self, offset: usize, value: u16) {
        self.ram[offset..offset + 2].copy_from_slice(&value.to_le_bytes());
        if self.code[offset >> CODE_GRANULE_BITS] {
            self.forget_ram(offset);
        }
    }

    /// Writes the byte at `offset` of SRAM.
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
    pub fn load_fast<const SIZE: u32>(&mut self, address: u32) -> Option<(u32, u32)> {
        let offset = address.wrapping_sub(M::SRAM.base) as usize;
        if address & (SIZE - 1) != 0 {
            return None;
        }
        if offset < M::SRAM.bytes as usize {
            let value = match SIZE {
                1 => u32::from(self.ram_u8(offset)),
                2 => u32::from(self.ram_u16(offset)),
                _ => self.ram_u32(offset),
            };
            return Some((value, 0));
        }
        // The bus handles a flash that cannot answer.
        if address.wrapping_sub(M::FLASH.base) >= self.reach || self.xip.offline {
            return None;
        }
        let offset = address & (M::FLASH.bytes - 1);
        let waits = self.access_word(offset);
        Some((value::<SIZE>(&self.flash, offset as usize & (self.flash.len() - 1))?, waits))
    }

    /// Writes an aligned value of `SIZE` (1, 2, 4) bytes to SRAM; false: not SRAM.
    #[inline(always)]
    pub fn store_fast<const SIZE: u32>(&mut self, address: u32, value: u32) -> bool {
        let offset = address.wrapping_sub(M::SRAM.base) as usize;
        if offset >= M::SRAM.bytes as usize || address & (SIZE - 1) != 0 {
            return false;
        }
        match SIZE {
            1 => self.set_ram_u8(offset, value as u8),
            2 => self.set_ram_u16(offset, value as u16),
            _ => self.set_ram_u32(offset, value),
        }
        true
    }

    /// Reads an aligned value of `SIZE` (1, 2, 4) bytes without wait states and without a call: from SRAM, ROM, or flash
    /// that the cache holds. `None`: use the bus.
    #[inline(always)]
    pub fn load_held<const SIZE: u32>(&mut self, address: u32) -> Option<u32> {
        if address & (SIZE - 1) != 0 {
            return None;
        }
        let offset = address.wrapping_sub(M::SRAM.base) as usize;
        if offset < M::SRAM.bytes as usize {
            return value::<SIZE>(&self.ram, offset);
        }
        if M::FLASH.contains(address) && !self.xip.offline {
            let offset = address & (M::FLASH.bytes - 1);
            if self.xip.holds(offset) == 0 {
                return None;
            }
            self.xip.accesses += 1;
            return value::<SIZE>(&self.flash, offset as usize & (self.flash.len() - SIZE as usize));
        }
        value::<SIZE>(&self.rom, address.wrapping_sub(M::ROM.base) as usize)
    }

    /// Writes an aligned value of `SIZE` (1, 2, 4) bytes to SRAM that holds no code, without a call; false: it is not.
    #[inline(always)]
    pub fn store_plain<const SIZE: u32>(&mut self, address: u32, value: u32) -> bool {
        let offset = address.wrapping_sub(M::SRAM.base) as usize;
        if address & (SIZE - 1) != 0 || self.code.get(offset >> CODE_GRANULE_BITS) != Some(&false) {
            return false;
        }
        let Some(at) = self.ram.get_mut(offset..) else { return false };
        let to = match SIZE {
            1 => at.first_mut().map(|to| *to = value as u8),
            2 => at.first_chunk_mut().map(|to| *to = (value as u16).to_le_bytes()),
            _ => at.first_chunk_mut().map(|to| *to = value.to_le_bytes()),
        };
        to.is_some()
    }

    /// Reserves `address` for an exclusive store of `core`.
    pub fn reserve(&mut self, core: usize, address: u32) {
        self.reserved[core] = Some(address);
        self.watch(address);
    }

    /// Ends the reservation of `core`; false: it had not reserved `address`, or something wrote to that word since.
    pub fn take_reservation(&mut self, core: usize, address: u32) -> bool {
        self.reserved[core].take() == Some(address)
    }

    /// Lets writes to a word of SRAM be seen, as those to code are.
    fn watch(&mut self, address: u32) {
        if M::SRAM.contains(address) {
            self.code[(address - M::SRAM.base) as usize >> CODE_GRANULE_BITS] = true;
        }
    }

    /// Prepares translated code for the rules of `core`. It leaves writes to read-only addresses to the engine, as those
    /// to code, and code that must not be executed is not translated.
    pub fn guard(&mut self, core: usize, guards: Vec<Guard>) {
        if self.guards[core] == guards {
            return;
        }
        self.guards[core] = guards;
        for Guard { addresses, read_only, never_executed } in &self.guards[core] {
            let within = |region: Region| {
                let offset = |address: u32| (address.max(region.base) - region.base).min(region.bytes - 1) as usize;
                region.meets(addresses).then(|| offset(*addresses.start())..=offset(*addresses.end()))
            };
            if *read_only && let Some(offsets) = within(M::SRAM) {
                let [first, last] = [offsets.start(), offsets.end()].map(|offset| offset >> CODE_GRANULE_BITS);
                self.code[first..=last].fill(true);
            }
            for (region, slots) in [(M::SRAM, M::SRAM_OPS), (M::ROM, M::ROM_OPS)] {
                if *never_executed && let Some(offsets) = within(region) {
                    (offsets.start() / 2..=offsets.end() / 2).for_each(|slot| self.translated.forget(slots + slot));
                }
            }
        }
    }

    /// Returns whether a core must not execute the code at `pc`.
    pub fn is_barred(&self, pc: u32) -> bool {
        self.guards.iter().flatten().any(|guard| guard.never_executed && guard.addresses.contains(&pc))
    }

    #[cold]
    fn forget_ram(&mut self, offset: usize) {
        for reserved in &mut self.reserved {
            if reserved.is_some_and(|address| (address.wrapping_sub(M::SRAM.base) as usize) >> 2 == offset >> 2) {
                *reserved = None;
            }
        }
        let slot = M::SRAM_OPS + offset / 2;
        // The word's two halfwords, and a 32-bit instruction that starts just before.
        let first = slot.saturating_sub(1).max(M::SRAM_OPS);
        let last = (slot + 1).min(M::SCRATCH_OP - 2);
        self.ops[first..=last].fill(A::Op::zeroed());
        // Up to four bytes are written at once.
        self.translated.forget(slot);
        self.translated.forget(slot + 1);
        self.unmark(offset >> CODE_GRANULE_BITS);
    }

    /// Ends the checks of writes to a granule of RAM that contains no predecoded instruction any more.
    fn unmark(&mut self, granule: usize) {
        let reserves = |address: u32| (address.wrapping_sub(M::SRAM.base) as usize) >> CODE_GRANULE_BITS == granule;
        let start = M::SRAM.base + (granule << CODE_GRANULE_BITS) as u32;
        let end = start + (1 << CODE_GRANULE_BITS);
        let guards = |Guard { addresses, read_only, .. }: &Guard| {
            *read_only && *addresses.start() < end && *addresses.end() >= start
        };
        let slots = (1 << CODE_GRANULE_BITS) / 2;
        let first = M::SRAM_OPS + granule * slots;
        // A 32-bit instruction may start just before.
        let decoded = &self.ops[first.saturating_sub(1).max(M::SRAM_OPS)..(first + slots).min(M::SCRATCH_OP)];
        self.code[granule] = decoded.iter().any(|&op| op != A::Op::zeroed())
            || self.translated.reaches(first..first + slots)
            || self.reserved.into_iter().flatten().any(reserves)
            || self.guards.iter().flatten().any(guards);
    }

    /// Records that the instruction at `offset` of RAM is predecoded.
    pub fn mark_code(&mut self, offset: usize) {
        self.code[offset >> CODE_GRANULE_BITS] = true;
        self.code[(offset + 2) >> CODE_GRANULE_BITS] = true;
    }

    /// Predecodes the instruction at `pc` from its halfword and the next. `None`: it is in none of
    /// the memories, or in a flash that cannot answer.
    pub fn predecode(&mut self, pc: u32, decode: impl Fn(u16, u16) -> A::Op) -> Option<A::Op> {
        let (ram, flash) = (pc.wrapping_sub(M::SRAM.base) as usize, pc.wrapping_sub(M::FLASH.base) as usize);
        let rom = pc.wrapping_sub(M::ROM.base) as usize;
        let (op, slot) = if ram < self.ram.len() {
            let next = if ram + 2 < self.ram.len() { self.ram_u16(ram + 2) } else { 0 };
            self.mark_code(ram);
            (decode(self.ram_u16(ram), next), M::SRAM_OPS + ram / 2)
        } else if flash < self.code_bytes() as usize && !self.xip.offline {
            let next = if flash + 2 < self.flash.len() { self.flash_u16(flash + 2) } else { 0 };
            self.mark_flash(flash);
            (decode(self.flash_u16(flash), next), M::FLASH_OPS + flash / 2)
        } else if rom < self.rom.len() {
            let next = if rom + 2 < self.rom.len() { self.rom_u16(rom + 2) } else { 0 };
            (decode(self.rom_u16(rom), next), M::ROM_OPS + rom / 2)
        } else {
            return None;
        };
        self.ops[slot] = op;
        Some(op)
    }

    /// Returns the predecoded instruction in `slot`.
    pub fn op(&self, slot: usize) -> A::Op {
        self.ops[slot]
    }

    /// Returns the slot of an address in the table of predecoded instructions.
    pub fn slot(&self, pc: u32) -> usize {
        let offset = |base: u32| pc.wrapping_sub(base) as usize / 2;
        if offset(M::FLASH.base) < self.code_bytes() as usize / 2 {
            M::FLASH_OPS + offset(M::FLASH.base)
        } else if M::SRAM.contains(pc) {
            M::SRAM_OPS + offset(M::SRAM.base)
        } else if M::ROM.contains(pc) {
            M::ROM_OPS + offset(M::ROM.base)
        } else {
            M::SCRATCH_OP
        }
    }
}

impl<M: Map, A: Architecture> Memory<M, A> {
    /// Interprets every instruction from now on.
    pub fn interpret_only(&mut self) {
        self.translated.turn_off();
    }

    /// Makes a block of translated code wherever one can start, for tests.
    pub fn translate_at_once(&mut self) {
        self.translated.make_at_once();
    }

    /// Keeps at most `bytes` of translated code, for tests; to be called before the first instruction.
    pub fn limit_translated(&mut self, bytes: usize) {
        self.translated.limit(bytes);
    }

    /// Returns the number of translated blocks.
    pub fn translated_blocks(&self) -> usize {
        self.translated.blocks()
    }

    /// Returns how often translated blocks were dropped.
    pub fn dropped_blocks(&self) -> u64 {
        self.translated.generation()
    }

    /// Returns the addresses that translated code reads and writes.
    pub fn parts(&mut self) -> Parts {
        Parts {
            ram: self.ram.as_mut_ptr(),
            granules: self.code.as_ptr(),
            flash: self.flash.as_ptr(),
            words: self.xip.words(),
            offline: &raw const self.xip.offline,
        }
    }

    /// Returns whether granule `granule` of RAM contains predecoded instructions.
    pub fn is_code(&self, granule: usize) -> bool {
        self.code[granule]
    }

    /// Returns the content of a granule of RAM.
    pub fn granule(&self, granule: usize) -> [u8; 1 << CODE_GRANULE_BITS] {
        let at = granule << CODE_GRANULE_BITS;
        self.ram[at..at + (1 << CODE_GRANULE_BITS)].try_into().unwrap_or_default()
    }

    /// Restores a granule without code.
    pub fn restore_granule(&mut self, granule: usize, content: &[u8; 1 << CODE_GRANULE_BITS]) {
        let at = granule << CODE_GRANULE_BITS;
        self.ram[at..at + content.len()].copy_from_slice(content);
    }
}

/// Addresses within a [`Memory`], valid until it moves or is borrowed again.
#[repr(C)]
#[derive(Debug)]
pub struct Parts {
    /// SRAM.
    pub ram: *mut u8,
    /// For each granule of RAM, whether code in it is predecoded.
    pub granules: *const bool,
    /// The flash as its window shows it.
    pub flash: *const u8,
    /// For each word of flash, a byte that is not 0 while the XIP cache holds it.
    pub words: *const u8,
    /// Whether the flash cannot answer.
    pub offline: *const bool,
}

/// The flash chip's cells.
impl<M: Map, A: Architecture> Array for Memory<M, A> {
    fn size(&self) -> usize {
        self.flash.len()
    }

    fn byte(&self, at: usize) -> u8 {
        let cells = self.flash();
        cells[at & (cells.len() - 1)]
    }

    fn program(&mut self, at: usize, data: &[u8]) {
        self.change_cells(at, data.len(), |cells, at| {
            cells.iter_mut().zip(&data[at..]).for_each(|(cell, byte)| *cell &= byte);
        });
    }

    fn erase(&mut self, at: usize, len: usize) {
        let len = len.min(self.flash.len());
        let start = (at & (self.flash.len() - 1)).min(self.flash.len() - len);
        self.change_cells(start, len, |cells, _| cells.fill(0xff));
    }
}
