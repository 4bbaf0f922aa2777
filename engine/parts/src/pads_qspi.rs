//! PADS_QSPI: electrical settings of the flash's pads (datasheet 2.19.6.4). Stored, without effect.

use crate::wires::Version;
use chip::{Peripheral, Sys, Write};
use sim::Snapshot;

/// The pads of the QSPI pins. They hold their settings and have no other effect.
#[derive(Debug, Snapshot)]
pub struct PadsQspi {
    version: Version,
    /// VOLTAGE_SELECT, SCLK, SD0 to SD3, SS.
    registers: [u32; 7],
}

impl PadsQspi {
    /// Returns the block in its reset state, with the registers of `version`.
    pub fn new(version: Version) -> Self {
        let registers = match version {
            Version::V0 => [0, 0x56, 0x52, 0x52, 0x52, 0x52, 0x5a],
            Version::V1 => [0, 0x156, 0x156, 0x156, 0x15a, 0x15a, 0x15a],
        };
        Self { version, registers }
    }
}

impl Peripheral for PadsQspi {
    fn name(&self) -> &'static str {
        "PADS_QSPI"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        self.registers.get((offset / 4) as usize).copied().unwrap_or(0)
    }

    fn write(&mut self, _sys: &mut Sys, offset: u32, write: Write) {
        if let Some(register) = self.registers.get_mut((offset / 4) as usize) {
            let mask = if self.version == Version::V0 { 0xff } else { 0x1ff };
            *register = write.apply_masked(*register, if offset == 0 { 1 } else { mask });
        }
    }

    fn reset(&mut self, _sys: &mut Sys) {
        *self = Self::new(self.version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn registers() {
        let mut sys = testing::sys(12_000_000);
        let mut pads = PadsQspi::new(Version::V0);
        for (offset, value) in [(0x00, 0), (0x04, 0x56), (0x08, 0x52), (0x14, 0x52), (0x18, 0x5a), (0x1c, 0)] {
            assert_eq!(pads.read(&mut sys, offset), value);
            pads.write(&mut sys, offset, Write::normal(u32::MAX));
        }
        assert_eq!((pads.read(&mut sys, 0), pads.read(&mut sys, 0x18), pads.read(&mut sys, 0x1c)), (1, 0xff, 0));
    }
}
