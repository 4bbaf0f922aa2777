//! CRC-32 (reflected, polynomial 0x04c11db7, initial value all ones), which protects the chip's downloads.

/// Continues from `crc`, whose initial value is `!0`; the result is not complemented.
pub(crate) fn update(crc: u32, data: &[u8]) -> u32 {
    data.iter().fold(crc, |crc, &byte| TABLE[((crc ^ u32::from(byte)) & 0xff) as usize] ^ (crc >> 8))
}

pub(crate) fn crc32(data: &[u8]) -> u32 {
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
    fn the_check_value_equals_the_published_one() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
