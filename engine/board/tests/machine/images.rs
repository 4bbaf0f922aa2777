//! Files with images, and what they put into flash.

use portbench_engine::mcu::{ATMEGA1284P, ATMEGA2560, Image, RP2040, RP2350};
use portbench_engine::{flash_of_image, flash_of_uf2};

/// UF2's flag of a block that names its family.
const FAMILY_PRESENT: u32 = 0x2000;
/// ELF's number of AVR.
const EM_AVR: u16 = 83;
const UF2_FAMILY: u32 = 0xe48b_ff56;
const XIP_BASE: u32 = RP2040.flash_base;

fn block(address: u32, family: u32, data: &[u8]) -> Vec<u8> {
    let head = [0x0a32_4655, 0x9e5d_5157, FAMILY_PRESENT, address, data.len() as u32, 0, 1, family];
    let mut block: Vec<u8> = head.into_iter().flat_map(u32::to_le_bytes).chain(data.iter().copied()).collect();
    block.resize(508, 0);
    block.extend(0x0ab1_6f30u32.to_le_bytes());
    block
}

#[test]
fn blocks_go_to_their_addresses() {
    let file = [block(XIP_BASE + 4, UF2_FAMILY, &[1, 2]), block(XIP_BASE, UF2_FAMILY, &[3])].concat();
    assert_eq!(flash_of_uf2(&RP2040, &file).expect("a valid file"), [3, 0xff, 0xff, 0xff, 1, 2]);
}

#[test]
fn a_block_that_the_boot_loader_skips_is_skipped() {
    let Image::Uf2 { families, ignored: Some((ignored, address)) } = RP2350.image else { panic!("erratum RP2350-E10") };
    let file = [block(address, ignored, &[1]), block(XIP_BASE, families[0], &[2])].concat();
    assert_eq!(flash_of_uf2(&RP2350, &file).expect("a valid file"), [2]);
    let file = block(XIP_BASE, ignored, &[3]);
    assert_eq!(flash_of_uf2(&RP2350, &file).expect("a file for fixed addresses"), [3]);
}

#[test]
fn blocks_of_other_families_are_skipped() {
    let file = [block(XIP_BASE, 1, &[1]), block(XIP_BASE, UF2_FAMILY, &[2])].concat();
    assert_eq!(flash_of_uf2(&RP2040, &file).expect("a file of two images"), [2]);
}

#[test]
fn files_that_are_no_uf2_are_refused() {
    for (file, says) in [
        (vec![0; 511], "511 bytes are no UF2 file"),
        (vec![0; 512], "block 0 is not of a UF2 file"),
        (block(XIP_BASE, 1, &[0]), "block 0 is for family 0x00000001"),
        (block(XIP_BASE - 1, UF2_FAMILY, &[0]), "which is not in flash"),
    ] {
        let error = flash_of_uf2(&RP2040, &file).expect_err("a faulty file").to_string();
        assert!(error.contains(says), "{error}");
    }
}

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
