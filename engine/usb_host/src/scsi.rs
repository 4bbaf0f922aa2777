//! SCSI commands and their data (SPC-4, SBC-3; the subset that a PC sends to a flash drive).

use sim::Snapshot;

pub(crate) const TEST_UNIT_READY: u8 = 0x00;
pub(crate) const REQUEST_SENSE: u8 = 0x03;
pub(crate) const INQUIRY: u8 = 0x12;
pub(crate) const MODE_SENSE_6: u8 = 0x1a;
pub(crate) const START_STOP_UNIT: u8 = 0x1b;
pub(crate) const READ_CAPACITY_10: u8 = 0x25;
pub(crate) const READ_10: u8 = 0x28;
pub(crate) const WRITE_10: u8 = 0x2a;

pub(crate) const INQUIRY_LENGTH: usize = 36;
pub(crate) const SENSE_LENGTH: usize = 18;
pub(crate) const CAPACITY_LENGTH: usize = 8;
/// Length of mode pages: a PC requests 192 bytes, because some drives mishandle a request for the four bytes it needs.
pub(crate) const MODE_LENGTH: usize = 192;

/// A six-byte command without a data address.
pub(crate) fn six(opcode: u8, allocation: u8) -> Vec<u8> {
    vec![opcode, 0, 0, 0, allocation, 0]
}

/// MODE SENSE(6) for all pages (page code 0x3f).
pub(crate) fn mode_sense() -> Vec<u8> {
    vec![MODE_SENSE_6, 0, 0x3f, 0, MODE_LENGTH as u8, 0]
}

/// START STOP UNIT: eject (LOEJ = 1, START = 0).
pub(crate) fn eject() -> Vec<u8> {
    six(START_STOP_UNIT, 0x02)
}

/// A ten-byte command with a block address and a block count.
pub(crate) fn ten(opcode: u8, lba: u32, blocks: u16) -> Vec<u8> {
    let (a, n) = (lba.to_be_bytes(), blocks.to_be_bytes());
    vec![opcode, 0, a[0], a[1], a[2], a[3], 0, n[0], n[1], 0]
}

/// Sense data of a failed command (SPC-4 section 4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Snapshot)]
pub struct Sense {
    pub(crate) key: u8,
    /// Additional sense code and its qualifier.
    pub(crate) asc: u8,
    pub(crate) ascq: u8,
}

pub(crate) const KEY_NOT_READY: u8 = 0x2;
pub(crate) const KEY_ILLEGAL_REQUEST: u8 = 0x5;
pub(crate) const KEY_UNIT_ATTENTION: u8 = 0x6;
pub(crate) const KEY_DATA_PROTECT: u8 = 0x7;
pub(crate) const ASC_MEDIUM_NOT_PRESENT: u8 = 0x3a;

/// Parses fixed-format sense data; anything else counts as "no sense".
pub(crate) fn parse_sense(data: &[u8]) -> Sense {
    match *data {
        [code, _, key, ..] if matches!(code & 0x7f, 0x70 | 0x71) => {
            Sense { key: key & 0x0f, asc: data.get(12).copied().unwrap_or(0), ascq: data.get(13).copied().unwrap_or(0) }
        }
        _ => Sense::default(),
    }
}

/// INQUIRY's standard data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Snapshot)]
pub struct Inquiry {
    /// The medium can be removed (RMB).
    pub removable: bool,
    /// VENDOR IDENTIFICATION, without trailing spaces.
    pub vendor: String,
    /// PRODUCT IDENTIFICATION, without trailing spaces.
    pub product: String,
    /// PRODUCT REVISION LEVEL, without trailing spaces.
    pub revision: String,
}

pub(crate) fn parse_inquiry(data: &[u8]) -> Inquiry {
    let text = |from: usize, to: usize| {
        let bytes = data.get(from..to.min(data.len())).unwrap_or(&[]);
        let text: String = bytes.iter().map(|&b| if (0x20..0x7f).contains(&b) { char::from(b) } else { ' ' }).collect();
        text.trim().to_string()
    };
    Inquiry {
        removable: data.get(1).is_some_and(|b| b & 0x80 != 0),
        vendor: text(8, 16),
        product: text(16, 32),
        revision: text(32, 36),
    }
}

/// Number of blocks and block size from READ CAPACITY(10).
pub(crate) fn parse_capacity(data: &[u8]) -> Option<(u64, u32)> {
    let word = |at: usize| Some(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?));
    let (last, size) = (word(0)?, word(4)?);
    // 0xffffffff means that READ CAPACITY(16) would be needed; no full-speed drive has 2 TiB.
    (last != u32::MAX && matches!(size, 512 | 1024 | 2048 | 4096)).then_some((u64::from(last) + 1, size))
}

/// The WP bit of MODE SENSE(6)'s header (SBC-3 section 6.4.1); missing data means writable.
pub(crate) fn parse_write_protected(data: &[u8]) -> bool {
    data.get(2).is_some_and(|b| b & 0x80 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_big_endian() {
        assert_eq!(ten(READ_10, 0x0102_0304, 0x0506), [0x28, 0, 1, 2, 3, 4, 0, 5, 6, 0]);
        assert_eq!(eject(), [0x1b, 0, 0, 0, 2, 0]);
    }

    #[test]
    fn answers_of_any_length_parse_as_recorded() {
        let (mut random, mut sum) = (sim::SplitMix64::new(2), 0);
        for _ in 0..10_000 {
            let mut data: Vec<u8> = (0..random.below(64)).map(|_| random.draw() as u8).collect();
            if data.len() >= 8 && random.one_in(2) {
                data[0] = random.pick(&[0x70, 0xf1, 0xff, 0x72]);
                (data[4], data[5], data[6], data[7]) = (0, 0, random.pick(&[1, 2, 4, 8, 16, 32]), 0);
            }
            crate::note(&mut sum, (parse_sense(&data), parse_inquiry(&data), parse_write_protected(&data)));
            crate::note(&mut sum, parse_capacity(&data));
        }
        assert_eq!(sum, 0x1e105ff54467b7b2);
        assert_eq!([mode_sense(), six(INQUIRY, 36)], [[0x1a, 0, 0x3f, 0, 192, 0], [0x12, 0, 0, 0, 36, 0]]);
        assert_eq!(parse_capacity(&[0, 0, 7, 0xd7, 0, 0, 2, 0]), Some((2008, 512)));
        assert_eq!(parse_capacity(&[0xff; 8]), None);
        let sense = parse_sense(&[0x70, 0, 2, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x3a, 0, 0, 0, 0, 0]);
        assert_eq!(sense, Sense { key: 2, asc: 0x3a, ascq: 0 });
    }
}
