//! The card's registers (chapter 5).

use crate::crc::crc7;
use crate::kind::Capacity;

/// 2.7 to 3.6 V.
const VOLTAGES: u32 = 0x00ff_8000;
const POWERED_UP: u32 = 1 << 31;
const CCS: u32 = 1 << 30;
/// Classes 0, 2, 4, 5, 7, 8 and 10.
const CLASSES: u128 = 0x5b5;

/// Encodes a register, most significant byte first, from fields (highest bit, lowest bit, value), with CRC7 and end
/// bit.
fn register(fields: &[(u32, u32, u128)]) -> [u8; 16] {
    let value = fields.iter().fold(0u128, |all, &(high, low, value)| {
        debug_assert!(value >> (high - low + 1) == 0, "bits {high}:{low}");
        all | value << low
    });
    let mut bytes = value.to_be_bytes();
    bytes[15] = crc7(&bytes[..15]);
    bytes
}

/// OCR (5.1). CCS is valid once the card has powered up.
pub(crate) fn ocr(ready: bool, capacity: Capacity) -> u32 {
    match (ready, capacity) {
        (false, _) => VOLTAGES,
        (true, Capacity::Standard) => VOLTAGES | POWERED_UP,
        (true, Capacity::High) => VOLTAGES | POWERED_UP | CCS,
    }
}

/// CID (5.2): without a manufacturer, since this card is not a real product.
pub(crate) fn cid(serial: u32) -> [u8; 16] {
    let name = u128::from(u64::from_be_bytes(*b"\0\0\0PBENC"));
    register(&[
        (127, 120, 0),
        (119, 104, u128::from(u16::from_be_bytes(*b"PB"))),
        (103, 64, name),
        (63, 56, 0x10), // revision 1.0
        (55, 24, u128::from(serial)),
        (19, 8, 25 << 4 | 5), // 2025-05
    ])
}

/// CSD (5.3): version 1 for SDSC, 2 for SDHC. `blocks`: a multiple of 1024.
pub(crate) fn csd(capacity: Capacity, blocks: u64, write_protected: bool) -> [u8; 16] {
    let blocks = u128::from(blocks);
    let common = [
        (103, 96, 0x32), // 25 MHz
        (95, 84, CLASSES),
        (46, 46, 1),    // single blocks can be erased
        (45, 39, 0x7f), // of 64 KiB
        (28, 26, 2),    // writes are typically 4 times as slow as reads
        (13, 13, 0),
        (12, 12, u128::from(write_protected)),
    ];
    let own = match capacity {
        Capacity::High => {
            let units = blocks / 1024;
            vec![(127, 126, 1), (119, 112, 0x0e), (83, 80, 9), (69, 48, units.saturating_sub(1)), (25, 22, 9)]
        }
        Capacity::Standard => {
            // Units of 512 blocks; blocks of 1024 bytes above 1 GB.
            let length = if blocks <= 4096 * 512 { 9 } else { 10 };
            let units = (blocks / 512) >> (length - 9);
            let size = units.saturating_sub(1);
            let own = [(119, 112, 0x26), (83, 80, length), (79, 79, 1), (73, 62, size), (49, 47, 7), (25, 22, length)];
            own.to_vec()
        }
    };
    register(&[&common[..], &own[..]].concat())
}

/// Returns the most blocks that the card's addressing can reach and its CSD can express.
pub(crate) fn most_blocks(capacity: Capacity) -> u64 {
    match capacity {
        Capacity::Standard => 4096 * 1024,
        Capacity::High => 32 << 21,
    }
}

/// SCR (5.6): specification 2.00.
pub(crate) fn scr(capacity: Capacity) -> [u8; 8] {
    let security = match capacity {
        Capacity::Standard => 2,
        Capacity::High => 3,
    };
    [0x02, security << 4 | 5, 0, 0, 0, 0, 0, 0]
}

/// SD status (4.10.2): speed class 10, allocation units of 4 MB.
pub(crate) fn sd_status() -> [u8; 64] {
    let mut status = [0; 64];
    (status[8], status[10]) = (4, 9 << 4);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C_SIZE, from which drivers compute the capacity (5.3.2, 5.3.3).
    #[test]
    fn drivers_compute_the_number_of_blocks() {
        for blocks in [1024, 128 << 11, 2 << 21, 62_500_000 / 1024 * 1024, 32 << 21] {
            let csd = csd(Capacity::High, blocks, false);
            let c_size = u64::from(csd[7] & 0x3f) << 16 | u64::from(csd[8]) << 8 | u64::from(csd[9]);
            assert_eq!(((c_size + 1) * 1024, csd[0] >> 6), (blocks, 1));
        }
        for blocks in [1024, 16 << 11, 1 << 21, 3_905_536, 2 << 21] {
            let csd = csd(Capacity::Standard, blocks, false);
            let c_size = u64::from(csd[6] & 3) << 10 | u64::from(csd[7]) << 2 | u64::from(csd[8]) >> 6;
            let mult = (csd[9] & 3) << 1 | csd[10] >> 7;
            let bytes = ((c_size + 1) << (mult + 2)) << (csd[5] & 15);
            assert_eq!((bytes / 512, csd[0] >> 6), (blocks, 0));
        }
    }

    #[test]
    fn write_protection_is_reported() {
        assert_eq!([false, true].map(|on| csd(Capacity::High, 1024, on)[14]), [0x00, 0x10]);
    }
}
