//! Whether what the host loaded would run: the firmware's own CRC and the NVRAM's size word.
//!
//! A firmware ends with a line of text, `43439a0-... Version: 7.95.61 (...) CRC: 4528a809 Date: ...`. The CRC is that of all
//! bytes before a block of some 40 bytes with a key in front of that line. A chip loaded otherwise runs into the hole and
//! never raises its high clock; one without a sound NVRAM does not either.

use crate::crc;

/// The longest trailer that is looked for, and the block in front of its text.
const TRAILER: usize = 2048;
const KEY_BLOCK: usize = 64;

/// What runs, or why nothing does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firmware {
    /// The line of text, as the variable `ver` gives it.
    pub version: String,
}

/// `ram` is all of it; `loaded` the end of what the host wrote from address 0 on without a hole.
pub fn check(ram: &[u8], loaded: usize) -> Result<Firmware, String> {
    check_nvram(ram)?;
    let (start, text) = trailer(&ram[..loaded]).ok_or("the firmware's download has no end: its version is missing")?;
    let wanted = field(&text, "CRC: ").and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let wanted = wanted.ok_or("the firmware's version line has no CRC")?;
    let first = start.saturating_sub(KEY_BLOCK);
    let mut sum = crc::update(!0, &ram[..first]);
    for &byte in &ram[first..start] {
        if sum == wanted {
            break;
        }
        sum = crc::update(sum, &[byte]);
    }
    if sum != wanted {
        return Err(format!("the firmware's CRC is not its {wanted:08x}: its download is torn"));
    }
    Ok(Firmware { version: text })
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split_once(name)?.1.split_whitespace().next()
}

/// The last line of text with a version in it, and where it starts.
fn trailer(loaded: &[u8]) -> Option<(usize, String)> {
    const MARK: &[u8] = b"Version: ";
    let from = loaded.len().saturating_sub(TRAILER);
    let at = from + loaded[from..].windows(MARK.len()).rposition(|window| window == MARK)?;
    let start = loaded[..at].iter().rposition(|&byte| byte == 0).map_or(0, |zero| zero + 1);
    let end = at + loaded[at..].iter().position(|&byte| byte == 0)?;
    Some((start, String::from_utf8(loaded[start..end].to_vec()).ok()?))
}

/// The last word of RAM has the NVRAM's length in words, and its complement above; the NVRAM lies before it.
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
