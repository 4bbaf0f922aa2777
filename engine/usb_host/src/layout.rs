//! Locates a FAT volume on a drive, and checks its boot sector.
//!
//! The checks come before `fatfs` reads the volume, because its arithmetic trusts the boot sector.

use std::io;

pub(crate) const SECTOR: usize = 512;

/// A volume, in sectors of 512 bytes; all but `start` are relative to the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// First block of the volume on the drive.
    pub(crate) start: u64,
    pub(crate) sectors: u64,
    pub(crate) fat_start: u64,
    pub(crate) fat_end: u64,
    pub(crate) clusters: u64,
}

/// Partition types that hold FAT: FAT12, FAT16 (small, large, LBA), FAT32 (CHS, LBA).
const FAT_TYPES: [u8; 6] = [0x01, 0x04, 0x06, 0x0e, 0x0b, 0x0c];

fn word(sector: &[u8; SECTOR], at: usize) -> u64 {
    u64::from(u16::from_le_bytes([sector[at], sector[at + 1]]))
}

fn double(sector: &[u8; SECTOR], at: usize) -> u64 {
    word(sector, at) | word(sector, at + 2) << 16
}

/// Finds the volume on a drive of `blocks` blocks.
///
/// `read` reads one block. Block 0 is either the boot sector itself or a master boot record, of which the first FAT
/// partition is used. The signature 0x55aa is not required: the RP2040 boot ROM's boot sector has none.
///
/// Errors: those of `read`, or `InvalidData` with the reason.
pub(crate) fn find(blocks: u64, mut read: impl FnMut(u64) -> io::Result<[u8; SECTOR]>) -> io::Result<Layout> {
    if blocks == 0 {
        return Err(invalid("the drive has no blocks"));
    }
    let first = read(0)?;
    let direct = boot_sector(&first, 0, blocks);
    if direct.is_ok() {
        return direct;
    }
    for entry in 0..4 {
        let at = 446 + 16 * entry;
        let (kind, start, count) = (first[at + 4], double(&first, at + 8), double(&first, at + 12));
        if FAT_TYPES.contains(&kind) && start > 0 && count > 0 && start < blocks {
            return boot_sector(&read(start)?, start, count.min(blocks - start));
        }
    }
    direct
}

fn boot_sector(sector: &[u8; SECTOR], start: u64, available: u64) -> io::Result<Layout> {
    let sector_size = word(sector, 0x0b);
    let cluster_sectors = u64::from(sector[0x0d]);
    let reserved = word(sector, 0x0e);
    let fats = u64::from(sector[0x10]);
    let root_entries = word(sector, 0x11);
    let sectors = if word(sector, 0x13) != 0 { word(sector, 0x13) } else { double(sector, 0x20) };
    let is_fat32 = word(sector, 0x16) == 0;
    let fat_sectors = if is_fat32 { double(sector, 0x24) } else { word(sector, 0x16) };
    if sector_size != SECTOR as u64 {
        return Err(invalid(&format!("no FAT volume: {sector_size} bytes per sector instead of 512")));
    }
    if !cluster_sectors.is_power_of_two() {
        return Err(invalid(&format!("no FAT volume: {cluster_sectors} sectors per cluster")));
    }
    if reserved == 0 || !(1..=2).contains(&fats) || fat_sectors == 0 {
        return Err(invalid(&format!(
            "no FAT volume: {reserved} reserved sectors, {fats} FATs of {fat_sectors} sectors"
        )));
    }
    let root_sectors = (root_entries * 32).div_ceil(SECTOR as u64);
    let data_start = reserved + fats * fat_sectors + root_sectors;
    if sectors > available {
        return Err(invalid(&format!("the FAT volume has {sectors} sectors, the drive has room for {available}")));
    }
    if data_start >= sectors {
        return Err(invalid(&format!("the FAT volume's data starts at sector {data_start} of {sectors}")));
    }
    let clusters = (sectors - data_start) / cluster_sectors;
    if is_fat32 && !(2..clusters + 2).contains(&double(sector, 0x2c)) {
        return Err(invalid("the FAT32 volume's root directory is outside the volume"));
    }
    let bits = match clusters {
        0..4085 => 12,
        4085..65525 => 16,
        _ => 32,
    };
    if fat_sectors * SECTOR as u64 * 8 / bits < clusters + 2 {
        return Err(invalid(&format!("a FAT of {fat_sectors} sectors is too small for {clusters} clusters")));
    }
    Ok(Layout { start, sectors, fat_start: reserved, fat_end: reserved + fats * fat_sectors, clusters })
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arbitrary_boot_sectors_are_refused_or_lie_within_the_drive_as_recorded() {
        let mut random = sim::SplitMix64::new(3);
        let (mut accepted, mut sum) = (0, 0);
        for _ in 0..50_000 {
            let mut sector = [0u8; SECTOR];
            sector[0x0b..0x0d].copy_from_slice(&512u16.to_le_bytes());
            sector[0x0d] = 1 << random.below(8);
            sector[0x0e] = random.below(4) as u8;
            sector[0x10] = random.below(4) as u8;
            for at in [0x11, 0x13, 0x16, 0x20, 0x21, 0x24, 0x2c] {
                if random.below(2) == 0 {
                    sector[at] = random.draw() as u8;
                    sector[at + 1] = random.below(16) as u8;
                }
            }
            let blocks = 1 + random.below(1 << 20);
            // The first blocks of a drive with partitions.
            let mut partitions = [0; SECTOR];
            for at in [446, 462, 478, 494].map(|at| at + 4) {
                partitions[at] = random.pick(&[0, 1, 4, 6, 0x0b, 0x0c, 0x0e, 0x83]);
                (partitions[at + 4], partitions[at + 9]) = (random.below(4) as u8, random.below(64) as u8);
            }
            let behind = random.below(2) == 0;
            let mut asked = Vec::new();
            let found = find(blocks, |block| {
                asked.push(block);
                Ok(if behind && block == 0 { partitions } else { sector })
            });
            crate::note(&mut sum, (&found, &asked));
            if let Ok(layout) = found {
                accepted += 1;
                assert!(layout.start + layout.sectors <= blocks);
                assert!(layout.fat_start < layout.fat_end && layout.fat_end < layout.sectors);
            }
        }
        assert!(accepted > 100, "{accepted}");
        assert_eq!(sum, 0xf9c8ae589d6722db);
    }

    #[test]
    fn an_empty_drive_says_so() {
        let error = find(8, |_| Ok([0; SECTOR])).unwrap_err();
        assert!(error.to_string().contains("0 bytes per sector"), "{error}");
        assert!(find(0, |_| Ok([0; SECTOR])).is_err());
    }
}
