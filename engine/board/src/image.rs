//! Flash contents from a firmware image, in the form that the microcontroller takes.

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

one_line!(ImageError);

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
