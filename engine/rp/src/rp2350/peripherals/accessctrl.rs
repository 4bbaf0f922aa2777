//! ACCESSCTRL: which bus managers and security states may use each block (datasheet 10.6).
//!
//! The registers are stored, and need their password; no access is refused because of them.

use super::{Peripheral, Write};
use chip::Sys;
use sim::Snapshot;

const WORDS: usize = 59;
/// Bits 31 to 16 of every write except those to GPIO_NSMASK.
const PASSWORD: u32 = 0xacce;
const CFGRESET: usize = 2;
const GPIO_NSMASK: std::ops::RangeInclusive<usize> = 3..=4;
/// First of the blocks, ROM.
const BLOCKS: usize = 5;

#[derive(Debug, Snapshot)]
pub struct Accessctrl {
    words: [u32; WORDS],
}

impl Default for Accessctrl {
    fn default() -> Self {
        let words = std::array::from_fn(|index| match index {
            // LOCK: of the debugger.
            0 => 4,
            1..BLOCKS => 0,
            // ROM, XIP and SRAM, and SYSINFO, are open to all.
            5..=16 | 24 => 0xff,
            17..=21 | 25..=43 => 0xfc,
            46 | 58 => 0xf8,
            _ => 0xb8,
        });
        Self { words }
    }
}

impl Peripheral for Accessctrl {
    fn name(&self) -> &'static str {
        "ACCESSCTRL"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        self.words.get((offset / 4) as usize).copied().unwrap_or(0)
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        let index = (offset / 4) as usize;
        if GPIO_NSMASK.contains(&index) {
            self.words[index] = write.apply(self.words[index]);
        } else if write.bits >> 16 == PASSWORD {
            match index {
                CFGRESET if write.bits & 1 != 0 => self.reset(sys),
                _ if index < WORDS => self.words[index] = write.apply(self.words[index]) & 0xff,
                _ => {}
            }
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
    fn a_write_needs_the_password() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut accessctrl = Accessctrl::default();
        for (offset, value) in [
            (0x00, 4),
            (0x0c, 0),
            (0x14, 0xff),
            (0x40, 0xff),
            (0x44, 0xfc),
            (0x58, 0xb8),
            (0x60, 0xff),
            (0x64, 0xfc),
            (0xac, 0xfc),
            (0xb0, 0xb8),
            (0xb8, 0xf8),
            (0xbc, 0xb8),
            (0xe4, 0xb8),
            (0xe8, 0xf8),
            (0xec, 0),
        ] {
            assert_eq!(accessctrl.read(&mut sys, offset), value, "0x{offset:02x}");
        }
        accessctrl.write(&mut sys, 0x44, Write::normal(0xff));
        assert_eq!(accessctrl.read(&mut sys, 0x44), 0xfc);
        accessctrl.write(&mut sys, 0x44, Write::normal(0xacce_00ff));
        assert_eq!(accessctrl.read(&mut sys, 0x44), 0xff);
        accessctrl.write(&mut sys, 8, Write::normal(0xacce_0001));
        assert_eq!(accessctrl.read(&mut sys, 0x44), 0xfc);
    }
}
