//! A write-back sector cache that keeps all written sectors.
//!
//! The RP2040 boot ROM's volume ignores writes to its FAT and directory, so a written sector is read from the cache for
//! as long as the cache exists. `flush` writes changes to the drive: file contents, then FAT, then everything else,
//! each in ascending order. `discard` undoes a failed operation.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::layout::{Layout, SECTOR};
use crate::volume::{BlockDevice, Stage};

/// Most sectors kept that were only read.
const MAX_CLEAN: usize = 8192;
/// Longest single write to the drive, in sectors.
const MAX_RUN: usize = 128;
/// Sectors read ahead after one of a file.
const READ_AHEAD: u64 = 31;

type Data = Box<[u8; SECTOR]>;

pub(crate) struct Sectors<'a> {
    device: Box<dyn BlockDevice + 'a>,
    layout: Layout,
    clean: BTreeMap<u64, Data>,
    written: BTreeMap<u64, Data>,
    dirty_content: BTreeSet<u64>,
    dirty_metadata: BTreeSet<u64>,
    /// Content of `written` before the current operation.
    before: BTreeMap<u64, Option<Data>>,
    /// Whether `fatfs` is moving file contents rather than structures.
    pub(crate) content: bool,
    /// Accesses left to the current operation; a corrupt volume can make `fatfs` loop.
    pub(crate) budget: u64,
}

impl<'a> Sectors<'a> {
    pub(crate) fn new(device: Box<dyn BlockDevice + 'a>, layout: Layout) -> Self {
        Self {
            device,
            layout,
            clean: BTreeMap::new(),
            written: BTreeMap::new(),
            dirty_content: BTreeSet::new(),
            dirty_metadata: BTreeSet::new(),
            before: BTreeMap::new(),
            content: false,
            budget: 0,
        }
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// Drops all sectors, so that the drive is read again.
    pub(crate) fn forget(&mut self) {
        self.clean.clear();
        self.written.clear();
        self.before.clear();
        self.dirty_content.clear();
        self.dirty_metadata.clear();
    }

    /// Undoes the changes since the last flush.
    pub(crate) fn discard(&mut self) {
        self.dirty_content.clear();
        self.dirty_metadata.clear();
        for (sector, data) in std::mem::take(&mut self.before) {
            match data {
                Some(data) => self.written.insert(sector, data),
                None => self.written.remove(&sector),
            };
        }
    }

    fn spend(&mut self) -> io::Result<()> {
        self.budget = self
            .budget
            .checked_sub(1)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the FAT volume's structures lead in circles"))?;
        Ok(())
    }

    /// Reads from `position` (bytes, within the volume) to at most the end of its sector; 0 at the volume's end. File
    /// contents that are not cached are read together with the following sectors.
    pub(crate) fn read(&mut self, position: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.spend()?;
        let sector = position / SECTOR as u64;
        if sector >= self.layout.sectors || buf.is_empty() {
            return Ok(0);
        }
        let offset = (position % SECTOR as u64) as usize;
        let length = buf.len().min(SECTOR - offset);
        let ahead = if self.content && sector >= self.layout.fat_end { READ_AHEAD } else { 0 };
        let data = self.sector(sector, ahead)?;
        buf[..length].copy_from_slice(&data[offset..offset + length]);
        Ok(length)
    }

    /// Writes at `position` to at most the end of its sector; 0 at the volume's end.
    pub(crate) fn write(&mut self, position: u64, bytes: &[u8]) -> io::Result<usize> {
        self.spend()?;
        let sector = position / SECTOR as u64;
        if sector >= self.layout.sectors || bytes.is_empty() {
            return Ok(0);
        }
        let offset = (position % SECTOR as u64) as usize;
        let length = bytes.len().min(SECTOR - offset);
        let is_fat = (self.layout.fat_start..self.layout.fat_end).contains(&sector);
        let content = self.content && !is_fat;
        let fresh = content && offset == 0 && !self.dirty_content.contains(&sector);
        let mut data = if length == SECTOR || fresh {
            // New file contents: the rest of the sector is irrelevant, so reading it is unnecessary.
            Box::new([0; SECTOR])
        } else {
            Box::new(*self.sector(sector, 0)?)
        };
        data[offset..offset + length].copy_from_slice(&bytes[..length]);
        let old = self.written.get(&sector).or_else(|| self.clean.get(&sector));
        let unchanged = old.is_some_and(|old| *old == data);
        if content {
            self.dirty_metadata.remove(&sector);
            self.dirty_content.insert(sector);
        } else if unchanged {
            return Ok(length);
        } else if sector != 0 {
            // The boot sector is not written to the drive: `fatfs` only changes its "dirty" mark.
            self.dirty_metadata.insert(sector);
        }
        let previous = self.written.insert(sector, data);
        self.before.entry(sector).or_insert(previous);
        Ok(length)
    }

    fn sector(&mut self, sector: u64, ahead: u64) -> io::Result<&[u8; SECTOR]> {
        if !self.written.contains_key(&sector) && !self.clean.contains_key(&sector) {
            self.fetch(sector, ahead)?;
        }
        Ok(self.written.get(&sector).or_else(|| self.clean.get(&sector)).expect("just fetched"))
    }

    fn fetch(&mut self, sector: u64, ahead: u64) -> io::Result<()> {
        let limit = (sector + 1 + ahead).min(self.layout.sectors);
        let known = |s: &u64| self.written.contains_key(s) || self.clean.contains_key(s);
        let end = (sector + 1..limit).find(known).unwrap_or(limit);
        let mut buf = vec![0; (end - sector) as usize * SECTOR];
        self.device.read(self.layout.start + sector, &mut buf)?;
        if self.clean.len() >= MAX_CLEAN {
            self.clean.clear();
        }
        for (s, chunk) in (sector..end).zip(buf.chunks_exact(SECTOR)) {
            let mut data: Data = Box::new([0; SECTOR]);
            data.copy_from_slice(chunk);
            if s == 0 {
                // The boot ROM's boot sector has no signature, but `fatfs` requires one.
                data[510..].copy_from_slice(&[0x55, 0xaa]);
            }
            self.clean.insert(s, data);
        }
        Ok(())
    }

    /// Writes all changes to the drive.
    ///
    /// Errors: the drive's, and whether file contents or structures were being written.
    pub(crate) fn flush(&mut self) -> Result<(), (Stage, io::Error)> {
        let content: Vec<u64> = self.dirty_content.iter().copied().collect();
        self.write_back(&content).map_err(|e| (Stage::Content, e))?;
        let is_fat = |s: &u64| (self.layout.fat_start..self.layout.fat_end).contains(s);
        let (fat, rest): (Vec<u64>, Vec<u64>) = self.dirty_metadata.iter().copied().partition(is_fat);
        self.write_back(&fat).map_err(|e| (Stage::Structure, e))?;
        self.write_back(&rest).map_err(|e| (Stage::Structure, e))?;
        self.before.clear();
        Ok(())
    }

    /// Writes ascending `sectors`, adjacent ones together.
    fn write_back(&mut self, sectors: &[u64]) -> io::Result<()> {
        let mut rest = sectors;
        while let Some(&first) = rest.first() {
            let run = rest.iter().zip(first..).take(MAX_RUN).take_while(|(s, expected)| *s == expected).count();
            let mut buf = Vec::with_capacity(run * SECTOR);
            for s in &rest[..run] {
                buf.extend_from_slice(&self.written[s][..]);
            }
            self.device.write(self.layout.start + first, &buf)?;
            for s in &rest[..run] {
                self.dirty_content.remove(s);
                self.dirty_metadata.remove(s);
            }
            rest = &rest[run..];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Blank;

    impl BlockDevice for Blank {
        fn read(&mut self, _lba: u64, buf: &mut [u8]) -> io::Result<()> {
            buf.fill(0);
            Ok(())
        }
        fn write(&mut self, _lba: u64, _buf: &[u8]) -> io::Result<()> {
            Ok(())
        }
        fn blocks(&self) -> u64 {
            8
        }
    }

    #[test]
    fn what_is_forgotten_comes_back_by_no_undoing() {
        let layout = Layout { start: 0, sectors: 8, fat_start: 1, fat_end: 2, clusters: 4 };
        let mut sectors = Sectors::new(Box::new(Blank), layout);
        sectors.before.insert(3, Some(Box::new([1; SECTOR])));
        sectors.forget();
        sectors.discard();
        assert_eq!(sectors.sector(3, 0).unwrap()[0], 0);
    }
}
