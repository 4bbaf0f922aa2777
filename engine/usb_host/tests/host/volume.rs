//! FAT volumes: formatted ones of every kind, the RP2040 boot ROM's virtual one, and corrupt ones.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use usb_host::{BlockDevice, Entry, Stage, Volume};

/// A RAM disk that records writes and can fail.
#[derive(Default)]
struct Disk {
    bytes: Vec<u8>,
    /// First block and data of every write.
    writes: Vec<(u64, Vec<u8>)>,
    reads: usize,
    /// Writes left before failures start.
    writes_left: Option<usize>,
}

impl BlockDevice for Disk {
    fn read(&mut self, lba: u64, buf: &mut [u8]) -> io::Result<()> {
        self.reads += 1;
        let from = lba as usize * 512;
        buf.copy_from_slice(&self.bytes[from..from + buf.len()]);
        Ok(())
    }

    fn write(&mut self, lba: u64, buf: &[u8]) -> io::Result<()> {
        if let Some(left) = self.writes_left.as_mut() {
            if *left == 0 {
                return Err(io::Error::other("the drive is not connected"));
            }
            *left -= 1;
        }
        let from = lba as usize * 512;
        self.bytes[from..from + buf.len()].copy_from_slice(buf);
        self.writes.push((lba, buf.to_vec()));
        Ok(())
    }

    fn blocks(&self) -> u64 {
        self.bytes.len() as u64 / 512
    }
}

/// A drive that its test looks at while it is mounted.
struct Watched<D>(Rc<RefCell<D>>);

impl<D: BlockDevice> BlockDevice for Watched<D> {
    fn read(&mut self, lba: u64, buf: &mut [u8]) -> io::Result<()> {
        self.0.borrow_mut().read(lba, buf)
    }

    fn write(&mut self, lba: u64, buf: &[u8]) -> io::Result<()> {
        self.0.borrow_mut().write(lba, buf)
    }

    fn blocks(&self) -> u64 {
        self.0.borrow().blocks()
    }
}

/// Returns the volume on a drive, and the drive.
fn mount<D: BlockDevice + 'static>(drive: D) -> (Volume<'static>, Rc<RefCell<D>>) {
    let drive = Rc::new(RefCell::new(drive));
    (Volume::mount(Watched(drive.clone())).unwrap(), drive)
}

fn formatted(blocks: usize, kind: fatfs::FatType, label: &[u8; 11]) -> Vec<u8> {
    let mut bytes = vec![0; blocks * 512];
    let options = fatfs::FormatVolumeOptions::new().fat_type(kind).bytes_per_cluster(512).volume_label(*label);
    fatfs::format_volume(io::Cursor::new(&mut bytes), options).unwrap();
    bytes
}

/// CircuitPython's drive: a master boot record in front of 2008 blocks with a FAT12 volume. Other entries come first.
fn circuitpy() -> Disk {
    let volume = formatted(2007, fatfs::FatType::Fat12, b"CIRCUITPY  ");
    let mut bytes = vec![0; 512];
    for (entry, (kind, start, count)) in [(1, 0, 9), (0x83, 1, 9), (1, 1, 0), (1, 1, 2007u32)].into_iter().enumerate() {
        let at = 446 + 16 * entry;
        (bytes[at + 4], bytes[at + 8]) = (kind, start);
        bytes[at + 12..][..4].copy_from_slice(&count.to_le_bytes());
    }
    bytes[510..].copy_from_slice(&[0x55, 0xaa]);
    bytes.extend(volume);
    Disk { bytes, ..Disk::default() }
}

fn pattern(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|i| (i as u8).wrapping_mul(31) ^ (i >> 8) as u8 ^ seed).collect()
}

fn entry(path: &str, size: u64, is_dir: bool) -> Entry {
    Entry { path: path.to_string(), size, is_dir }
}

/// Writes files of many sizes, reads them back from a fresh mount, replaces, renames and removes them.
fn exercise(disk: Disk) -> Disk {
    let (volume, disk) = mount(disk);
    let free = volume.free_bytes().unwrap();
    let sizes = [0usize, 1, 511, 512, 513, 5000, 100_000];
    for (n, &size) in sizes.iter().enumerate() {
        volume.write_file(&format!("lib/a long directory name/file number {n}.py"), &pattern(size, n as u8)).unwrap();
    }
    volume.write_file("code.py", b"print(1)\n").unwrap();
    volume.write_file("/code.py", &pattern(3000, 9)).unwrap();
    volume.write_file("CODE.PY", b"print(2)\n").unwrap();
    volume.write_file(".hidden", b"").unwrap();
    volume.create_dir("empty/inside").unwrap();
    volume.refresh();
    for (n, &size) in sizes.iter().enumerate() {
        let path = format!("lib/a long directory name/file number {n}.py");
        assert_eq!(volume.read_file(&path).unwrap(), pattern(size, n as u8));
    }
    assert_eq!(volume.read_file("code.py").unwrap(), b"print(2)\n");
    let mut expected = vec![entry("lib", 0, true), entry("lib/a long directory name", 0, true)];
    expected.extend(
        sizes
            .iter()
            .enumerate()
            .map(|(n, &s)| entry(&format!("lib/a long directory name/file number {n}.py"), s as u64, false)),
    );
    expected.extend([entry("code.py", 9, false), entry(".hidden", 0, false)]);
    expected.extend([entry("empty", 0, true), entry("empty/inside", 0, true)]);
    assert_eq!(volume.list().unwrap(), expected);
    volume.rename("code.py", "lib/main.py").unwrap();
    assert!(volume.read_file("code.py").is_err());
    assert_eq!(volume.read_file("lib/main.py").unwrap(), b"print(2)\n");
    let error = volume.remove("lib").unwrap_err();
    assert!(error.to_string().starts_with("remove lib: "), "{error}");
    for e in volume.list().unwrap().iter().rev() {
        volume.remove(&e.path).unwrap();
    }
    assert_eq!(volume.list().unwrap(), []);
    assert_eq!(volume.free_bytes().unwrap(), free);
    disk.take()
}

#[test]
fn fat12_behind_a_master_boot_record() {
    let (volume, disk) = mount(circuitpy());
    assert_eq!(volume.label().unwrap(), "CIRCUITPY");
    let disk = exercise(disk.take());
    assert!(disk.writes.iter().all(|(lba, _)| *lba > 1), "the boot record and boot sector stay untouched");
}

#[test]
fn fat12_fat16_and_fat32_without_a_master_boot_record() {
    for (blocks, kind) in
        [(2000, fatfs::FatType::Fat12), (16_000, fatfs::FatType::Fat16), (80_000, fatfs::FatType::Fat32)]
    {
        exercise(Disk { bytes: formatted(blocks, kind, b"DRIVE      "), ..Disk::default() });
    }
}

#[test]
fn a_full_volume_refuses_a_file_and_stays_as_it_was() {
    let (volume, disk) = mount(circuitpy());
    volume.write_file("code.py", b"old").unwrap();
    let before = (disk.borrow().bytes.clone(), disk.borrow().writes.len());
    let free = volume.free_bytes().unwrap();
    let error = volume.write_file("lib/big.bin", &vec![1; free as usize + 1]).unwrap_err();
    assert_eq!(error.stage, Stage::Prepare);
    assert_eq!(error.to_string(), "write lib/big.bin: No space left on device");
    assert!((disk.borrow().bytes.clone(), disk.borrow().writes.len()) == before);
    assert_eq!(volume.list().unwrap(), [entry("code.py", 3, false)]);
    assert_eq!(volume.free_bytes().unwrap(), free);
    volume.write_file("big.bin", &vec![1; free as usize]).unwrap();
    assert_eq!(volume.free_bytes().unwrap(), 0);
}

#[test]
fn contents_are_written_first_then_fat_then_directories_reproducibly() {
    let run = || {
        let (volume, disk) = mount(circuitpy());
        volume.write_file("lib/x.bin", &pattern(40_000, 1)).unwrap();
        disk.borrow_mut().writes.clear();
        volume.write_file("lib/x.bin", &pattern(60_000, 2)).unwrap();
        disk.take().writes
    };
    let writes = run();
    let regions: Vec<u64> = writes.iter().map(|w| w.0).collect();
    let fat_start = 2;
    let data_start = 1 + {
        let boot = circuitpy().bytes[512..1024].to_vec();
        let word = |at: usize| u64::from(u16::from_le_bytes([boot[at], boot[at + 1]]));
        word(0x0e) + u64::from(boot[0x10]) * word(0x16) + word(0x11) * 32 / 512
    };
    let first_fat = regions.iter().position(|&r| r < data_start && r >= fat_start).unwrap();
    let contents: usize = writes[..first_fat].iter().map(|w| w.1.len()).sum();
    assert_eq!(contents, 60_000usize.next_multiple_of(512));
    assert!(regions[..first_fat].is_sorted() && regions[first_fat..].is_sorted());
    assert!(regions[first_fat..].last().unwrap() >= &data_start, "lib's directory sector comes last");
    assert_eq!(writes, run());
}

#[test]
fn a_directory_that_stays_as_it_is_is_not_written() {
    let (volume, disk) = mount(circuitpy());
    for _ in 0..2 {
        disk.borrow_mut().writes.clear();
        volume.write_file("code.py", b"x").unwrap();
    }
    let blocks: usize = disk.borrow().writes.iter().map(|write| write.1.len() / 512).sum();
    assert_eq!(blocks, 3, "the file, and two copies of the FAT");
}

#[test]
fn a_lost_drive_says_how_far_the_file_got_and_flush_finishes_it() {
    let disk = Disk { writes_left: Some(1), ..circuitpy() };
    let (volume, disk) = mount(disk);
    let error = volume.write_file("code.py", &pattern(100_000, 3)).unwrap_err();
    assert_eq!(error.stage, Stage::Content);
    disk.borrow_mut().writes_left = Some(1);
    assert_eq!(volume.flush().unwrap_err().stage, Stage::Structure);
    disk.borrow_mut().writes_left = None;
    volume.flush().unwrap();
    let fresh = Volume::mount(disk.take()).unwrap();
    assert_eq!(fresh.read_file("code.py").unwrap(), pattern(100_000, 3));
}

#[test]
fn invalid_paths_are_refused() {
    let volume = Volume::mount(circuitpy()).unwrap();
    for path in ["", "/", "a/../b", "."] {
        assert!(volume.write_file(path, b"x").unwrap_err().to_string().contains("is not a path"), "{path}");
    }
    assert!(volume.write_file("a:b", b"x").unwrap_err().to_string().contains("unsupported characters"));
    let error = volume.read_file("nothing.txt").unwrap_err();
    assert_eq!(error.to_string(), "read nothing.txt: No such file or directory");
    assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
    volume.write_file("file", b"x").unwrap();
    assert!(volume.write_file("file/below", b"x").is_err());
}

#[test]
fn a_file_is_read_in_few_transfers() {
    let (volume, disk) = mount(circuitpy());
    volume.write_file("x.bin", &pattern(100_000, 4)).unwrap();
    volume.refresh();
    let before = disk.borrow().reads;
    volume.read_file("x.bin").unwrap();
    let reads = disk.borrow().reads - before;
    assert!(reads < 16, "{reads} transfers for 196 sectors");
}

/// The drive of the RP2040's boot ROM (its `virtual_disk.c`): 128 MiB, a FAT16 partition at block 1 with clusters of 4
/// KiB, no signature in the boot sector, contents computed on each read, and all writes ignored except UF2 blocks.
#[derive(Default)]
struct BootRom {
    uf2: Vec<Vec<u8>>,
    writes: Vec<u64>,
}

const FAT_SECTORS: u64 = 129;
const INFO: &[u8] = b"UF2 Bootloader v3.0\r\nModel: Raspberry Pi RP2\r\nBoard-ID: RPI-RP2\r\n";
const INDEX: &[u8] =
    b"<html><head><meta http-equiv=\"refresh\" content=\"0;URL='https://raspberrypi.com/'\"/></head></html>";

impl BootRom {
    fn sector(lba: u64) -> [u8; 512] {
        let mut s = [0u8; 512];
        let fats = 2..2 + 2 * FAT_SECTORS;
        let data = fats.end + 32;
        if lba == 0 {
            s[446 + 4] = 0x0e;
            s[446 + 8] = 1;
            s[446 + 12..][..4].copy_from_slice(&262_143u32.to_le_bytes());
            s[510..].copy_from_slice(&[0x55, 0xaa]);
        } else if lba == 1 {
            s[..11].copy_from_slice(b"\xeb\x3c\x90MSWIN4.1");
            s[0x0b..0x1e].copy_from_slice(&[
                0,
                2,
                8,
                1,
                0,
                2,
                0,
                2,
                0,
                0,
                0xf8,
                FAT_SECTORS as u8,
                0,
                1,
                0,
                1,
                0,
                1,
                0,
            ]);
            s[0x20..0x24].copy_from_slice(&262_143u32.to_le_bytes());
            s[0x26] = 0x29;
            s[0x2b..0x40].copy_from_slice(b"RPI-RP2    FAT16   \xeb\xfe");
        } else if fats.contains(&lba) {
            if (lba - 2).is_multiple_of(FAT_SECTORS) {
                s[..8].copy_from_slice(&[0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
            }
        } else if lba == fats.end {
            s[..12].copy_from_slice(b"RPI-RP2    \x28");
            for (n, (name, length)) in
                [(b"INDEX   HTM", INDEX.len()), (b"INFO_UF2TXT", INFO.len())].into_iter().enumerate()
            {
                let entry = &mut s[32 * (n + 1)..][..32];
                entry[..11].copy_from_slice(name);
                entry[11] = 0x21;
                entry[26] = n as u8 + 2;
                entry[28..].copy_from_slice(&(length as u32).to_le_bytes());
            }
        } else if lba == data || lba == data + 8 {
            let text = if lba == data { INDEX } else { INFO };
            s[..text.len()].copy_from_slice(text);
        }
        s
    }
}

impl BlockDevice for BootRom {
    fn read(&mut self, lba: u64, buf: &mut [u8]) -> io::Result<()> {
        for (n, chunk) in buf.chunks_exact_mut(512).enumerate() {
            chunk.copy_from_slice(&BootRom::sector(lba + n as u64));
        }
        Ok(())
    }

    fn write(&mut self, lba: u64, buf: &[u8]) -> io::Result<()> {
        for (n, chunk) in buf.chunks_exact(512).enumerate() {
            self.writes.push(lba + n as u64);
            if chunk[..4] == *b"UF2\n" {
                self.uf2.push(chunk.to_vec());
            }
        }
        Ok(())
    }

    fn blocks(&self) -> u64 {
        262_144
    }
}

fn uf2(blocks: u32, family: u32) -> Vec<u8> {
    let mut image = Vec::new();
    for n in 0..blocks {
        let mut block = vec![0; 512];
        let words = [0x0a32_4655, 0x9e5d_5157, 0x2000, 0x1000_0000 + 256 * n, 256, n, blocks, family];
        for (at, word) in words.iter().enumerate() {
            block[4 * at..][..4].copy_from_slice(&word.to_le_bytes());
        }
        block[32..288].copy_from_slice(&pattern(256, n as u8));
        block[508..].copy_from_slice(&0x0ab1_6f30u32.to_le_bytes());
        image.extend(block);
    }
    image
}

#[test]
fn the_boot_roms_volume_takes_a_uf2_in_order_and_shows_what_was_written() {
    let (volume, disk) = mount(BootRom::default());
    assert_eq!(volume.label().unwrap(), "RPI-RP2");
    let before = [entry("INDEX.HTM", INDEX.len() as u64, false), entry("INFO_UF2.TXT", INFO.len() as u64, false)];
    assert_eq!(volume.list().unwrap(), before);
    assert_eq!(volume.read_file("INFO_UF2.TXT").unwrap(), INFO);
    let image = uf2(2600, 0xe48b_ff56);
    let name = "W5500_EVB_PICO-20250809-v1.26.0.uf2";
    volume.write_file(name, &image).unwrap();
    assert!(disk.borrow().uf2.concat() == image, "all blocks, once, in ascending order");
    assert_eq!(volume.list().unwrap()[2], entry(name, image.len() as u64, false));
    assert_eq!(volume.read_file(name).unwrap(), image);
    assert!(disk.borrow().writes[..2600].is_sorted());
    // The same image again, as after a failed copy: everything is sent again.
    volume.write_file(name, &image).unwrap();
    assert_eq!(disk.borrow().uf2.len(), 5200);
    volume.remove(name).unwrap();
    assert_eq!(volume.list().unwrap(), before);
    volume.refresh();
    assert_eq!(volume.list().unwrap(), before);
}

/// xorshift64*.
fn random(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
}

#[test]
fn corrupt_volumes_end_in_errors() {
    let (volume, disk) = mount(circuitpy());
    volume.write_file("lib/one/a.py", &pattern(3000, 1)).unwrap();
    volume.write_file("lib/two/b.py", &pattern(9000, 2)).unwrap();
    volume.write_file("code.py", &pattern(700, 3)).unwrap();
    let good = disk.take().bytes;
    let (mut state, mut mounted, mut listed) = (5u64, 0, 0);
    for _ in 0..1500 {
        let mut bytes = good.clone();
        // Boot record and boot sector, FATs, root directory and the first clusters.
        for _ in 0..=random(&mut state) % 12 {
            let at = random(&mut state) as usize % (60 * 512);
            bytes[at] = random(&mut state) as u8;
        }
        let blocks = bytes.len();
        let Ok(volume) = Volume::mount(Disk { bytes, ..Disk::default() }) else {
            continue;
        };
        mounted += 1;
        if let Ok(entries) = volume.list() {
            listed += 1;
            for e in entries.iter().filter(|e| !e.is_dir).take(10) {
                if let Ok(data) = volume.read_file(&e.path) {
                    assert!(data.len() <= blocks);
                }
            }
        }
        let _ = volume.write_file("lib/one/new.py", &pattern(2000, 4));
        let _ = volume.write_file("code.py", &pattern(5000, 4));
        let _ = volume.remove("lib/two/b.py");
        let _ = volume.label();
    }
    assert!(mounted > 500 && listed > 300, "{mounted} mounted, {listed} listed");
}

/// Random changes, on a drive that fails at times: any change of a result, a word, a transfer or a byte on the drive
/// shows. After a wanted change, show it in another test, and take the checksum from the failure.
#[test]
fn random_changes_of_volumes_are_as_recorded() {
    const PATHS: [&str; 10] =
        ["a.py", "lib/a.py", "/lib//b name.py", "lib", "lib/x/y", "..", "", "code.py", "CODE.PY", "a.py/b"];
    let (mut state, mut sum) = (7u64, 0xcbf2_9ce4_8422_2325u64);
    let mut note = |seen: &dyn std::fmt::Debug| {
        let add = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        sum = format!("{seen:?}").bytes().fold(sum, add);
    };
    for round in 0..60 {
        let bytes = match round % 4 {
            0 => circuitpy().bytes,
            1 => formatted(900 + 100 * (round % 3), fatfs::FatType::Fat12, b"SMALL      "),
            2 => formatted(9000, fatfs::FatType::Fat16, b"LARGER     "),
            _ => formatted(70_000, fatfs::FatType::Fat32, b"LARGE      "),
        };
        let (volume, disk) = mount(Disk { bytes, ..Disk::default() });
        for _ in 0..20 {
            let mut pick = |of: usize| random(&mut state) as usize % of;
            let (path, other) = (PATHS[pick(10)], PATHS[pick(10)]);
            disk.borrow_mut().writes_left = [None, None, None, Some(pick(6))][pick(4)];
            let told = match pick(12) {
                0..4 => volume.write_file(path, &pattern([0, 1, 512, 3000, 80_000][pick(5)], round as u8)),
                4 => volume.create_dir(path),
                5 => volume.remove(path),
                6 => volume.rename(path, other),
                7 => volume.flush(),
                8 => {
                    volume.refresh();
                    Ok(())
                }
                9 => volume.label().map(|label| note(&label)),
                10 => volume.free_bytes().map(|free| note(&free)),
                _ => volume.list().map(|entries| note(&entries)),
            };
            note(&told.map_err(|error| (error.to_string(), error.stage)));
            note(&volume.read_file(other).map_err(|error| error.to_string()));
            let disk = &mut *disk.borrow_mut();
            note(&(disk.reads, &disk.writes));
            disk.writes.clear();
        }
    }
    assert_eq!(sum, 0x38330ec748023f25);
}

#[test]
fn a_directory_that_contains_itself_is_an_error() {
    let (volume, disk) = mount(circuitpy());
    volume.write_file("lib/a.py", b"x").unwrap();
    let mut disk = disk.take();
    // Make lib/a.py's directory entry a directory at lib's cluster.
    let at = disk.bytes.windows(11).position(|w| w == b"LIB        ").unwrap();
    let cluster = [disk.bytes[at + 26], disk.bytes[at + 27]];
    let file = disk.bytes.windows(8).position(|w| w == b"A       ").unwrap();
    disk.bytes[file + 11] = 0x10;
    disk.bytes[file + 26..file + 28].copy_from_slice(&cluster);
    let volume = Volume::mount(disk).unwrap();
    assert!(volume.list().unwrap_err().to_string().contains("circles"));
}

#[test]
fn an_invalid_cluster_number_does_not_end_the_process() {
    let (volume, disk) = mount(circuitpy());
    volume.write_file("code.py", &pattern(700, 1)).unwrap();
    volume.write_file("good.py", b"x").unwrap();
    let mut disk = disk.take();
    let at = disk.bytes.windows(11).position(|w| w == b"CODE    PY ").unwrap();
    disk.bytes[at + 26..at + 28].copy_from_slice(&1u16.to_le_bytes());
    let volume = Volume::mount(disk).unwrap();
    let error = volume.read_file("code.py").unwrap_err();
    assert!(error.to_string().contains("corrupt"), "{error}");
    assert_eq!(volume.read_file("good.py").unwrap(), b"x");
}
