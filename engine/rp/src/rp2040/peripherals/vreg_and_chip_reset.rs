//! VREG_AND_CHIP_RESET: voltage regulator, brown-out detector and the cause of the last chip reset (datasheet 2.10,
//! 2.12).
//!
//! The core voltage has no effect: the regulator is always in regulation while enabled, and there is no brown-out. The
//! RUN pin is not connected, so every reset of the whole chip is a power-on.

use super::{Peripheral, Write};
use chip::Sys;
use sim::Snapshot;

const ROK: u32 = 1 << 12;
const HAD_POR: u32 = 1 << 8;

#[derive(Debug, Snapshot)]
pub(crate) struct VregAndChipReset {
    vreg: u32,
    bod: u32,
}

impl Default for VregAndChipReset {
    fn default() -> Self {
        Self { vreg: 0xb1, bod: 0x91 }
    }
}

impl Peripheral for VregAndChipReset {
    fn name(&self) -> &'static str {
        "VREG_AND_CHIP_RESET"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x0 => self.vreg | if self.vreg & 1 != 0 { ROK } else { 0 },
            0x4 => self.bod,
            0x8 => HAD_POR,
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x0 => {
                self.vreg = write.apply_masked(self.vreg, 0xf3);
                if self.vreg & 3 != 1 {
                    super::unmodelled(sys, "VREG_AND_CHIP_RESET.VREG (core supply off)", offset, Some(self.vreg));
                }
            }
            0x4 => self.bod = write.apply_masked(self.bod, 0xf1),
            // PSM_RESTART_FLAG is only set by a debugger, so there is nothing to clear.
            _ => {}
        }
    }

    fn reset(&mut self, _sys: &mut Sys) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers() {
        let mut sys = crate::rp2040::wires::sys(12_000_000);
        let mut vreg = VregAndChipReset::default();
        assert_eq!((vreg.read(&mut sys, 0), vreg.read(&mut sys, 4), vreg.read(&mut sys, 8)), (0x10b1, 0x91, HAD_POR));
        vreg.write(&mut sys, 0, Write::normal(0xfff1));
        assert_eq!(vreg.read(&mut sys, 0), 0x10f1);
        vreg.reset(&mut sys);
        assert_eq!((vreg.read(&mut sys, 0), vreg.read(&mut sys, 8), sys.unmodelled), (0x10b1, HAD_POR, None));
    }
}
