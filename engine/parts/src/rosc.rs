//! ROSC, the ring oscillator (datasheet 2.17).
//!
//! The real frequency varies from chip to chip (RP2040: 1.8 to 12 MHz at reset, 6.5 MHz nominal; RP2350: 4.6 to 24 MHz,
//! 11 MHz nominal). The model scales the nominal
//! frequency by the divider, by the number of stages in the ring and by their drive strengths. RANDOMBIT uses a
//! generator with a fixed seed, so that runs are reproducible.

use crate::wires::Version;
use chip::sys::dormant;
use chip::ticks::Ticks;
use chip::{Peripheral, Sys, Write};
use sim::Snapshot;
use sim::snapshot::LeftOut;

/// Nominal frequencies at reset of both versions, with the divider at its reset value and all eight stages at their
/// default strength. Version 1 has its stages 0 and 1 varied at random, which is not modelled.
const NOMINAL_HZ: [u64; 2] = [6_500_000, 11_000_000];

const DISABLE: u32 = 0xd1e;
const ENABLE: u32 = 0xfab;
const PASS: u32 = 0x9696;
const DORMANT: u32 = 0x636f_6d61;
const WAKE: u32 = 0x7761_6b65;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// What differs between the versions.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Frequency of the ring.
    ring_hz: u64,
    /// DIV with divider 0, which is the largest, and at reset.
    div_pass: u32,
    most_div: u32,
    reset_div: u32,
    /// The divider that any other value sets.
    other_div: u32,
    div_mask: u32,
    /// FREQA and FREQB: writable bits.
    freq_masks: [u32; 2],
    count_mask: u32,
}

impl Layout {
    fn of(version: Version) -> Self {
        match version {
            Version::V0 => Self {
                ring_hz: NOMINAL_HZ[0] * 16,
                div_pass: 0xaa0,
                most_div: 32,
                reset_div: 16,
                other_div: 31,
                div_mask: 0xfff,
                freq_masks: [0xffff_7777; 2],
                count_mask: 0xff,
            },
            Version::V1 => Self {
                ring_hz: NOMINAL_HZ[1] * 8,
                div_pass: 0xaa00,
                most_div: 128,
                reset_div: 8,
                other_div: 128,
                div_mask: 0xffff,
                freq_masks: [0xffff_77ff, 0xffff_7777],
                count_mask: 0xffff,
            },
        }
    }
}

/// Stands for the offset of RANDOM, which version 1 has before DORMANT.
const RANDOM_OFFSET: u32 = u32::MAX;
/// RANDOM of version 1 after a reset.
const RANDOM: u32 = 0x3f04_b16d;

/// The ring oscillator.
#[derive(Debug, Snapshot)]
pub struct Rosc {
    version: Version,
    layout: LeftOut<Layout>,
    /// RANDOM, stored without effect.
    seed: u32,
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

impl Rosc {
    /// Returns the oscillator as it runs after power-on, with the registers of `version`.
    pub fn new(version: Version) -> Self {
        let layout = Layout::of(version);
        Self {
            version,
            layout: LeftOut(layout),
            seed: RANDOM,
            ctrl: (ENABLE << 12) | 0xaa0,
            freq: if version == Version::V0 { [0; 2] } else { [0x88, 0] },
            div: layout.div_pass + layout.reset_div,
            phase: if version == Version::V0 { 8 } else { 0 },
            bad_write: false,
            random: SEED,
            count: 0,
            counter: Ticks::default(),
        }
    }
}

impl Rosc {
    /// Returns the offset in version 0 of a register that both versions have, or [`RANDOM_OFFSET`].
    fn common(&self, offset: u32) -> u32 {
        match (self.version, offset) {
            (Version::V1, 0x0c) => RANDOM_OFFSET,
            (Version::V1, 0x10..) => offset - 4,
            _ => offset,
        }
    }

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
        let Layout { div_pass, most_div, other_div, ring_hz, .. } = *self.layout;
        let div = match self.div.wrapping_sub(div_pass) {
            0 => most_div,
            div if div < most_div => div,
            _ => other_div,
        };
        ring_hz * 96 / delay / u64::from(div)
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
        match self.common(offset) {
            0x00 => self.ctrl,
            0x04 | 0x08 => self.freq[(offset / 4 - 1) as usize],
            RANDOM_OFFSET => self.seed,
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
        let offset = self.common(offset);
        match offset {
            RANDOM_OFFSET => self.seed = write.apply(self.seed),
            0x00 => {
                self.ctrl = write.apply_masked(self.ctrl, 0x00ff_ffff);
                let (enable, range) = (self.ctrl >> 12, self.ctrl & 0xfff);
                if !matches!(enable, ENABLE | DISABLE) || !matches!(range, 0xaa0 | 0xfa4..=0xfa7) {
                    self.bad_write = true;
                }
            }
            0x04 | 0x08 => {
                let register = &mut self.freq[(offset / 4 - 1) as usize];
                *register = write.apply_masked(*register, self.layout.freq_masks[(offset / 4 - 1) as usize]);
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
                self.div = write.apply_masked(self.div, self.layout.div_mask);
                if self.div.wrapping_sub(self.layout.div_pass) >= self.layout.most_div {
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
                self.count = write.apply(self.count(sys)) & self.layout.count_mask;
                self.counter = Ticks::default();
                self.counter.set_rate(sys.now(), sys.freq.rosc_hz, 1);
            }
            _ => {}
        }
        self.update(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.version);
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
        let mut sys = testing::sys(NOMINAL_HZ[0]);
        let mut rosc = Rosc::new(Version::V0);
        rosc.reset(&mut sys);
        assert_eq!(sys.freq.rosc_hz, NOMINAL_HZ[0]);
        for (offset, value) in
            [(0x0, 0x00fa_baa0), (0x4, 0), (0x8, 0), (0xc, WAKE), (0x10, 0xab0), (0x14, 8), (0x18, 0x8001_1000)]
        {
            assert_eq!(rosc.read(&mut sys, offset), value, "0x{offset:02x}");
        }
    }

    #[test]
    fn divider_range_and_drive_scale_the_frequency() {
        let mut sys = testing::sys(NOMINAL_HZ[0]);
        let mut rosc = Rosc::new(Version::V0);
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
        let mut sys = testing::sys(NOMINAL_HZ[0]);
        let draw = |sys: &mut Sys| {
            let mut rosc = Rosc::new(Version::V0);
            (0..4096).map(|_| rosc.read(sys, 0x1c)).collect::<Vec<_>>()
        };
        let bits = draw(&mut sys);
        assert_eq!(bits, draw(&mut sys));
        let ones: u32 = bits.iter().sum();
        assert!((1900..2200).contains(&ones), "{ones}");
    }

    #[test]
    fn version_1_divides_further() {
        let mut sys = testing::sys(NOMINAL_HZ[1]);
        let mut rosc = Rosc::new(Version::V1);
        rosc.reset(&mut sys);
        let (s, r) = (&mut sys, &mut rosc);
        assert_eq!(s.freq.rosc_hz, 11_000_000);
        assert_eq!([0x04, 0x0c, 0x10, 0x14, 0x1c].map(|at| r.read(s, at)), [0x88, RANDOM, WAKE, 0xaa08, 0x8001_1000]);
        for (value, hz) in [(0xaa02, 44_000_000), (0xaa7f, 88_000_000 / 127), (0xaa00, 687_500), (0x1234, 687_500)] {
            r.write(s, 0x14, Write::normal(value));
            assert_eq!(s.freq.rosc_hz, hz, "0x{value:x}");
        }
    }
}
