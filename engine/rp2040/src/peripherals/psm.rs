//! PSM, the power-on state machine (datasheet 2.13).
//!
//! Only core 1, the last in the chain, can be forced off while the rest of the chip runs: that is how programs reset it.

use super::{Peripheral, Write};
use crate::sys::{ResetRequest, Sys};

/// Bits of every PSM register, in the order of the reset sequence.
pub mod bit {
    pub const ROSC: u32 = 1 << 0;
    pub const XOSC: u32 = 1 << 1;
    pub const CLOCKS: u32 = 1 << 2;
    pub const RESETS: u32 = 1 << 3;
    pub const BUSFABRIC: u32 = 1 << 4;
    pub const ROM: u32 = 1 << 5;
    pub const XIP: u32 = 1 << 12;
    pub const VREG_AND_CHIP_RESET: u32 = 1 << 13;
    pub const SIO: u32 = 1 << 14;
    pub const PROC0: u32 = 1 << 15;
    pub const PROC1: u32 = 1 << 16;
    pub const ALL: u32 = 0x0001_ffff;
}

#[derive(Debug, Default)]
pub struct Psm {
    frce_on: u32,
    frce_off: u32,
    wdsel: u32,
}

impl Psm {
    /// What a watchdog reset restarts ([`bit`]). PSM starts again from the first selected block, and every later one
    /// follows it.
    pub fn watchdog_selection(&self) -> u32 {
        self.wdsel
    }
}

impl Peripheral for Psm {
    fn name(&self) -> &'static str {
        "PSM"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x0 => self.frce_on,
            0x4 => self.frce_off,
            0x8 => self.wdsel,
            0xc => bit::ALL & !self.frce_off,
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x0 => self.frce_on = write.apply_masked(self.frce_on, bit::ALL),
            0x4 => {
                let old = self.frce_off;
                self.frce_off = write.apply_masked(old, bit::ALL);
                if (old ^ self.frce_off) & bit::PROC1 != 0 {
                    sys.request_reset(ResetRequest::Core1 { held: self.frce_off & bit::PROC1 != 0 });
                }
                if self.frce_off & !bit::PROC1 != 0 {
                    super::unmodelled(sys, "PSM.FRCE_OFF", offset, Some(self.frce_off));
                }
            }
            0x8 => self.wdsel = write.apply_masked(self.wdsel, bit::ALL),
            _ => {}
        }
    }

    fn reset(&mut self, _sys: &mut Sys) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Alias;
    use super::*;

    #[test]
    fn core_1_is_held_and_released() {
        let mut sys = Sys::new(12_000_000);
        let mut psm = Psm::default();
        assert_eq!(
            (psm.read(&mut sys, 0), psm.read(&mut sys, 4), psm.read(&mut sys, 8), psm.read(&mut sys, 0xc)),
            (0, 0, 0, 0x1_ffff)
        );
        psm.write(&mut sys, 4, Write { bits: bit::PROC1, alias: Alias::Set });
        assert_eq!(sys.reset_request.take(), Some(ResetRequest::Core1 { held: true }));
        assert_eq!(psm.read(&mut sys, 0xc), 0xffff);
        psm.write(&mut sys, 4, Write { bits: bit::PROC1, alias: Alias::Set });
        assert_eq!(sys.reset_request, None);
        psm.write(&mut sys, 4, Write { bits: bit::PROC1, alias: Alias::Clear });
        assert_eq!(sys.reset_request.take(), Some(ResetRequest::Core1 { held: false }));
        psm.write(&mut sys, 8, Write::normal(u32::MAX));
        assert_eq!((psm.watchdog_selection(), sys.unmodelled.clone()), (bit::ALL, None));
        psm.write(&mut sys, 4, Write::normal(bit::ROSC));
        assert!(sys.unmodelled.is_some());
    }
}
