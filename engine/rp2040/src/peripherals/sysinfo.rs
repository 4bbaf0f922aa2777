//! SYSINFO: chip identification (datasheet 2.20).

use super::{Peripheral, Write};
use crate::sys::Sys;
use serde::{Deserialize, Serialize};

/// Revision 2 (B2, as on W5500-EVB-Pico), part 0x0002, manufacturer 0x927. With revision 1 (B0, B1) firmware would work
/// around erratum RP2040-E5 at every enumeration.
pub(crate) const CHIP_ID: u32 = 0x2000_2927;
const PLATFORM_ASIC: u32 = 1 << 1;
/// Git hash of the chip's source as read from silicon.
const GITREF_RP2040: u32 = 0xe0c9_12e8;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sysinfo {}

impl Peripheral for Sysinfo {
    fn name(&self) -> &'static str {
        "SYSINFO"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 => CHIP_ID,
            0x04 => PLATFORM_ASIC,
            0x40 => GITREF_RP2040,
            _ => 0,
        }
    }

    fn write(&mut self, _sys: &mut Sys, _offset: u32, _write: Write) {}

    fn reset(&mut self, _sys: &mut Sys) {}
}
