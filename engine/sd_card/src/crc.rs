//! The checksums of the SD bus (4.5).

/// CRC7, G(x) = x^7 + x^3 + 1, over commands and registers; shifted left, with the end bit, as their last byte.
pub fn crc7(bytes: &[u8]) -> u8 {
    let mut crc = 0u8;
    for &byte in bytes {
        crc ^= byte;
        for _ in 0..8 {
            crc = if crc & 0x80 != 0 { (crc << 1) ^ (0x09 << 1) } else { crc << 1 };
        }
    }
    crc | 1
}

/// CRC16, G(x) = x^16 + x^12 + x^5 + 1, over data blocks.
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = (index as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 != 0 { (crc << 1) ^ 0x1021 } else { crc << 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of 4.5.
    #[test]
    fn match_the_specification() {
        assert_eq!(crc7(&[0x40, 0, 0, 0, 0]), 0b1001010 << 1 | 1);
        assert_eq!(crc7(&[0x51, 0, 0, 0, 0]), 0b0101010 << 1 | 1);
        assert_eq!(crc7(&[0x11, 0, 0, 9, 0]), 0b0110011 << 1 | 1);
        assert_eq!(crc16(&[0xff; 512]), 0x7fa1);
    }
}
