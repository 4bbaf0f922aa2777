//! XOSC, the crystal oscillator: 12 MHz on this board (datasheet 2.16).
//!
//! DORMANT stops it at once. It starts with the next wake-up, and is stable after its startup delay.

use crate::wires::Version;
use chip::sys::dormant;
use chip::ticks::Ticks;
use chip::{Event, Peripheral, Sys, Write};
use sim::{NEVER, Ps, Snapshot};

/// Frequency of the crystal on the W5500-EVB-Pico.
pub(crate) const CRYSTAL_HZ: u64 = 12_000_000;

const ENABLE: u32 = 0xfab;
const DISABLE: u32 = 0xd1e;
const FREQ_RANGE_1_15MHZ: u32 = 0xaa0;
const DORMANT: u32 = 0x636f_6d61;
const WAKE: u32 = 0x7761_6b65;

/// The crystal oscillator.
#[derive(Debug, Snapshot)]
pub struct Xosc {
    event: Event,
    version: Version,
    ctrl: u32,
    startup: u32,
    bad_write: bool,
    enabled_at: Option<Ps>,
    stable: bool,
    dormant: bool,
    /// Value last written to COUNT, and the oscillator's cycles since then.
    count: u32,
    counter: Ticks,
}

impl Xosc {
    /// Returns the oscillator after reset: stopped, with the registers of `version`.
    pub fn new(event: Event, version: Version) -> Self {
        Self {
            event,
            version,
            ctrl: (DISABLE << 12) | FREQ_RANGE_1_15MHZ,
            startup: 0xc4,
            bad_write: false,
            enabled_at: None,
            stable: false,
            dormant: false,
            count: 0,
            counter: Ticks::default(),
        }
    }
}

impl Xosc {
    /// Handles the end of the startup delay.
    pub fn event(&mut self, sys: &mut Sys) {
        self.stable = true;
        sys.dormant &= !dormant::XOSC;
        self.set_output(sys);
    }

    /// Ends DORMANT: the chip's wake-up signal is high.
    pub fn wake(&mut self, sys: &mut Sys) {
        if std::mem::take(&mut self.dormant) {
            self.enabled_at = self.enabled_at.map(|_| sys.now());
            self.schedule(sys);
        }
    }

    fn set_output(&mut self, sys: &mut Sys) {
        let hz = if self.stable { CRYSTAL_HZ } else { 0 };
        if hz != sys.freq.xosc_hz {
            let now = sys.now();
            sys.freq.xosc_hz = hz;
            self.counter.set_rate(now, hz, 1);
            sys.clock_sources_dirty = true;
        }
    }

    fn delay_ps(&self) -> Ps {
        let multiple = if self.startup & (1 << 20) != 0 { 4 } else { 1 };
        let cycles = u64::from(self.startup & 0x3fff) * 256 * multiple;
        cycles * 1_000_000 / (CRYSTAL_HZ / 1_000_000)
    }

    fn schedule(&self, sys: &mut Sys) {
        let at = match self.enabled_at {
            Some(enabled) if !self.stable && !self.dormant => enabled.saturating_add(self.delay_ps()).max(sys.now()),
            _ => NEVER,
        };
        sys.schedule(self.event, at);
    }

    /// Returns the offset of COUNT and its bits.
    fn counter_at(&self) -> (u32, u32) {
        match self.version {
            Version::V0 => (0x1c, 0xff),
            Version::V1 => (0x10, 0xffff),
        }
    }

    fn count(&self, sys: &Sys) -> u32 {
        u64::from(self.count).saturating_sub(self.counter.count(sys.now())) as u32
    }
}

impl Peripheral for Xosc {
    fn name(&self) -> &'static str {
        "XOSC"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 => self.ctrl,
            0x04 => {
                (u32::from(self.stable) << 31)
                    | (u32::from(self.bad_write) << 24)
                    | (u32::from(self.enabled_at.is_some()) << 12)
            }
            0x08 if self.dormant => DORMANT,
            0x08 => WAKE,
            0x0c => self.startup,
            _ if offset == self.counter_at().0 => self.count(sys),
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x00 => {
                self.ctrl = write.apply_masked(self.ctrl, 0x00ff_ffff);
                let (enable, range) = (self.ctrl >> 12, self.ctrl & 0xfff);
                if !matches!(enable, ENABLE | DISABLE) || !(0xaa0..=0xaa3).contains(&range) {
                    self.bad_write = true;
                }
                // Any value but DISABLE enables the oscillator.
                if enable == DISABLE {
                    sys.dormant &= !dormant::XOSC;
                    (self.enabled_at, self.stable, self.dormant) = (None, false, false);
                    self.set_output(sys);
                } else if self.enabled_at.is_none() {
                    self.enabled_at = Some(sys.now());
                }
                self.schedule(sys);
            }
            0x04 if write.ones() & (1 << 24) != 0 => self.bad_write = false,
            0x08 => match write.apply(WAKE) {
                DORMANT => {
                    sys.dormant |= dormant::XOSC;
                    (self.dormant, self.stable) = (true, false);
                    self.schedule(sys);
                    self.set_output(sys);
                }
                WAKE => {}
                _ => self.bad_write = true,
            },
            0x0c => {
                self.startup = write.apply_masked(self.startup, 0x0010_3fff);
                self.schedule(sys);
            }
            _ if offset == self.counter_at().0 => {
                self.count = write.apply(self.count(sys)) & self.counter_at().1;
                self.counter = Ticks::default();
                self.counter.set_rate(sys.now(), sys.freq.xosc_hz, 1);
            }
            _ => {}
        }
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.event, self.version);
        sys.cancel(self.event);
        sys.dormant &= !dormant::XOSC;
        self.set_output(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, event};

    #[test]
    fn it_is_stable_after_the_startup_delay() {
        let mut sys = testing::sys(6_500_000);
        let mut xosc = testing::xosc();
        for (offset, value) in [(0x0, 0x00d1_eaa0), (0x4, 0), (0x8, WAKE), (0xc, 0xc4), (0x1c, 0)] {
            assert_eq!(xosc.read(&mut sys, offset), value);
        }
        xosc.write(&mut sys, 0xc, Write::normal(47));
        xosc.write(&mut sys, 0x0, Write::normal(0x00fa_baa0));
        assert_eq!(xosc.read(&mut sys, 4), 1 << 12);
        assert_eq!(sys.due(event::XOSC), 47 * 256 * 1_000_000 / 12);
        let due = sys.due(event::XOSC);
        assert_eq!(sys.take_event(due), Some(event::XOSC));
        sys.clock_sources_dirty = false;
        xosc.event(&mut sys);
        assert_eq!(sys.freq.xosc_hz, CRYSTAL_HZ);
        assert!(sys.clock_sources_dirty);
        assert_eq!(xosc.read(&mut sys, 4), (1 << 31) | (1 << 12));
        xosc.write(&mut sys, 0, Write::normal(0x00d1_eaa0));
        assert_eq!((sys.freq.xosc_hz, xosc.read(&mut sys, 4)), (0, 0));
    }

    #[test]
    fn the_sdk_order_of_writes_uses_the_delay_written_last() {
        let mut sys = testing::sys(6_500_000);
        let mut xosc = testing::xosc();
        xosc.write(&mut sys, 0x0, Write::normal(0xaa0));
        sys.cycle = 100;
        xosc.write(&mut sys, 0xc, Write::normal(47));
        xosc.write(&mut sys, 0x0, Write { bits: 0x00fa_b000, alias: chip::Alias::Set });
        assert_eq!(sys.due(event::XOSC), 47 * 256 * 1_000_000 / 12);
        assert_ne!(xosc.read(&mut sys, 4) & (1 << 24), 0);
        xosc.write(&mut sys, 4, Write::normal(1 << 24));
        assert_eq!(xosc.read(&mut sys, 4) & (1 << 24), 0);
    }

    #[test]
    fn dormant_stops_it_until_a_wake_up() {
        let mut sys = testing::sys(12_000_000);
        let mut xosc = testing::xosc();
        xosc.write(&mut sys, 0xc, Write::normal(47));
        xosc.write(&mut sys, 0x0, Write::normal(0x00fa_baa0));
        let start = sys.due(event::XOSC);
        sys.take_event(start);
        xosc.event(&mut sys);
        sys.take_event(start);
        sys.cycle = 1_000_000;
        xosc.write(&mut sys, 0x8, Write::normal(0x1234_5678));
        assert_eq!((xosc.read(&mut sys, 4) >> 24 & 1, sys.freq.xosc_hz), (1, CRYSTAL_HZ), "not its key");
        xosc.write(&mut sys, 0x8, Write::normal(DORMANT));
        assert_eq!((xosc.read(&mut sys, 8), sys.freq.xosc_hz, sys.due(event::XOSC)), (DORMANT, 0, NEVER));
        // It stays enabled, and is not stable.
        assert_eq!(xosc.read(&mut sys, 4) & (1 << 31 | 1 << 12), 1 << 12);
        sys.cycle = 2_000_000;
        xosc.wake(&mut sys);
        assert_eq!((xosc.read(&mut sys, 8), sys.freq.xosc_hz), (WAKE, 0));
        assert_eq!((sys.due(event::XOSC), sys.dormant & dormant::XOSC), (sys.now() + start, dormant::XOSC));
        xosc.event(&mut sys);
        assert_eq!((sys.freq.xosc_hz, sys.dormant & dormant::XOSC), (CRYSTAL_HZ, 0));
    }

    #[test]
    fn count_runs_down_and_stops() {
        let mut sys = testing::sys(12_000_000);
        let mut xosc = testing::xosc();
        xosc.write(&mut sys, 0xc, Write::normal(0));
        xosc.write(&mut sys, 0x0, Write::normal(0x00fa_baa0));
        assert_eq!(sys.take_event(0), Some(event::XOSC));
        xosc.event(&mut sys);
        assert_eq!(sys.take_event(0), None);
        xosc.write(&mut sys, 0x1c, Write::normal(200));
        sys.cycle = 150;
        assert_eq!(xosc.read(&mut sys, 0x1c), 50);
        sys.cycle = 1000;
        assert_eq!(xosc.read(&mut sys, 0x1c), 0);
    }

    #[test]
    fn version_1_counts_16_bits() {
        let mut sys = testing::sys(12_000_000);
        let mut xosc = Xosc::new(event::XOSC, Version::V1);
        sys.freq.xosc_hz = 12_000_000;
        xosc.write(&mut sys, 0x10, Write::normal(0x1_1234));
        sys.cycle = 4;
        assert_eq!((xosc.read(&mut sys, 0x10), xosc.read(&mut sys, 0x1c)), (0x1230, 0));
    }
}
