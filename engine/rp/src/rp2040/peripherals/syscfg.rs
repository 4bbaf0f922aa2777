//! SYSCFG: miscellaneous settings of the processors and memories (datasheet 2.21).
//!
//! The bypass of input synchronisers and the debug port's pins have no effect in the model. NMI sources and
//! powered-down memories are not modelled.

use super::{Peripheral, Write, unmodelled};
use chip::Sys;
use sim::Snapshot;

#[derive(Debug, Snapshot)]
pub(crate) struct Syscfg {
    nmi_mask: [u32; 2],
    proc_config: u32,
    in_sync_bypass: u32,
    in_sync_bypass_hi: u32,
    dbgforce: u32,
    mempowerdown: u32,
}

impl Default for Syscfg {
    fn default() -> Self {
        Self {
            nmi_mask: [0; 2],
            proc_config: 0x1000_0000,
            in_sync_bypass: 0,
            in_sync_bypass_hi: 0,
            dbgforce: 0x66,
            mempowerdown: 0,
        }
    }
}

impl Peripheral for Syscfg {
    fn name(&self) -> &'static str {
        "SYSCFG"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 | 0x04 => self.nmi_mask[(offset / 4) as usize],
            0x08 => self.proc_config,
            0x0c => self.in_sync_bypass,
            0x10 => self.in_sync_bypass_hi,
            0x14 => self.dbgforce,
            0x18 => self.mempowerdown,
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x00 | 0x04 => {
                let mask = &mut self.nmi_mask[(offset / 4) as usize];
                *mask = write.apply(*mask);
                if *mask != 0 {
                    unmodelled(sys, "SYSCFG.PROC_NMI_MASK", offset, Some(*mask));
                }
            }
            0x08 => self.proc_config = write.apply_masked(self.proc_config, 0xff00_0000),
            0x0c => self.in_sync_bypass = write.apply_masked(self.in_sync_bypass, 0x3fff_ffff),
            0x10 => self.in_sync_bypass_hi = write.apply_masked(self.in_sync_bypass_hi, 0x3f),
            0x14 => self.dbgforce = write.apply_masked(self.dbgforce, 0xee),
            0x18 => {
                self.mempowerdown = write.apply_masked(self.mempowerdown, 0xff);
                if self.mempowerdown != 0 {
                    unmodelled(sys, "SYSCFG.MEMPOWERDOWN", offset, Some(self.mempowerdown));
                }
            }
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
        let mut sys = crate::rp2040::wires::sys(12_000_000);
        let mut syscfg = Syscfg::default();
        for (offset, value) in
            [(0, 0), (4, 0), (8, 0x1000_0000), (0xc, 0), (0x10, 0), (0x14, 0x66), (0x18, 0), (0x1c, 0)]
        {
            assert_eq!(syscfg.read(&mut sys, offset), value);
        }
        for (offset, value) in [(0x8, 0xff00_0000), (0xc, 0x3fff_ffff), (0x10, 0x3f), (0x14, 0xee)] {
            syscfg.write(&mut sys, offset, Write::normal(u32::MAX));
            assert_eq!(syscfg.read(&mut sys, offset), value);
        }
        assert_eq!(sys.unmodelled, None);
        syscfg.write(&mut sys, 0x18, Write::normal(1));
        assert!(sys.unmodelled.is_some());
    }
}
