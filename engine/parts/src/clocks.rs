//! CLOCKS: the clock generators, their muxes and dividers, the frequency counter and resus (datasheet 2.15).
//!
//! Muxes switch at once (the chip takes a few cycles of both clocks). WAKE_EN and SLEEP_EN are stored, but a gated
//! peripheral continues to work: gating saves power and has no effect visible to a correct program. GPIN0 and GPIN1
//! have no clock. RESUS acts at once instead of after TIMEOUT cycles of clk_ref.

mod gpout;

use crate::wires::{ClocksWires, Version};
use chip::sys::Frequencies;
use chip::{Peripheral, Sys, Write, unmodelled};
use gpout::{Drive, Gpout};
use sim::{NEVER, PS_PER_S, Ps, Snapshot};

const ENABLE: u32 = 1 << 11;
const KILL: u32 = 1 << 10;

mod resus {
    pub(crate) const CLEAR: u32 = 1 << 16;
    pub(crate) const FRCE: u32 = 1 << 12;
    pub(crate) const ENABLE: u32 = 1 << 8;
}

mod fc0_status {
    pub(crate) const DIED: u32 = 1 << 28;
    pub(crate) const FAST: u32 = 1 << 24;
    pub(crate) const SLOW: u32 = 1 << 20;
    pub(crate) const FAIL: u32 = 1 << 16;
    pub(crate) const RUNNING: u32 = 1 << 8;
    pub(crate) const DONE: u32 = 1 << 4;
    pub(crate) const PASS: u32 = 1 << 0;
}

/// A clock generator with the registers CTRL, DIV and SELECTED.
#[derive(Debug, Snapshot)]
struct Generator {
    ctrl: u32,
    div: u32,
    ctrl_mask: u32,
    div_mask: u32,
    /// Fraction bits of the divider.
    fraction: u32,
}

impl Generator {
    const fn new(ctrl_mask: u32, div_mask: u32, fraction: u32) -> Self {
        Self { ctrl: 0, div: 1 << fraction, ctrl_mask, div_mask, fraction }
    }

    /// Returns the divider in units of [`Self::one`]; its integer part 0 means 2^16.
    fn divisor(&self) -> u64 {
        if self.div_mask == 0 {
            return self.one();
        }
        let div = u64::from(self.div & self.div_mask);
        if div < self.one() { self.one() << 16 | div } else { div }
    }

    fn one(&self) -> u64 {
        1 << self.fraction
    }

    fn divide(&self, hz: u64) -> u64 {
        (u128::from(hz) * u128::from(self.one()) / u128::from(self.divisor())) as u64
    }

    fn running(&self) -> bool {
        self.ctrl & ENABLE != 0 && self.ctrl & KILL == 0
    }
}

/// Indices of the generators in the order of their registers.
mod generator {
    pub(crate) const GPOUTS: usize = 4;
    pub(crate) const REF: usize = 4;
    pub(crate) const SYS: usize = 5;
    pub(crate) const PERI: usize = 6;
    pub(crate) const COUNT: usize = 10;
}

/// Indices of the generators that the versions have in different places, and of those that only one has.
struct Places {
    usb: usize,
    adc: usize,
    rtc: Option<usize>,
    hstx: Option<usize>,
}

const PLACES: [Places; 2] =
    [Places { usb: 7, adc: 8, rtc: Some(9), hstx: None }, Places { usb: 8, adc: 9, rtc: None, hstx: Some(7) }];

/// The low-power oscillator of version 1.
const LPOSC_HZ: u64 = 32_768;

#[derive(Debug, Snapshot)]
struct FrequencyCounter {
    ref_khz: u32,
    min_khz: u32,
    max_khz: u32,
    delay: u32,
    interval: u32,
    src: u32,
    /// End of the measurement started by FC0_SRC, and its result in units of 1/32 kHz (0: the clock was stopped).
    test: Option<(Ps, u32)>,
}

impl Default for FrequencyCounter {
    fn default() -> Self {
        Self { ref_khz: 0, min_khz: 0, max_khz: 0x1ff_ffff, delay: 1, interval: 8, src: 0, test: None }
    }
}

impl FrequencyCounter {
    fn start(&mut self, sys: &Sys) {
        let f = &sys.freq;
        let hz = match self.src {
            0x01 => f.pll_sys_hz,
            0x02 => f.pll_usb_hz,
            0x03 | 0x04 => f.rosc_hz,
            0x05 => f.xosc_hz,
            0x08 => f.clk_ref_hz,
            0x09 => f.clk_sys_hz,
            0x0a => f.clk_peri_hz,
            0x0b => f.clk_usb_hz,
            0x0c => f.clk_adc_hz,
            0x0d => f.clk_rtc_hz + f.clk_hstx_hz,
            _ => 0,
        };
        if self.src == 0 {
            self.test = None;
            return;
        }
        if f.clk_ref_hz == 0 {
            self.test = Some((NEVER, 0));
            return;
        }
        // The interval is nominally 2^INTERVAL / 1.024 us, counted in cycles of a clk_ref that runs at FC0_REF_KHZ.
        let clk_ref = u128::from(f.clk_ref_hz);
        let believed = u128::from(self.ref_khz) * 1000;
        let nominal_ps = (976_562u128 << self.interval) + ((1u128 << self.interval) >> 1);
        let ps = nominal_ps * believed / clk_ref + u128::from(self.delay) * u128::from(PS_PER_S) / clk_ref;
        let end = sys.now().saturating_add(u64::try_from(ps).unwrap_or(NEVER));
        // One count of the test clock is 2^(15 - INTERVAL) / 32 kHz.
        let units = u128::from(hz) * believed / clk_ref * 32 / 1000;
        let step = 15 - self.interval;
        let result = ((units >> step) << step).min(0x3fff_ffff) as u32;
        self.test = Some((end, result));
    }

    fn status(&self, now: Ps) -> u32 {
        let Some((end, result)) = self.test else { return 0 };
        if now < end {
            return fc0_status::RUNNING;
        }
        let khz = result >> 5;
        let (slow, fast) = (khz < self.min_khz, khz > self.max_khz);
        let mut status = fc0_status::DONE;
        if result == 0 {
            status |= fc0_status::DIED;
        }
        if slow {
            status |= fc0_status::SLOW;
        }
        if fast {
            status |= fc0_status::FAST;
        }
        status | if slow || fast || result == 0 { fc0_status::FAIL } else { fc0_status::PASS }
    }
}

/// The clock generators and the frequency counter.
#[derive(Debug, Snapshot)]
pub struct Clocks {
    wires: ClocksWires,
    /// DFTCLK_*_CTRL of version 1, stored without effect.
    dftclk: [u32; 3],
    generators: [Generator; generator::COUNT],
    gpout: Gpout,
    resus_ctrl: u32,
    resussed: bool,
    fc0: FrequencyCounter,
    wake_en: [u32; 2],
    sleep_en: [u32; 2],
    inte: u32,
    intf: u32,
}

/// DFTCLK_XOSC_CTRL, the first of three registers that only version 1 has.
const DFTCLK: u32 = 0x78;

impl Version {
    /// Returns the bits of WAKE_EN1 and SLEEP_EN1.
    fn en1_mask(self) -> u32 {
        match self {
            Self::V0 => 0x7fff,
            Self::V1 => 0x7fff_ffff,
        }
    }
}

impl Clocks {
    /// Returns the part in its reset state, connected by `wires`.
    pub fn new(wires: ClocksWires) -> Self {
        let generators = match wires.version {
            Version::V0 => {
                let gpout = || Generator::new(0x0013_1de0, u32::MAX, 8);
                [
                    gpout(),
                    gpout(),
                    gpout(),
                    gpout(),
                    Generator::new(0x0000_0063, 0x0300, 8),
                    Generator::new(0x0000_00e1, u32::MAX, 8),
                    Generator::new(0x0000_0ce0, 0, 8),
                    Generator::new(0x0013_0ce0, 0x0300, 8),
                    Generator::new(0x0013_0ce0, 0x0300, 8),
                    Generator::new(0x0013_0ce0, u32::MAX, 8),
                ]
            }
            Version::V1 => {
                let gpout = || Generator::new(0x0013_1de0, u32::MAX, 16);
                [
                    gpout(),
                    gpout(),
                    gpout(),
                    gpout(),
                    Generator::new(0x0000_0063, 0x00ff_0000, 16),
                    Generator { ctrl: 0x41, ..Generator::new(0x0000_00e1, u32::MAX, 16) },
                    Generator::new(0x0000_0ce0, 0x0003_0000, 16),
                    Generator::new(0x0013_0ce0, 0x0003_0000, 16),
                    Generator::new(0x0013_0ce0, 0x000f_0000, 16),
                    Generator::new(0x0013_0ce0, 0x000f_0000, 16),
                ]
            }
        };
        Self {
            wires,
            dftclk: [0; 3],
            generators,
            gpout: Gpout::new(wires),
            resus_ctrl: 0xff,
            resussed: false,
            fc0: FrequencyCounter::default(),
            wake_en: [u32::MAX, wires.version.en1_mask()],
            sleep_en: [u32::MAX, wires.version.en1_mask()],
            inte: 0,
            intf: 0,
        }
    }
}

impl Clocks {
    /// Recomputes every generated frequency from the oscillators and PLLs in `sys.freq`.
    pub fn update(&mut self, sys: &mut Sys) {
        let f = &sys.freq;
        let sources = Frequencies {
            xosc_hz: f.xosc_hz,
            rosc_hz: f.rosc_hz,
            pll_sys_hz: f.pll_sys_hz,
            pll_usb_hz: f.pll_usb_hz,
            ..Frequencies::default()
        };
        let g = &self.generators;

        let r = &g[generator::REF];
        let clk_ref = r.divide(match (r.ctrl & 3, (r.ctrl >> 5) & 3) {
            (0, _) => f.rosc_hz,
            (1, 0) => f.pll_usb_hz,
            (2, _) => f.xosc_hz,
            (3, _) if self.wires.version == Version::V1 => LPOSC_HZ,
            _ => 0,
        });

        let s = &g[generator::SYS];
        let programmed = s.divide(match (s.ctrl & 1, (s.ctrl >> 5) & 7) {
            (0, _) => clk_ref,
            (_, 0) => f.pll_sys_hz,
            (_, 1) => f.pll_usb_hz,
            (_, 2) => f.rosc_hz,
            (_, 3) => f.xosc_hz,
            _ => 0,
        });
        let stopped = programmed == 0 && self.resus_ctrl & resus::ENABLE != 0;
        if stopped || self.resus_ctrl & resus::FRCE != 0 {
            self.resussed = true;
        }
        let clk_sys = if self.resussed { clk_ref } else { programmed };

        let peri = |index: usize, sources: [u64; 5]| {
            let g = &self.generators[index];
            let hz = sources.get(((g.ctrl >> 5) & 7) as usize).copied().unwrap_or(0);
            if g.running() { hz } else { 0 }
        };
        let (pll_sys, pll_usb, rosc, xosc) = (f.pll_sys_hz, f.pll_usb_hz, f.rosc_hz, f.xosc_hz);
        let usual = [pll_usb, pll_sys, rosc, xosc, 0];
        let places = &PLACES[self.wires.version as usize];
        let new = Frequencies {
            clk_ref_hz: clk_ref,
            clk_sys_hz: clk_sys,
            clk_peri_hz: g[generator::PERI].divide(peri(generator::PERI, [clk_sys, pll_sys, pll_usb, rosc, xosc])),
            clk_usb_hz: g[places.usb].divide(peri(places.usb, usual)),
            clk_adc_hz: g[places.adc].divide(peri(places.adc, usual)),
            clk_rtc_hz: places.rtc.map_or(0, |rtc| g[rtc].divide(peri(rtc, usual))),
            clk_hstx_hz: places.hstx.map_or(0, |hstx| g[hstx].divide(peri(hstx, [clk_sys, pll_sys, pll_usb, 0, 0]))),
            tick_hz: f.tick_hz,
            ..sources
        };
        sys.freq = new;
        if clk_sys == 0 && sys.dormant != 0 {
            sys.stop_clk_sys();
        } else if clk_sys == 0 {
            sys.unmodelled(format!(
                "CLOCKS: clk_sys has stopped (CLK_SYS_CTRL 0x{:x}, CLK_REF_CTRL 0x{:x})",
                self.generators[generator::SYS].ctrl,
                self.generators[generator::REF].ctrl
            ));
        }
        sys.set_clk_sys_hz(clk_sys);
        self.update_gpout(sys);
        self.update_irq(sys);
    }

    fn update_gpout(&mut self, sys: &mut Sys) {
        let f = &sys.freq;
        // GPIN0 and GPIN1, sources 1 and 2, have no clock.
        let v0 = [
            f.pll_sys_hz,
            0,
            0,
            f.pll_usb_hz,
            f.rosc_hz,
            f.xosc_hz,
            f.clk_sys_hz,
            f.clk_usb_hz,
            f.clk_adc_hz,
            f.clk_rtc_hz,
            f.clk_ref_hz,
        ];
        let v1 = [
            f.pll_sys_hz,
            0,
            0,
            f.pll_usb_hz,
            f.pll_usb_hz,
            f.rosc_hz,
            f.xosc_hz,
            LPOSC_HZ,
            f.clk_sys_hz,
            f.clk_usb_hz,
            f.clk_adc_hz,
            f.clk_ref_hz,
            f.clk_peri_hz,
            f.clk_hstx_hz,
        ];
        let sources: &[u64] = if self.wires.version == Version::V0 { &v0 } else { &v1 };
        let drives = std::array::from_fn::<Drive, { generator::GPOUTS }, _>(|output| {
            let g = &self.generators[output];
            let source = sources.get(((g.ctrl >> 5) & 15) as usize).copied().unwrap_or(0);
            Drive { hz: if g.running() { source } else { 0 }, divisor: g.divisor(), one: g.one() }
        });
        self.gpout.set(sys, drives);
    }

    /// Handles an edge of a clock output on a watched pin.
    pub fn event(&mut self, sys: &mut Sys) {
        self.gpout.update(sys);
    }

    /// Handles a change of the pins' functions, levels or watchers.
    pub fn reschedule(&mut self, sys: &mut Sys) {
        if self.gpout.drives_pins(sys) {
            self.gpout.update(sys);
        }
    }

    /// Returns whether the level of a pin may be out of date until [`Self::refresh_pins`].
    pub fn drives_pins(&self, sys: &Sys) -> bool {
        self.gpout.drives_pins(sys)
    }

    /// Brings the levels of the clock outputs up to date.
    pub fn refresh_pins(&mut self, sys: &mut Sys) {
        self.gpout.update(sys);
    }

    fn update_irq(&self, sys: &mut Sys) {
        sys.set_irq(self.wires.irq, self.ints() != 0);
    }

    /// Returns the offset in version 0 of a register that both versions have.
    fn common(&self, offset: u32) -> Option<u32> {
        match (self.wires.version, offset) {
            (Version::V1, DFTCLK..0x84) => None,
            (Version::V1, 0x84..) => Some(offset - 12),
            _ => Some(offset),
        }
    }

    fn ints(&self) -> u32 {
        (u32::from(self.resussed) & self.inte) | self.intf
    }
}

impl Peripheral for Clocks {
    fn name(&self) -> &'static str {
        "CLOCKS"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        let Some(offset) = self.common(offset) else { return self.dftclk[((offset - DFTCLK) / 4) as usize] };
        match offset {
            0x00..=0x74 => {
                let index = (offset / 12) as usize;
                let g = &self.generators[index];
                match offset % 12 {
                    0 => g.ctrl,
                    4 => g.div & g.div_mask,
                    _ => match index {
                        generator::REF => 1 << (g.ctrl & 3),
                        generator::SYS if self.resussed => 1,
                        generator::SYS => 1 << (g.ctrl & 1),
                        _ => 1,
                    },
                }
            }
            0x78 => self.resus_ctrl,
            0x7c => u32::from(self.resussed),
            0x80 => self.fc0.ref_khz,
            0x84 => self.fc0.min_khz,
            0x88 => self.fc0.max_khz,
            0x8c => self.fc0.delay,
            0x90 => self.fc0.interval,
            0x94 => self.fc0.src,
            0x98 => self.fc0.status(sys.now()),
            0x9c => self.fc0.test.map_or(0, |(end, result)| if sys.now() >= end { result } else { 0 }),
            0xa0 | 0xa4 => self.wake_en[usize::from(offset == 0xa4)],
            0xa8 | 0xac => self.sleep_en[usize::from(offset == 0xac)],
            // A core that reads this is awake.
            0xb0 | 0xb4 => self.wake_en[usize::from(offset == 0xb4)],
            0xb8 => u32::from(self.resussed),
            0xbc => self.inte,
            0xc0 => self.intf,
            0xc4 => self.ints(),
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        let Some(offset) = self.common(offset) else {
            let dftclk = &mut self.dftclk[((offset - DFTCLK) / 4) as usize];
            *dftclk = write.apply_masked(*dftclk, 3);
            return;
        };
        match offset {
            0x00..=0x74 => {
                let index = (offset / 12) as usize;
                let g = &mut self.generators[index];
                match offset % 12 {
                    0 => g.ctrl = write.apply_masked(g.ctrl, g.ctrl_mask),
                    4 => g.div = write.apply_masked(g.div, g.div_mask),
                    _ => {}
                }
                sys.clock_sources_dirty = true;
            }
            0x78 => {
                self.resus_ctrl = write.apply_masked(self.resus_ctrl, 0x0001_11ff);
                if self.resus_ctrl & resus::CLEAR != 0 {
                    self.resussed = false;
                }
                sys.clock_sources_dirty = true;
            }
            0x80 => self.fc0.ref_khz = write.apply_masked(self.fc0.ref_khz, 0xf_ffff),
            0x84 => self.fc0.min_khz = write.apply_masked(self.fc0.min_khz, 0x1ff_ffff),
            0x88 => self.fc0.max_khz = write.apply_masked(self.fc0.max_khz, 0x1ff_ffff),
            0x8c => self.fc0.delay = write.apply_masked(self.fc0.delay, 7),
            0x90 => self.fc0.interval = write.apply_masked(self.fc0.interval, 15),
            0x94 => {
                self.fc0.src = write.apply_masked(self.fc0.src, 0xff);
                if matches!(self.fc0.src, 6 | 7) {
                    unmodelled(sys, "CLOCKS.FC0_SRC of a GPIN", offset, Some(write.bits));
                }
                self.fc0.start(sys);
            }
            0xa0 => self.wake_en[0] = write.apply(self.wake_en[0]),
            0xa4 => self.wake_en[1] = write.apply_masked(self.wake_en[1], self.wires.version.en1_mask()),
            0xa8 => self.sleep_en[0] = write.apply(self.sleep_en[0]),
            0xac => self.sleep_en[1] = write.apply_masked(self.sleep_en[1], self.wires.version.en1_mask()),
            0xbc => self.inte = write.apply_masked(self.inte, 1),
            0xc0 => self.intf = write.apply_masked(self.intf, 1),
            _ => {}
        }
        self.update_irq(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.wires);
        sys.clock_sources_dirty = true;
        self.update_irq(sys);
    }
}

#[cfg(test)]
mod tests;
