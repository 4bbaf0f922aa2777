//! PADS_BANK0: electrical settings of the GPIO pads (datasheet 2.19.6.3).
//!
//! Drive strength, slew rate, Schmitt trigger and voltage are stored and have no effect.

use super::{Peripheral, Write};
use crate::sys::Sys;

const PINS: usize = 30;
/// Bits of a pad register.
const PDE: u32 = 1 << 2;
const PUE: u32 = 1 << 3;
const IE: u32 = 1 << 6;
const OD: u32 = 1 << 7;

#[derive(Debug)]
pub struct PadsBank0 {
    voltage_select: u32,
    pads: [u32; PINS],
    swclk: u32,
    swd: u32,
}

impl Default for PadsBank0 {
    fn default() -> Self {
        Self { voltage_select: 0, pads: [0x56; PINS], swclk: 0xda, swd: 0x5a }
    }
}

impl PadsBank0 {
    fn apply(&self, sys: &mut Sys) {
        let pins = &mut sys.pins;
        let with = |flag: u32| {
            self.pads.iter().enumerate().fold(0, |mask, (pin, pad)| mask | (u64::from(pad & flag != 0) << pin))
        };
        pins.pad_output_disable = with(OD);
        pins.pad_pull_up = with(PUE);
        pins.pad_pull_down = with(PDE);
        let input_enable = with(IE);
        if input_enable != pins.pad_input_enable {
            pins.pad_input_enable = input_enable;
            pins.input_dirty = true;
        }
        pins.refresh();
    }
}

impl Peripheral for PadsBank0 {
    fn name(&self) -> &'static str {
        "PADS_BANK0"
    }

    fn read(&mut self, _sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 => self.voltage_select,
            0x04..=0x78 => self.pads[(offset / 4 - 1) as usize],
            0x7c => self.swclk,
            0x80 => self.swd,
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x00 => self.voltage_select = write.apply_masked(self.voltage_select, 1),
            0x04..=0x78 => {
                let pad = &mut self.pads[(offset / 4 - 1) as usize];
                *pad = write.apply_masked(*pad, 0xff);
                self.apply(sys);
            }
            0x7c => self.swclk = write.apply_masked(self.swclk, 0xff),
            0x80 => self.swd = write.apply_masked(self.swd, 0xff),
            _ => {}
        }
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::default();
        self.apply(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reset_values_and_levels() {
        let mut sys = crate::wires::sys(12_000_000);
        let mut pads = PadsBank0::default();
        pads.reset(&mut sys);
        for (offset, value) in [(0x0, 0), (0x4, 0x56), (0x78, 0x56), (0x7c, 0xda), (0x80, 0x5a), (0x84, 0)] {
            assert_eq!(pads.read(&mut sys, offset), value);
        }
        assert_eq!(
            (sys.pins.pad_input_enable, sys.pins.pad_pull_down, sys.pins.level()),
            (sys.pins.mask(), sys.pins.mask(), 0)
        );
        pads.write(&mut sys, 4 + 4 * 7, Write::normal(IE | PUE));
        assert_eq!(sys.pins.input(), 1 << 7);
        pads.write(&mut sys, 4 + 4 * 7, Write::normal(PUE));
        assert_eq!((sys.pins.level(), sys.pins.input()), (1 << 7, 0));
        assert!(sys.pins.input_dirty);
    }
}
