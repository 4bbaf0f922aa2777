//! PLL_SYS and PLL_USB (datasheet 2.18).
//!
//! The output has its final frequency as soon as the VCO and the post dividers are powered; LOCK follows after
//! `LOCK_PS`. The datasheet gives no lock time, and programs poll LOCK, so `LOCK_PS` is our choice.

use chip::sys::Frequencies;
use chip::{Peripheral, Sys, Write};
use sim::snapshot::LeftOut;
use sim::{NEVER, PS_PER_US, Ps, Snapshot};

/// From power-up (or a changed divider) to CS.LOCK.
pub(crate) const LOCK_PS: Ps = 50 * PS_PER_US;
/// The VCO is specified from 750 to 1600 MHz (datasheet 2.18.2); with a larger FBDIV it stays at this limit.
const VCO_MAX_HZ: u64 = 1_600_000_000;

const BYPASS: u32 = 1 << 8;
const LOCK: u32 = 1 << 31;
/// PWR bits.
const PD: u32 = 1 << 0;
const POSTDIVPD: u32 = 1 << 3;
const VCOPD: u32 = 1 << 5;

/// A phase-locked loop.
#[derive(Debug, Snapshot)]
pub struct Pll {
    name: LeftOut<&'static str>,
    /// The frequency that this PLL generates.
    output: LeftOut<fn(&mut Frequencies) -> &mut u64>,
    cs: u32,
    pwr: u32,
    fbdiv: u32,
    prim: u32,
    vco_hz: u64,
    locked_at: Ps,
}

impl Pll {
    /// Returns the loop after reset; `output` is its place among the frequencies.
    pub fn new(name: &'static str, output: fn(&mut Frequencies) -> &mut u64) -> Self {
        Self {
            name: LeftOut(name),
            output: LeftOut(output),
            cs: 1,
            pwr: 0x2d,
            fbdiv: 0,
            prim: 0x0007_7000,
            vco_hz: 0,
            locked_at: NEVER,
        }
    }

    /// Recomputes the output from the crystal oscillator and the registers, and stores it in `sys.freq`.
    pub fn update(&mut self, sys: &mut Sys) {
        let reference = sys.freq.xosc_hz / u64::from((self.cs & 0x3f).max(1));
        let vco = if self.pwr & (PD | VCOPD) == 0 { (reference * u64::from(self.fbdiv)).min(VCO_MAX_HZ) } else { 0 };
        if vco != self.vco_hz {
            self.vco_hz = vco;
            self.locked_at = if vco == 0 { NEVER } else { sys.now().saturating_add(LOCK_PS) };
        }
        let hz = if self.cs & BYPASS != 0 {
            sys.freq.xosc_hz
        } else if self.pwr & POSTDIVPD != 0 {
            0
        } else {
            let post = |shift: u32| u64::from((self.prim >> shift) & 7).max(1);
            vco / (post(16) * post(12))
        };
        let output = (self.output)(&mut sys.freq);
        *output = hz;
    }
}

impl Peripheral for Pll {
    fn name(&self) -> &'static str {
        *self.name
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x0 => self.cs | if sys.now() >= self.locked_at { LOCK } else { 0 },
            0x4 => self.pwr,
            0x8 => self.fbdiv,
            0xc => self.prim,
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x0 => self.cs = write.apply_masked(self.cs, 0x13f),
            0x4 => self.pwr = write.apply_masked(self.pwr, 0x2d),
            0x8 => self.fbdiv = write.apply_masked(self.fbdiv, 0xfff),
            0xc => self.prim = write.apply_masked(self.prim, 0x0007_7000),
            _ => return,
        }
        sys.clock_sources_dirty = true;
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(*self.name, *self.output);
        sys.clock_sources_dirty = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self};

    #[test]
    fn registers_set_the_frequency_and_lock_follows() {
        let mut sys = testing::sys(12_000_000);
        sys.freq.xosc_hz = 12_000_000;
        let mut pll = Pll::new("PLL_SYS", |freq| &mut freq.pll_sys_hz);
        for (offset, value) in [(0x0, 1), (0x4, 0x2d), (0x8, 0), (0xc, 0x0007_7000)] {
            assert_eq!(pll.read(&mut sys, offset), value);
        }
        pll.write(&mut sys, 0x8, Write::normal(125));
        pll.write(&mut sys, 0x4, Write { bits: PD | VCOPD, alias: chip::Alias::Clear });
        pll.update(&mut sys);
        assert_eq!(sys.freq.pll_sys_hz, 0);
        assert_eq!(pll.read(&mut sys, 0) & LOCK, 0);
        sys.cycle = sys.clock.cycle_at(LOCK_PS);
        assert_ne!(pll.read(&mut sys, 0) & LOCK, 0);
        pll.write(&mut sys, 0xc, Write::normal((6 << 16) | (2 << 12)));
        pll.write(&mut sys, 0x4, Write { bits: POSTDIVPD, alias: chip::Alias::Clear });
        assert!(sys.clock_sources_dirty);
        pll.update(&mut sys);
        assert_eq!(sys.freq.pll_sys_hz, 125_000_000);
        pll.write(&mut sys, 0, Write::normal(1 | BYPASS));
        pll.update(&mut sys);
        assert_eq!(sys.freq.pll_sys_hz, 12_000_000);
        pll.reset(&mut sys);
        pll.update(&mut sys);
        assert_eq!((sys.freq.pll_sys_hz, pll.read(&mut sys, 0)), (0, 1));
    }
}
