//! Checks whether the host's download would run: the firmware's CRC and the NVRAM's size word.
//!
//! A firmware ends with a line of text, `43439a0-... Version: 7.95.61 (...) CRC: 4528a809 Date: ...`. The CRC covers
//! all bytes before a block of some 40 bytes with a key in front of that line. A chip with a gap in its firmware
//! crashes and never requests its high clock; without a valid NVRAM it does not either.

use crc32fast::Hasher;
use sim::Snapshot;

/// The longest trailer searched, including the block in front of its text.
const TRAILER: usize = 2048;
const KEY_BLOCK: usize = 64;

/// Firmware that passed the check.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub(crate) struct Firmware {
    /// The line of text, as returned by the variable `ver`.
    pub(crate) version: String,
}

/// Checks all of `ram`; `loaded` is the end of what the host wrote contiguously from address 0.
pub(crate) fn check(ram: &[u8], loaded: usize) -> Result<Firmware, String> {
    check_nvram(ram)?;
    let (start, text) =
        trailer(&ram[..loaded]).ok_or("the firmware has no version line: its download is incomplete")?;
    let wanted = field(&text, "CRC: ").and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let wanted = wanted.ok_or("the firmware's version line has no CRC")?;
    let first = start.saturating_sub(KEY_BLOCK);
    let mut sum = Hasher::new();
    sum.update(&ram[..first]);
    // Unlike CRC-32's, this result is not complemented.
    let matches = |sum: &Hasher| !sum.clone().finalize() == wanted;
    for &byte in &ram[first..start] {
        if matches(&sum) {
            break;
        }
        sum.update(&[byte]);
    }
    if !matches(&sum) {
        return Err(format!("the firmware does not match its CRC {wanted:08x}: its download is corrupt"));
    }
    Ok(Firmware { version: text })
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split_once(name)?.1.split_whitespace().next()
}

/// Returns the last line of text that contains a version, and its start.
fn trailer(loaded: &[u8]) -> Option<(usize, String)> {
    const MARK: &[u8] = b"Version: ";
    let from = loaded.len().saturating_sub(TRAILER);
    let at = from + loaded[from..].windows(MARK.len()).rposition(|window| window == MARK)?;
    let start = loaded[..at].iter().rposition(|&byte| byte == 0).map_or(0, |zero| zero + 1);
    let end = at + loaded[at..].iter().position(|&byte| byte == 0)?;
    Some((start, String::from_utf8(loaded[start..end].to_vec()).ok()?))
}

/// Checks the NVRAM. The last word of RAM holds its length in words, and the complement in the upper half; the NVRAM
/// lies before it.
fn check_nvram(ram: &[u8]) -> Result<(), String> {
    let end = ram.len() - 4;
    let size = u32::from_le_bytes([ram[end], ram[end + 1], ram[end + 2], ram[end + 3]]);
    let words = size & 0xffff;
    if size >> 16 != !words & 0xffff || words == 0 {
        return Err(format!("the NVRAM's size word is 0x{size:08x}, whose halves are not each other's complements"));
    }
    let nvram = &ram[end.saturating_sub(words as usize * 4)..end];
    if !nvram.split(|&byte| byte == 0).any(|line| line.contains(&b'=')) {
        return Err("the NVRAM has no line NAME=VALUE".into());
    }
    Ok(())
}
