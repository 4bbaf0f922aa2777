//! ROSC, the ring oscillator (datasheet 2.17).
//!
//! The real frequency varies from chip to chip (1.8 to 12 MHz at reset, 6.5 MHz nominal). The model scales the nominal
//! frequency by the divider, by the number of stages in the ring and by their drive strengths. RANDOMBIT uses a
//! generator with a fixed seed, so that runs are reproducible.

use crate::sys::{Sys, dormant};
use crate::ticks::Ticks;
use crate::{Peripheral, Write};

/// Nominal frequency at reset, with the divider at 16 and all eight stages at their default strength.
pub const NOMINAL_HZ: u64 = 6_500_000;
const RING_HZ: u64 = NOMINAL_HZ * 16;

const DISABLE: u32 = 0xd1e;
const ENABLE: u32 = 0xfab;
const PASS: u32 = 0x9696;
const DIV_PASS: u32 = 0xaa0;
const DORMANT: u32 = 0x636f_6d61;
const WAKE: u32 = 0x7761_6b65;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug)]
pub struct Rosc {
    ctrl: u32,
    /// FREQA and FREQB.
    freq: [u32; 2],
    div: u32,
    phase: u32,
    bad_write: bool,
    random: u64,
    count: u32,
    counter: Ticks,
}

impl Default for Rosc {
    fn default() -> Self {
        Self {
            ctrl: (ENABLE << 12) | 0xaa0,
            freq: [0; 2],
            div: DIV_PASS + 16,
            phase: 8,
            bad_write: false,
            random: SEED,
            count: 0,
            counter: Ticks::default(),
        }
    }
}

impl Rosc {
    fn enabled(&self) -> bool {
        self.ctrl >> 12 != DISABLE
    }

    fn hz(&self) -> u64 {
        if !self.enabled() {
            return 0;
        }
        let first_stage = match self.ctrl & 0xfff {
            0xfa5 => 2,
            0xfa7 => 4,
            0xfa6 => 6,
            _ => 0,
        };
        // A stage's delay is inversely proportional to its strength of 1 to 4, here in twelfths.
        let delay: u64 = (first_stage..8)
            .map(|stage| {
                let register = self.freq[stage / 4];
                let strength =
                    if register >> 16 == PASS { (register >> (4 * (stage % 4)) & 7).count_ones() } else { 0 };
                12 / u64::from(strength + 1)
            })
            .sum();
        let div = match self.div.wrapping_sub(DIV_PASS) {
            0 => 32,
            div @ 1..=31 => div,
            _ => 31,
        };
        RING_HZ * 96 / delay / u64::from(div)
    }

    /// Ends DORMANT: the chip's wake-up signal is high. The ring starts at once.
    pub fn wake(&mut self, sys: &mut Sys) {
        sys.dormant &= !dormant::ROSC;
        self.update(sys);
    }

    /// Stores the frequency in `sys.freq`.
    pub fn update(&mut self, sys: &mut Sys) {
        let hz = if sys.dormant & dormant::ROSC != 0 { 0 } else { self.hz() };
        if hz != sys.freq.rosc_hz {
            let now = sys.now();
            sys.freq.rosc_hz = hz;
            self.counter.set_rate(now, hz, 1);
            sys.clock_sources_dirty = true;
        }
    }

    fn random_bit(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32) as u32 & 1
    }

    fn count(&self, sys: &Sys) -> u32 {
        u64::from(self.count).saturating_sub(self.counter.count(sys.now())) as u32
    }
}

impl Peripheral for Rosc {
    fn name(&self) -> &'static str {
        "ROSC"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 => self.ctrl,
            0x04 | 0x08 => self.freq[(offset / 4 - 1) as usize],
            0x0c => WAKE,
            0x10 => self.div,
            0x14 => self.phase,
            0x18 => {
                let on = u32::from(self.enabled());
                (on << 31) | (u32::from(self.bad_write) << 24) | (on << 16) | (on << 12)
            }
            0x1c if self.enabled() => self.random_bit(),
            0x1c => 1,
            0x20 => self.count(sys),
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x00 => {
                self.ctrl = write.apply_masked(self.ctrl, 0x00ff_ffff);
                let (enable, range) = (self.ctrl >> 12, self.ctrl & 0xfff);
                if !matches!(enable, ENABLE | DISABLE) || !matches!(range, 0xaa0 | 0xfa4..=0xfa7) {
                    self.bad_write = true;
                }
            }
            0x04 | 0x08 => {
                let register = &mut self.freq[(offset / 4 - 1) as usize];
                *register = write.apply_masked(*register, 0xffff_7777);
                if *register >> 16 != PASS {
                    self.bad_write = true;
                }
            }
            0x0c => match write.apply(WAKE) {
                DORMANT => sys.dormant |= dormant::ROSC,
                WAKE => {}
                _ => self.bad_write = true,
            },
            0x10 => {
                self.div = write.apply_masked(self.div, 0xfff);
                if self.div.wrapping_sub(DIV_PASS) > 31 {
                    self.bad_write = true;
                }
            }
            0x14 => {
                self.phase = write.apply_masked(self.phase, 0xfff);
                if self.phase >> 4 != 0xaa {
                    self.bad_write = true;
                }
            }
            0x18 if write.ones() & (1 << 24) != 0 => self.bad_write = false,
            0x20 => {
                self.count = write.apply(self.count(sys)) & 0xff;
                self.counter = Ticks::default();
                self.counter.set_rate(sys.now(), sys.freq.rosc_hz, 1);
            }
            _ => {}
        }
        self.update(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::default();
        sys.dormant &= !dormant::ROSC;
        self.update(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self};

    #[test]
    fn reset_values_and_nominal_frequency() {
        let mut sys = testing::sys(NOMINAL_HZ);
        let mut rosc = Rosc::default();
        rosc.reset(&mut sys);
        assert_eq!(sys.freq.rosc_hz, NOMINAL_HZ);
        for (offset, value) in
            [(0x0, 0x00fa_baa0), (0x4, 0), (0x8, 0), (0xc, WAKE), (0x10, 0xab0), (0x14, 8), (0x18, 0x8001_1000)]
        {
            assert_eq!(rosc.read(&mut sys, offset), value, "0x{offset:02x}");
        }
    }

    #[test]
    fn divider_range_and_drive_scale_the_frequency() {
        let mut sys = testing::sys(NOMINAL_HZ);
        let mut rosc = Rosc::default();
        let (s, r) = (&mut sys, &mut rosc);
        for (offset, value, hz) in [
            (0x10, 0xaa1, 104_000_000),
            (0x10, 0xaa0, 3_250_000),
            (0x10, 0x123, 104_000_000 / 31),
            (0x10, 0xaa8, 13_000_000),
            (0x00, 0x00fa_bfa7, 26_000_000),
            (0x08, 0x9696_7777, 104_000_000),
            (0x08, 0x1234_7777, 26_000_000),
            (0x00, 0x00d1_efa7, 0),
        ] {
            r.write(s, offset, Write::normal(value));
            assert_eq!(s.freq.rosc_hz, hz, "0x{offset:02x} = 0x{value:x}");
        }
        assert_eq!(r.read(s, 0x18), 1 << 24);
    }

    #[test]
    fn random_bits_repeat_and_are_balanced() {
        let mut sys = testing::sys(NOMINAL_HZ);
        let draw = |sys: &mut Sys| {
            let mut rosc = Rosc::default();
            (0..4096).map(|_| rosc.read(sys, 0x1c)).collect::<Vec<_>>()
        };
        let bits = draw(&mut sys);
        assert_eq!(bits, draw(&mut sys));
        let ones: u32 = bits.iter().sum();
        assert!((1900..2200).contains(&ones), "{ones}");
    }
}
