//! Flash contents from a firmware image, in the form that the microcontroller takes.

use std::fmt;

use ihex::Record;
use object::read::elf::ElfFile32;
use object::{Endianness, Object, ObjectSegment};

use crate::mcu::{Facts, Image};
use crate::uf2::flash_of_uf2;

/// First address of an AVR ELF file that is not flash: SRAM, EEPROM and fuses follow.
const BEHIND_FLASH: u64 = 0x80_0000;
const ELF_MAGIC: &[u8] = b"\x7fELF";
/// `e_machine` of AVR.
const EM_AVR: u16 = 83;

/// An unusable image: one line that names the fault and the value.
#[derive(Debug)]
pub struct ImageError(String);

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ImageError {}

/// Returns the contents of the flash of `mcu` from its start, 0xff between the parts of `file`: UF2, Intel HEX or ELF.
pub fn flash_of_image(mcu: &Facts, file: &[u8]) -> Result<Vec<u8>, ImageError> {
    match mcu.image {
        Image::Uf2 { .. } => flash_of_uf2(mcu, file).map_err(|error| ImageError(error.to_string())),
        Image::HexOrElf if file.starts_with(ELF_MAGIC) => flash_of_elf(mcu, file),
        Image::HexOrElf => flash_of_hex(mcu, file),
    }
}

/// Puts `data` at `start`.
fn place(mcu: &Facts, flash: &mut Vec<u8>, start: u64, data: &[u8]) -> Result<(), ImageError> {
    let end = start.saturating_add(data.len() as u64);
    if end > mcu.flash_bytes.1 as u64 {
        let (most, name) = (mcu.flash_bytes.1, mcu.name);
        let len = data.len();
        return Err(ImageError(format!("{len} bytes for 0x{start:x}: the {name} has {most} bytes of flash")));
    }
    flash.resize(flash.len().max(end as usize), 0xff);
    flash[start as usize..end as usize].copy_from_slice(data);
    Ok(())
}

fn flash_of_hex(mcu: &Facts, file: &[u8]) -> Result<Vec<u8>, ImageError> {
    let text = std::str::from_utf8(file)
        .map_err(|_| ImageError(format!("is neither Intel HEX nor ELF; the {} takes these", mcu.name)))?;
    let (mut flash, mut base, mut ended) = (Vec::new(), 0, false);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let record = Record::from_record_string(line)
            .map_err(|error| ImageError(format!("line {} is no record of Intel HEX: {error}", number + 1)))?;
        match record {
            Record::Data { offset, value } => place(mcu, &mut flash, base + u64::from(offset), &value)?,
            Record::ExtendedSegmentAddress(segment) => base = u64::from(segment) << 4,
            Record::ExtendedLinearAddress(high) => base = u64::from(high) << 16,
            Record::EndOfFile => {
                ended = true;
                break;
            }
            Record::StartSegmentAddress { .. } | Record::StartLinearAddress(_) => {}
        }
    }
    if ended { Ok(flash) } else { Err(ImageError("has no end record of Intel HEX: it was cut off".into())) }
}

fn flash_of_elf(mcu: &Facts, file: &[u8]) -> Result<Vec<u8>, ImageError> {
    let fault = |error: object::Error| ImageError(format!("is a faulty ELF file: {error}"));
    let elf = ElfFile32::<Endianness>::parse(file).map_err(fault)?;
    let machine = elf.elf_header().e_machine.get(elf.endian());
    if machine != EM_AVR {
        return Err(ImageError(format!("is an ELF file for machine {machine}; use one for AVR, {EM_AVR}")));
    }
    let mut flash = Vec::new();
    for segment in elf.segments() {
        // The address that a programmer writes to: initial values of data lie behind the code.
        let start = u64::from(segment.elf_program_header().p_paddr.get(elf.endian()));
        let data = segment.data().map_err(fault)?;
        if start < BEHIND_FLASH && !data.is_empty() {
            place(mcu, &mut flash, start, data)?;
        }
    }
    Ok(flash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcu::{ATMEGA1284P, ATMEGA2560};

    #[test]
    fn records_go_to_their_addresses() {
        let hex = b":02000004000100F9\n:020000000C94\x35E\n";
        assert!(flash_of_image(&ATMEGA2560, hex).is_err());
        let hex = b":020000040001F9\r\n:020002000C945C\r\n:00000001FF\r\n";
        let flash = flash_of_image(&ATMEGA2560, hex).expect("a valid file");
        assert_eq!((flash.len(), &flash[0x1_0000..]), (0x1_0004, &[0xff, 0xff, 0x0c, 0x94][..]));
    }

    /// Returns an ELF file of an AVR whose segments are at these addresses for a programmer.
    fn elf(segments: &[(u32, &[u8])]) -> Vec<u8> {
        let heads = 52 + 32 * segments.len() as u32;
        let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        file.extend([2u16, EM_AVR].map(u16::to_le_bytes).concat());
        file.extend([1u32, 0, 52, 0, 0].map(u32::to_le_bytes).concat());
        file.extend([52u16, 32, segments.len() as u16, 40, 0, 0].map(u16::to_le_bytes).concat());
        let mut offset = heads;
        for &(address, data) in segments {
            let len = data.len() as u32;
            // PT_LOAD; the address at run time is another one for initial values of data.
            file.extend([1, offset, 0x80_0100, address, len, len, 5, 1].map(u32::to_le_bytes).concat());
            offset += len;
        }
        segments.iter().for_each(|(_, data)| file.extend(*data));
        file
    }

    #[test]
    fn segments_of_an_elf_file_go_where_a_programmer_puts_them() {
        let (code, data, eeprom) = ([0x0c, 0x94], [7, 8, 9], [1]);
        let file = elf(&[(0, &code), (4, &data), (0x81_0000, &eeprom)]);
        let flash = flash_of_image(&ATMEGA2560, &file).expect("a valid file");
        assert_eq!(flash, [0x0c, 0x94, 0xff, 0xff, 7, 8, 9]);
        let mut other = file.clone();
        other[18] = 40;
        let error = flash_of_image(&ATMEGA2560, &other).expect_err("of an Arm").to_string();
        assert_eq!(error, "is an ELF file for machine 40; use one for AVR, 83");
        let error = flash_of_image(&ATMEGA2560, &file[..file.len() - 6]).expect_err("cut off").to_string();
        assert!(error.starts_with("is a faulty ELF file: "), "{error}");
        let error = flash_of_image(&ATMEGA2560, &elf(&[(0x3_ffff, &code)])).expect_err("too long").to_string();
        assert_eq!(error, "2 bytes for 0x3ffff: the ATmega2560 has 262144 bytes of flash");
    }

    #[test]
    fn other_files_are_refused() {
        for (file, says) in [
            (&b":020002000C945C\n"[..], "has no end record"),
            (b":020002000C945D\n:00000001FF\n", "line 1 is no record of Intel HEX"),
            (b":020000040002F8\n:020002000C945C\n:00000001FF\n", "has 131072 bytes of flash"),
            (&[0xff, 0xfe], "is neither Intel HEX nor ELF"),
            (b"\x7fELF", "is a faulty ELF file"),
        ] {
            let error = flash_of_image(&ATMEGA1284P, file).expect_err("a faulty file").to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
