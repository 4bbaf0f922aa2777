//! PADS_BANK0: electrical settings of the GPIO pads (datasheet 2.19.6.3).
//!
//! Drive strength, slew rate, Schmitt trigger and voltage are stored and have no effect.

use crate::wires::Version;
use chip::{Peripheral, Sys, Write};
use sim::Snapshot;

/// Bits of a pad register.
const PDE: u32 = 1 << 2;
const PUE: u32 = 1 << 3;
const IE: u32 = 1 << 6;
const OD: u32 = 1 << 7;
/// Of version 1: the pad keeps its state, whatever the function does.
const ISO: u32 = 1 << 8;

/// The pads of the GPIO pins: pulls, input buffers, output disables.
#[derive(Debug, Snapshot)]
pub struct PadsBank0 {
    voltage_select: u32,
    version: Version,
    pads: Vec<u32>,
    swclk: u32,
    swd: u32,
}

impl PadsBank0 {
    /// Returns the block in its reset state, with the registers of `version`.
    pub fn new(version: Version) -> Self {
        match version {
            Version::V0 => Self { version, voltage_select: 0, pads: vec![0x56; 30], swclk: 0xda, swd: 0x5a },
            Version::V1 => Self { version, voltage_select: 0, pads: vec![0x116; 48], swclk: 0x5a, swd: 0x5a },
        }
    }

    /// Puts everything, the isolation latches too, into the state after power-on.
    pub fn power_on(&mut self, sys: &mut Sys) {
        *self = Self::new(self.version);
        let pins = &mut sys.pins;
        pins.isolate(0);
        (pins.pad_pull_up, pins.pad_pull_down) = (0, pins.mask());
        if self.version == Version::V1 {
            pins.pad_input_enable = 0;
        }
        pins.refresh();
        self.apply(sys);
    }

    /// Returns the writable bits of a pad.
    fn mask(&self) -> u32 {
        match self.version {
            Version::V0 => 0xff,
            Version::V1 => 0x1ff,
        }
    }

    fn apply(&self, sys: &mut Sys) {
        let pins = &mut sys.pins;
        let with = |flag: u32| {
            self.pads.iter().enumerate().fold(0, |mask, (pin, pad)| mask | (u64::from(pad & flag != 0) << pin))
        };
        pins.pad_output_disable = with(OD);
        let isolated = with(ISO);
        pins.isolate(isolated);
        // An isolated pad keeps its controls, too.
        let latched = |flag: u32, now: u64| (with(flag) & !isolated) | (now & isolated);
        pins.pad_pull_up = latched(PUE, pins.pad_pull_up);
        pins.pad_pull_down = latched(PDE, pins.pad_pull_down);
        let input_enable = latched(IE, pins.pad_input_enable);
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
            _ => match (offset / 4 - 1) as usize {
                pin if pin < self.pads.len() => self.pads[pin],
                pin if pin == self.pads.len() => self.swclk,
                pin if pin == self.pads.len() + 1 => self.swd,
                _ => 0,
            },
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x00 => self.voltage_select = write.apply_masked(self.voltage_select, 1),
            _ => {
                let mask = self.mask();
                match (offset / 4 - 1) as usize {
                    pin if pin < self.pads.len() => {
                        self.pads[pin] = write.apply_masked(self.pads[pin], mask);
                        self.apply(sys);
                    }
                    pin if pin == self.pads.len() => self.swclk = write.apply_masked(self.swclk, mask),
                    pin if pin == self.pads.len() + 1 => self.swd = write.apply_masked(self.swd, mask),
                    _ => {}
                }
            }
        }
    }

    fn reset(&mut self, sys: &mut Sys) {
        // RESETS does not reset ISO (RP2350 datasheet 9.7).
        let isolated: Vec<u32> = self.pads.iter().map(|pad| pad & ISO).collect();
        *self = Self::new(self.version);
        self.pads.iter_mut().zip(isolated).for_each(|(pad, isolated)| *pad = (*pad & !ISO) | isolated);
        self.apply(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn reset_values_and_levels() {
        let mut sys = testing::sys(12_000_000);
        let mut pads = PadsBank0::new(Version::V0);
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

    #[test]
    fn an_isolated_pad_keeps_its_state() {
        let mut sys = testing::sys(12_000_000);
        let mut pads = PadsBank0::new(Version::V1);
        pads.power_on(&mut sys);
        let s = &mut sys;
        assert_eq!(
            (pads.read(s, 4), pads.read(s, 0xc0), pads.read(s, 0xc4), pads.read(s, 0xcc)),
            (0x116, 0x116, 0x5a, 0)
        );
        s.pins.function_mask[5] = 0b11;
        s.pins.function_out[5] = 0b11;
        s.pins.function_oe[5] = 0b11;
        pads.write(s, 4, Write::normal(IE | PUE));
        assert_eq!((s.pins.level() & 3, s.pins.input() & 3, s.pins.output_enabled()), (1, 1, 1));
        pads.write(s, 4, Write::normal(ISO | PDE));
        s.pins.function_out[5] = 0;
        s.pins.refresh();
        assert_eq!((s.pins.level() & 3, s.pins.input() & 3), (1, 1), "levels and controls stay");
        pads.reset(s);
        assert_eq!((pads.read(s, 4), pads.read(s, 8), s.pins.level() & 1), (0x116, 0x116, 1));
    }
}
