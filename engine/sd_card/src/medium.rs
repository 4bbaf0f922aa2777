//! The memory of a card, which keeps its content without power and is the PC's image file.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sim::snapshot::{Snapshot, Torn, save_bytes, saved_bytes};

use fatfs::{FileSystem, FormatVolumeOptions, FsOptions};

/// Bytes of a block.
pub(crate) const BLOCK: usize = 512;
/// Bytes of an allocation; a chunk of zeros is not stored.
const CHUNK: usize = 1 << 16;
/// Serial number of a volume made by [`Medium::format`]; volumes must not depend on the host's clock.
const VOLUME_ID: u32 = 0x5044_0001;
/// Cluster size that the SD Association's formatter uses for cards of 4 to 32 GB.
const CLUSTER: u32 = 32 << 10;
/// Size of the volume that [`Medium::fill`] fills; filling takes time in proportion.
const SMALL_VOLUME: u64 = 16 << 20;

#[derive(Default)]
struct Store {
    blocks: u64,
    chunks: BTreeMap<u64, Box<[u8]>>,
    generation: u64,
}

/// A handle to a card's memory. Clones share it, so that it survives the card in its socket.
#[derive(Clone)]
pub struct Medium(Arc<Mutex<Store>>);

impl std::fmt::Debug for Medium {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Medium({} blocks)", self.blocks())
    }
}

/// A snapshot has the contents.
impl Snapshot for Medium {
    fn save_state(&self, to: &mut Vec<u8>) {
        let store = self.lock();
        store.chunks.len().save_state(to);
        for (chunk, bytes) in &store.chunks {
            chunk.save_state(to);
            save_bytes(bytes, to);
        }
    }

    /// A snapshot has no size of the medium.
    fn from_state(_: &mut &[u8]) -> Result<Self, Torn> {
        Err(Torn)
    }

    /// Replaces the contents for all handles. After an error they are as they were.
    fn restore_state(&mut self, from: &mut &[u8]) -> Result<(), Torn> {
        let end = self.bytes().div_ceil(CHUNK as u64);
        let mut chunks = BTreeMap::new();
        for _ in 0..u64::from_state(from)? {
            let (chunk, bytes) = (u64::from_state(from)?, saved_bytes(from)?);
            if chunk >= end || bytes.len() != CHUNK {
                return Err(Torn);
            }
            chunks.insert(chunk, bytes.into());
        }
        let mut store = self.lock();
        store.chunks = chunks;
        store.generation += 1;
        Ok(())
    }
}

impl Medium {
    /// Returns a memory of `blocks` blocks, all zero.
    pub fn new(blocks: u64) -> Self {
        Self(Arc::new(Mutex::new(Store { blocks, ..Store::default() })))
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the size in blocks of 512 bytes.
    pub fn blocks(&self) -> u64 {
        self.lock().blocks
    }

    fn bytes(&self) -> u64 {
        self.blocks() * BLOCK as u64
    }

    /// Returns a number that grows with each change.
    pub fn generation(&self) -> u64 {
        self.lock().generation
    }

    /// Copies memory from `offset` on; beyond the end it reads as zero.
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        let store = self.lock();
        each_chunk(offset, into.len(), |chunk, from, range| {
            let part = &mut into[range.clone()];
            match store.chunks.get(&chunk) {
                Some(bytes) => part.copy_from_slice(&bytes[from..from + range.len()]),
                None => part.fill(0),
            }
        });
    }

    /// Writes memory from `offset` on; bytes beyond the end are dropped.
    pub fn write(&self, offset: u64, bytes: &[u8]) {
        let mut store = self.lock();
        let room = (store.blocks * BLOCK as u64).saturating_sub(offset);
        let bytes = &bytes[..bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        store.generation += 1;
        each_chunk(offset, bytes.len(), |chunk, from, range| {
            let part = &bytes[range.clone()];
            let zeros = part.iter().all(|&byte| byte == 0);
            if zeros && !store.chunks.contains_key(&chunk) {
                return;
            }
            let kept = store.chunks.entry(chunk).or_insert_with(|| vec![0; CHUNK].into());
            kept[from..from + range.len()].copy_from_slice(part);
            if zeros && kept.iter().all(|&byte| byte == 0) {
                store.chunks.remove(&chunk);
            }
        });
    }

    /// Makes blocks `first` to `last` zero, both included.
    pub(crate) fn erase(&self, first: u64, last: u64) {
        let kept: Vec<(u64, u64)> = self.extents();
        let (from, to) = (first.saturating_mul(BLOCK as u64), (last + 1).saturating_mul(BLOCK as u64));
        for (start, length) in kept {
            let (start, end) = (start.max(from), (start + length).min(to));
            if start < end {
                self.write(start, &vec![0; (end - start) as usize]);
            }
        }
    }

    /// Returns the ranges that may be nonzero, as offsets and lengths in bytes, in order.
    pub fn extents(&self) -> Vec<(u64, u64)> {
        let end = self.bytes();
        let store = self.lock();
        let mut extents: Vec<(u64, u64)> = Vec::new();
        for &chunk in store.chunks.keys() {
            let start = chunk * CHUNK as u64;
            let length = (CHUNK as u64).min(end - start);
            match extents.last_mut() {
                Some((first, before)) if *first + *before == start => *before += length,
                _ => extents.push((start, length)),
            }
        }
        extents
    }

    /// Makes one FAT volume of the whole card, without a partition table, as cameras do.
    pub fn format(&self, label: &str) -> io::Result<()> {
        self.format_first(self.bytes(), label)
    }

    /// Makes a small volume at the start of the card with a file that leaves `free` bytes of it, rounded to clusters.
    pub fn fill(&self, label: &str, free: u64) -> io::Result<()> {
        let size = SMALL_VOLUME.min(self.bytes());
        self.format_first(size, label)?;
        let volume = FileSystem::new(self.cursor(size), FsOptions::new())?;
        let stats = volume.stats()?;
        let room = u64::from(stats.free_clusters()) * u64::from(stats.cluster_size());
        let mut filler = volume.root_dir().create_file("FULL.BIN")?;
        let mut left = room.saturating_sub(free);
        while left > 0 {
            let part = left.min(CLUSTER.into()) as usize;
            filler.write_all(&vec![0xa5; part])?;
            left -= part as u64;
        }
        filler.flush()
    }

    fn format_first(&self, size: u64, label: &str) -> io::Result<()> {
        let mut name = [b' '; 11];
        for (to, from) in name.iter_mut().zip(label.bytes()) {
            *to = from.to_ascii_uppercase();
        }
        let mut options = FormatVolumeOptions::new().volume_id(VOLUME_ID).volume_label(name);
        if size > 2 << 30 {
            options = options.bytes_per_cluster(CLUSTER);
        }
        fatfs::format_volume(self.cursor(size), options)
    }

    fn cursor(&self, size: u64) -> Cursor {
        Cursor { medium: self.clone(), size, at: 0 }
    }
}

/// Calls `part` with each chunk's number, the start in it, and the range of the `length` bytes that it holds.
fn each_chunk(offset: u64, length: usize, mut part: impl FnMut(u64, usize, std::ops::Range<usize>)) {
    let mut done = 0;
    while done < length {
        let at = offset + done as u64;
        let from = (at % CHUNK as u64) as usize;
        let count = (CHUNK - from).min(length - done);
        part(at / CHUNK as u64, from, done..done + count);
        done += count;
    }
}

/// The start of a medium as a file.
struct Cursor {
    medium: Medium,
    size: u64,
    at: u64,
}

impl Cursor {
    fn room(&self, wanted: usize) -> usize {
        wanted.min(usize::try_from(self.size.saturating_sub(self.at)).unwrap_or(usize::MAX))
    }
}

impl Read for Cursor {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.room(into.len());
        self.medium.read(self.at, &mut into[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Write for Cursor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.room(bytes.len());
        self.medium.write(self.at, &bytes[..count]);
        self.at += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.size.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "seek before the start"))?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_written_data_but_no_zeros() {
        let medium = Medium::new(4096);
        let bytes: Vec<u8> = (0..70_000u32).map(|n| (n % 251) as u8 + 1).collect();
        medium.write(65_000, &bytes);
        let mut back = vec![0; bytes.len()];
        medium.read(65_000, &mut back);
        assert!(back == bytes);
        assert_eq!(medium.extents(), [(0, 3 * 65_536)]);
        medium.write(0, &[0; 3 * 65_536]);
        assert_eq!(medium.extents(), []);
        assert_eq!(medium.generation(), 2);
    }

    #[test]
    fn writes_beyond_the_end_are_dropped() {
        let medium = Medium::new(2);
        medium.write(1000, &[7; 100]);
        let mut back = [1; 100];
        medium.read(1000, &mut back);
        assert_eq!(back.map(|byte| byte == 7), std::array::from_fn::<_, 100, _>(|n| n < 24));
    }

    #[test]
    fn a_formatted_card_takes_little_memory_and_a_full_one_has_no_space() {
        let medium = Medium::new(32_000_000_000 / 512);
        medium.format("TEST").unwrap();
        let volume = FileSystem::new(medium.cursor(medium.bytes()), FsOptions::new()).unwrap();
        assert_eq!(volume.fat_type(), fatfs::FatType::Fat32);
        assert_eq!((volume.volume_label().trim_end(), volume.cluster_size()), ("TEST", CLUSTER));
        assert!(medium.lock().chunks.len() < 8);

        medium.fill("FULL", 100_000).unwrap();
        let volume = FileSystem::new(medium.cursor(SMALL_VOLUME), FsOptions::new()).unwrap();
        let stats = volume.stats().unwrap();
        let free = u64::from(stats.free_clusters()) * u64::from(stats.cluster_size());
        assert!((90_000..=110_000).contains(&free), "{free}");
    }
}
