//! SYSINFO: chip identification (datasheet 12.15.1).

use super::{Peripheral, Write};
use crate::sys::Sys;
use serde::{Deserialize, Serialize};

/// Revision 2 (A2), part 0x0004, manufacturer 0x493.
pub(crate) const CHIP_ID: u32 = 0x2000_4927;
/// RP2350A, in the package with 60 pins.
const PACKAGE_SEL: u32 = 1;
const PLATFORM_ASIC: u32 = 1 << 1;

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Sysinfo {}

impl Peripheral for Sysinfo {
    fn name(&self) -> &'static str {
        "SYSINFO"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 => CHIP_ID,
            0x04 => PACKAGE_SEL,
            0x08 => PLATFORM_ASIC,
            // GITREF_RP2350, whose value on silicon is not published.
            _ => 0,
        }
    }

    fn write(&mut self, _sys: &mut Sys, _offset: u32, _write: Write) {}

    fn reset(&mut self, _sys: &mut Sys) {}
}
