//! Flash contents from a UF2 file (<https://github.com/microsoft/uf2>).

use crate::mcu::{Facts, Image};

const BLOCK_BYTES: usize = 512;
const DATA_AT: usize = 32;
const MOST_DATA_BYTES: usize = 476;
/// Address space of the flash.
const MOST_FLASH_BYTES: usize = 16 << 20;
const NOT_MAIN_FLASH: u32 = 1;
const FAMILY_PRESENT: u32 = 0x2000;

/// An unusable UF2 file: one line that names the block and the value.
#[derive(Debug)]
pub struct Uf2Error(String);

one_line!(Uf2Error);

/// Returns the contents of the flash of `mcu` from its start, 0xff between the file's blocks.
pub fn flash_of_uf2(mcu: &Facts, file: &[u8]) -> Result<Vec<u8>, Uf2Error> {
    let Image::Uf2 { families: wanted, ignored } = mcu.image else {
        return Err(Uf2Error(format!("the {} takes no UF2 files; use Intel HEX or ELF", mcu.name)));
    };
    let (mut flash, mut other) = (Vec::new(), None);
    if file.is_empty() || !file.len().is_multiple_of(BLOCK_BYTES) {
        return Err(Uf2Error(format!("{} bytes are no UF2 file: its size is a multiple of 512", file.len())));
    }
    for (number, block) in file.chunks_exact(BLOCK_BYTES).enumerate() {
        let word = |at: usize| u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
        let (flags, address, size, family) = (word(8), word(12), word(16) as usize, word(28));
        if (word(0), word(4), word(508)) != (0x0a32_4655, 0x9e5d_5157, 0x0ab1_6f30) {
            return Err(Uf2Error(format!("block {number} is not of a UF2 file: its magic numbers are missing")));
        }
        if flags & NOT_MAIN_FLASH != 0 {
            continue;
        }
        if ignored == Some((family, address)) {
            continue;
        }
        if flags & FAMILY_PRESENT != 0 && !wanted.contains(&family) {
            other.get_or_insert((number, family));
            continue;
        }
        let start = address.wrapping_sub(mcu.flash_base) as usize;
        if size > MOST_DATA_BYTES || start > MOST_FLASH_BYTES - size {
            return Err(Uf2Error(format!(
                "block {number} has {size} bytes for 0x{address:08x}, which is not in flash"
            )));
        }
        flash.resize(flash.len().max(start + size), 0xff);
        flash[start..start + size].copy_from_slice(&block[DATA_AT..DATA_AT + size]);
    }
    // As the boot loader, which passes over blocks of other families.
    if let (true, Some((number, family))) = (flash.is_empty(), other) {
        let wanted: Vec<_> = wanted.iter().map(|family| format!("0x{family:08x}")).collect();
        let wanted = wanted.join(" or ");
        return Err(Uf2Error(format!(
            "block {number} is for family 0x{family:08x}; use one for {wanted}, the {}",
            mcu.name
        )));
    }
    Ok(flash)
}
