//! CRC-32 (reflected, polynomial 0x04c11db7, begun with all ones), which protects what the chip is loaded with.

/// Goes on from `crc`, which begins as `!0`; not complemented at the end.
pub fn update(crc: u32, data: &[u8]) -> u32 {
    data.iter().fold(crc, |crc, &byte| TABLE[((crc ^ u32::from(byte)) & 0xff) as usize] ^ (crc >> 8))
}

pub fn crc32(data: &[u8]) -> u32 {
    !update(!0, data)
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 != 0 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_value_is_that_of_the_catalogue_of_crcs() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
