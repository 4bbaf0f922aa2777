//! Serial flash discoverable parameters (JESD216A), from which a program learns the chip's size.

/// Address of the basic parameter table.
const SFDP_TABLE: usize = 0x80;
/// SFDP header and the only parameter header (JESD216A), as the chip returns them.
const SFDP_HEADER: [u32; 4] = [0x5044_4653, 0xff00_0105, 0x1001_0500, 0xff00_0080];
/// Basic flash parameters of the W25Q16JV. Word 1 is the density in bits less one.
const SFDP_PARAMETERS: [u32; 16] = [
    0xfff9_20e5,
    0x00ff_ffff,
    0x6b08_eb44,
    0xbb42_3b08,
    0xffff_fffe,
    0x0000_ffff,
    0xeb40_ffff,
    0x520f_200c,
    0x0000_d810,
    0x00a6_0236,
    0xb314_ea82,
    0x3376_63e9,
    0x757a_757a,
    0x5cd5_a2f7,
    0xff4d_f719,
    0x80f8_30e9,
];

/// Returns the byte at address `at`; `flash_size` in bytes.
pub(crate) fn byte(at: u32, flash_size: usize) -> u8 {
    let at = at as usize;
    let word = match at / 4 {
        i @ 0..4 => SFDP_HEADER[i],
        33 => (flash_size * 8 - 1) as u32,
        i @ 32..48 => SFDP_PARAMETERS[i - SFDP_TABLE / 4],
        _ => return 0xff,
    };
    word.to_le_bytes()[at % 4]
}
