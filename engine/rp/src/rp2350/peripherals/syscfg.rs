//! SYSCFG: miscellaneous settings of the processors and memories (datasheet 12.15.2).
//!
//! The bypass of input synchronisers, the debug port's pins and AUXCTRL have no effect in the model. Powered-down
//! memories are not modelled.

use super::{Peripheral, Write, unmodelled};
use chip::Sys;
use sim::Snapshot;

#[derive(Debug, Snapshot)]
pub struct Syscfg {
    in_sync_bypass: [u32; 2],
    dbgforce: u32,
    mempowerdown: u32,
    auxctrl: u32,
}

impl Default for Syscfg {
    fn default() -> Self {
        Self { in_sync_bypass: [0; 2], dbgforce: 6, mempowerdown: 0, auxctrl: 0 }
    }
}

impl Peripheral for Syscfg {
    fn name(&self) -> &'static str {
        "SYSCFG"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x04 | 0x08 => self.in_sync_bypass[(offset / 4 - 1) as usize],
            0x0c => self.dbgforce,
            0x10 => self.mempowerdown,
            0x14 => self.auxctrl,
            // PROC_CONFIG: a core that reads it is not halted.
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x04 => self.in_sync_bypass[0] = write.apply(self.in_sync_bypass[0]),
            0x08 => self.in_sync_bypass[1] = write.apply_masked(self.in_sync_bypass[1], 0xff00_ffff),
            0x0c => self.dbgforce = write.apply_masked(self.dbgforce, 0xe),
            0x10 => {
                self.mempowerdown = write.apply_masked(self.mempowerdown, 0x1fff);
                if self.mempowerdown != 0 {
                    unmodelled(sys, "SYSCFG.MEMPOWERDOWN", offset, Some(self.mempowerdown));
                }
            }
            0x14 => self.auxctrl = write.apply_masked(self.auxctrl, 0xff),
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
    fn reset_values_and_masks() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut syscfg = Syscfg::default();
        for (offset, value, written) in
            [(0x00, 0, 0), (0x04, 0, u32::MAX), (0x08, 0, 0xff00_ffff), (0x0c, 6, 0xe), (0x14, 0, 0xff), (0x18, 0, 0)]
        {
            assert_eq!(syscfg.read(&mut sys, offset), value);
            syscfg.write(&mut sys, offset, Write::normal(u32::MAX));
            assert_eq!(syscfg.read(&mut sys, offset), written);
        }
        assert_eq!(sys.unmodelled, None);
        syscfg.write(&mut sys, 0x10, Write::normal(1));
        assert!(sys.unmodelled.is_some());
    }
}
