//! Files on a FAT12, FAT16 or FAT32 volume (`fatfs`) on any block device.

use std::cell::RefCell;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fatfs::{Date, DateTime, FileSystem, FsOptions, Time, TimeProvider};

use crate::layout::{self, Layout, SECTOR};
use crate::sectors::Sectors;

/// A drive with blocks of 512 bytes.
pub trait BlockDevice {
    /// Reads `buf.len() / 512` blocks from block `lba` on.
    fn read(&mut self, lba: u64, buf: &mut [u8]) -> io::Result<()>;
    /// Writes `buf.len() / 512` blocks from block `lba` on.
    fn write(&mut self, lba: u64, buf: &[u8]) -> io::Result<()>;
    /// Number of blocks.
    fn blocks(&self) -> u64;
}

/// A file or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Path from the root, with `/` between the parts and none in front.
    pub path: String,
    /// Bytes; 0 for a directory.
    pub size: u64,
    /// A folder; otherwise a file.
    pub is_dir: bool,
}

/// The stage in which an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading the volume, or preparing changes: the drive is unchanged.
    Prepare,
    /// File contents were being written to the drive.
    Content,
    /// All file contents are on the drive; FAT and directories were being written. A boot loader that restarts as soon
    /// as it has a whole image ends a copy here.
    Structure,
}

/// Why a volume operation failed; its text is one line.
#[derive(Debug)]
pub struct VolumeError {
    /// The operation, for instance `write code.py`.
    pub operation: String,
    /// Where it failed: the device or the structure of the file system.
    pub stage: Stage,
    /// The failure.
    pub source: io::Error,
}

impl std::fmt::Display for VolumeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stage = match self.stage {
            Stage::Prepare => "",
            Stage::Content => " (while writing its contents)",
            Stage::Structure => " (contents written, while writing FAT and directories)",
        };
        write!(f, "{}{stage}: {}", self.operation, self.source)
    }
}

impl std::error::Error for VolumeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Deepest directory that `list` enters.
const MAX_DEPTH: usize = 32;
/// Most entries that `list` returns.
const MAX_ENTRIES: usize = 1 << 16;

/// Timestamps must not depend on the host's clock.
#[derive(Debug)]
struct FixedTime;

impl TimeProvider for FixedTime {
    fn get_current_date(&self) -> Date {
        Date { year: 2024, month: 1, day: 1 }
    }

    fn get_current_date_time(&self) -> DateTime {
        DateTime { date: self.get_current_date(), time: Time { hour: 0, min: 0, sec: 0, millis: 0 } }
    }
}

static FIXED_TIME: FixedTime = FixedTime;

/// A mounted volume. Every changing operation ends with a flush.
///
/// Sectors that the volume has written or read are not read from the drive again until [`Volume::refresh`].
pub struct Volume<'a> {
    sectors: RefCell<Sectors<'a>>,
}

type Fs<'s, 'a> = FileSystem<Stream<'s, 'a>>;

impl<'a> Volume<'a> {
    /// Finds and checks the volume: the whole drive, or the first FAT partition of a master boot record.
    pub fn mount(device: impl BlockDevice + 'a) -> Result<Self, VolumeError> {
        // Boxed, so that `fatfs` is compiled once.
        let mut device: Box<dyn BlockDevice + 'a> = Box::new(device);
        let found = layout::find(device.blocks(), |lba| {
            let mut sector = [0; SECTOR];
            device.read(lba, &mut sector)?;
            Ok(sector)
        });
        let layout = found.map_err(|source| failed("mount", Stage::Prepare, source))?;
        let volume = Volume { sectors: RefCell::new(Sectors::new(device, layout)) };
        volume.with("mount", |_| Ok(()))?;
        Ok(volume)
    }

    /// Returns all files and directories, each directory before its contents.
    pub fn list(&self) -> Result<Vec<Entry>, VolumeError> {
        self.with("list", |fs| {
            let mut entries = Vec::new();
            list_into(&fs.root_dir(), "", 0, &mut entries)?;
            Ok(entries)
        })
    }

    /// Returns a file's contents.
    pub fn read_file(&self, path: &str) -> Result<Vec<u8>, VolumeError> {
        let limit = self.layout().sectors * SECTOR as u64;
        self.with(&format!("read {path}"), |fs| {
            let path = clean(path)?;
            let mut file = fs.root_dir().open_file(&path)?;
            let size = file.seek(SeekFrom::End(0))?;
            if size > limit {
                return Err(invalid(format!("its directory entry claims {size} bytes on a volume of {limit}")));
            }
            file.seek(SeekFrom::Start(0))?;
            self.sectors.borrow_mut().content = true;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        })
    }

    /// Creates or replaces a file and the directories above it.
    ///
    /// The contents are written first, in ascending order of blocks, then the FAT, then the directories.
    pub fn write_file(&self, path: &str, data: &[u8]) -> Result<(), VolumeError> {
        self.change(&format!("write {path}"), |fs| {
            let path = clean(path)?;
            if u32::try_from(data.len()).is_err() {
                return Err(invalid("FAT files end at 4 GiB".to_string()));
            }
            make_dirs(fs, parent(&path))?;
            let mut file = fs.root_dir().create_file(&path)?;
            file.truncate()?;
            self.sectors.borrow_mut().content = true;
            let written = file.write_all(data);
            self.sectors.borrow_mut().content = false;
            written?;
            file.flush()
        })
    }

    /// Creates a directory and those above it; an existing one stays unchanged.
    pub fn create_dir(&self, path: &str) -> Result<(), VolumeError> {
        self.change(&format!("create directory {path}"), |fs| make_dirs(fs, &clean(path)?))
    }

    /// Removes a file or an empty directory.
    pub fn remove(&self, path: &str) -> Result<(), VolumeError> {
        self.change(&format!("remove {path}"), |fs| fs.root_dir().remove(&clean(path)?))
    }

    /// Renames or moves a file or directory; the target must not exist.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), VolumeError> {
        self.change(&format!("rename {from} to {to}"), |fs| {
            let root = fs.root_dir();
            root.rename(&clean(from)?, &root, &clean(to)?)
        })
    }

    /// Returns the volume's label: the root directory's, otherwise the boot sector's.
    pub fn label(&self) -> Result<String, VolumeError> {
        self.with("read the label", |fs| Ok(fs.read_volume_label_from_root_dir()?.unwrap_or_else(|| fs.volume_label())))
    }

    /// Returns the bytes available for new files.
    pub fn free_bytes(&self) -> Result<u64, VolumeError> {
        self.with("count free clusters", |fs| {
            let stats = fs.stats()?;
            Ok(u64::from(stats.free_clusters()) * u64::from(stats.cluster_size()))
        })
    }

    /// Writes changes to the drive that a failed flush has left.
    pub fn flush(&self) -> Result<(), VolumeError> {
        self.sectors.borrow_mut().flush().map_err(|(stage, source)| failed("flush", stage, source))
    }

    /// Drops the cached content of the drive, including changes that were not flushed.
    pub fn refresh(&self) {
        self.sectors.borrow_mut().forget();
    }

    fn layout(&self) -> Layout {
        self.sectors.borrow().layout()
    }

    fn change(&self, operation: &str, f: impl FnOnce(&Fs<'_, 'a>) -> io::Result<()>) -> Result<(), VolumeError> {
        if let Err(error) = self.with(operation, f) {
            self.sectors.borrow_mut().discard();
            return Err(error);
        }
        self.sectors.borrow_mut().flush().map_err(|(stage, source)| failed(operation, stage, source))
    }

    fn with<T>(&self, operation: &str, f: impl FnOnce(&Fs<'_, 'a>) -> io::Result<T>) -> Result<T, VolumeError> {
        {
            let mut sectors = self.sectors.borrow_mut();
            let layout = sectors.layout();
            sectors.content = false;
            // A scan of the FAT takes two accesses per cluster, a file two per sector and a few per cluster.
            sectors.budget = 4_000_000 + 64 * layout.clusters + 8 * layout.sectors;
        }
        let run = || {
            let options = FsOptions::new().time_provider(&FIXED_TIME);
            let fs = FileSystem::new(Stream { sectors: &self.sectors, position: 0 }, options)?;
            let result = f(&fs)?;
            self.sectors.borrow_mut().content = false;
            fs.unmount()?;
            Ok(result)
        };
        // `fatfs` uses cluster numbers from the drive without checking them, so a corrupt chain can make it panic.
        let result = catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|_| Err(invalid("the FAT volume's structures are corrupt".to_string())));
        result.map_err(|source| failed(operation, Stage::Prepare, source))
    }
}

fn list_into(
    dir: &fatfs::Dir<'_, Stream<'_, '_>>,
    prefix: &str,
    depth: usize,
    entries: &mut Vec<Entry>,
) -> io::Result<()> {
    for entry in dir.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if name == "." || name == ".." {
            continue;
        }
        if entries.len() >= MAX_ENTRIES || depth >= MAX_DEPTH {
            return Err(invalid("the FAT volume's directories lead in circles".to_string()));
        }
        let path = format!("{prefix}{name}");
        let is_dir = entry.is_dir();
        entries.push(Entry { path: path.clone(), size: if is_dir { 0 } else { entry.len() }, is_dir });
        if is_dir {
            list_into(&entry.to_dir(), &format!("{path}/"), depth + 1, entries)?;
        }
    }
    Ok(())
}

fn make_dirs(fs: &Fs<'_, '_>, path: &str) -> io::Result<()> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain(Some(path.len()));
    for end in ends.filter(|&end| end > 0) {
        fs.root_dir().create_dir(&path[..end])?;
    }
    Ok(())
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Removes surplus separators from a path; `.` and `..` are refused.
fn clean(path: &str) -> io::Result<String> {
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    if parts.is_empty() || parts.iter().any(|p| *p == "." || *p == "..") {
        let what = format!("{path:?} is not a path on the volume: name a file from its root, without . and ..");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    Ok(parts.join("/"))
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn failed(operation: &str, stage: Stage, source: io::Error) -> VolumeError {
    VolumeError { operation: operation.to_string(), stage, source }
}

/// The volume as the byte stream that `fatfs` works on.
struct Stream<'s, 'a> {
    sectors: &'s RefCell<Sectors<'a>>,
    position: u64,
}

impl Read for Stream<'_, '_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.sectors.borrow_mut().read(self.position, buf)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Write for Stream<'_, '_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let count = self.sectors.borrow_mut().write(self.position, buf)?;
        self.position += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Stream<'_, '_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(_) => None,
        };
        self.position = position.ok_or_else(|| invalid("seek outside the FAT volume".to_string()))?;
        Ok(self.position)
    }
}
