//! WATCHDOG: the watchdog timer, the scratch registers and the tick generator (datasheet 4.7).
//!
//! In version 0 the tick divides clk_ref by TICK.CYCLES and drives TIMER, the watchdog itself and SysTick's external
//! reference. As on every RP2040, that watchdog counts down by two at each tick (erratum RP2040-E1). Version 1 has its
//! tick from TICKS, and counts by one. The PAUSE bits have no effect: no debugger is attached.

use crate::wires::{Version, WatchdogWires};
use chip::sys::ResetRequest;
use chip::{Peripheral, Sys, Write};
use sim::{NEVER, Snapshot};

const TRIGGER: u32 = 1 << 31;
const ENABLE: u32 = 1 << 30;
const PAUSE: u32 = 7 << 24;
const TIME_MASK: u32 = 0x00ff_ffff;
const TICK_ENABLE: u32 = 1 << 9;
const TICK_RUNNING: u32 = 1 << 10;
const CYCLES_MASK: u32 = 0x1ff;

const REASON_TIMER: u32 = 1 << 0;
const REASON_FORCE: u32 = 1 << 1;

/// The watchdog, with its scratch registers.
#[derive(Debug, Snapshot)]
pub struct Watchdog {
    wires: WatchdogWires,
    /// ENABLE and PAUSE bits.
    ctrl: u32,
    /// TIME when the watchdog was last loaded, enabled or paused, and the tick at which that was.
    time: u32,
    since_tick: u64,
    reason: u32,
    scratch: [u32; 8],
    tick: u32,
}

impl Watchdog {
    /// Returns the part in its reset state, connected by `wires`.
    pub fn new(wires: WatchdogWires) -> Self {
        Self { wires, ctrl: PAUSE, time: 0, since_tick: 0, reason: 0, scratch: [0; 8], tick: TICK_ENABLE }
    }
}

impl Watchdog {
    /// Handles the expiry of the timer.
    pub fn event(&mut self, sys: &mut Sys) {
        sys.request_reset(ResetRequest::Watchdog { timer: true });
    }

    /// Performs a watchdog reset: REASON gives the cause, SCRATCH keeps its contents, everything else is reset.
    pub fn watchdog_reset(&mut self, sys: &mut Sys, timer: bool) {
        let scratch = self.scratch;
        self.reset(sys);
        self.scratch = scratch;
        self.reason = if timer { REASON_TIMER } else { REASON_FORCE };
    }

    /// Handles a change of clk_ref.
    pub fn clocks_changed(&mut self, sys: &mut Sys) {
        if self.wires.version == Version::V1 {
            self.schedule(sys);
            return;
        }
        let cycles = u64::from(self.tick & CYCLES_MASK);
        let hz = if self.tick & TICK_ENABLE != 0 && cycles != 0 { sys.freq.clk_ref_hz } else { 0 };
        let now = sys.now();
        sys.freq.tick_hz = if hz == 0 { 0 } else { hz / cycles };
        sys.ticks[self.wires.tick].set_rate(now, hz, cycles);
        self.schedule(sys);
    }

    /// Returns what a tick takes off the time.
    fn step(&self) -> u32 {
        match self.wires.version {
            Version::V0 => 2,
            Version::V1 => 1,
        }
    }

    fn enabled(&self) -> bool {
        self.ctrl & ENABLE != 0
    }

    fn time(&self, sys: &Sys) -> u32 {
        if !self.enabled() {
            return self.time;
        }
        let ticks = sys.ticks[self.wires.tick].count(sys.now()).saturating_sub(self.since_tick);
        u64::from(self.time).saturating_sub(ticks.saturating_mul(self.step().into())) as u32
    }

    fn rebase(&mut self, sys: &Sys) {
        self.time = self.time(sys);
        self.since_tick = sys.ticks[self.wires.tick].count(sys.now());
    }

    fn schedule(&self, sys: &mut Sys) {
        let at = if self.enabled() {
            let ticks = u64::from(self.time.div_ceil(self.step())).max(1);
            sys.ticks[self.wires.tick].time_of(self.since_tick + ticks).max(sys.now())
        } else {
            NEVER
        };
        sys.schedule(self.wires.event, at);
    }
}

impl Peripheral for Watchdog {
    fn name(&self) -> &'static str {
        "WATCHDOG"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 => self.ctrl | self.time(sys),
            0x08 => self.reason,
            0x0c..=0x28 => self.scratch[((offset - 0x0c) / 4) as usize],
            0x2c if self.wires.version == Version::V0 => {
                let cycles = self.tick & CYCLES_MASK;
                let running = sys.ticks[self.wires.tick].running();
                let count = if running {
                    cycles.saturating_sub(sys.ticks[self.wires.tick].cycles_into_tick(sys.now()) as u32)
                } else {
                    0
                };
                self.tick | if running { TICK_RUNNING } else { 0 } | (count << 11)
            }
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x00 => {
                let value = write.apply(self.ctrl);
                self.rebase(sys);
                self.ctrl = value & (ENABLE | PAUSE);
                self.schedule(sys);
                if value & TRIGGER != 0 {
                    sys.request_reset(ResetRequest::Watchdog { timer: false });
                }
            }
            0x04 => {
                self.time = write.apply(0) & TIME_MASK;
                self.since_tick = sys.ticks[self.wires.tick].count(sys.now());
                self.schedule(sys);
            }
            0x0c..=0x28 => {
                let scratch = &mut self.scratch[((offset - 0x0c) / 4) as usize];
                *scratch = write.apply(*scratch);
            }
            0x2c if self.wires.version == Version::V0 => {
                self.tick = write.apply_masked(self.tick, TICK_ENABLE | CYCLES_MASK);
                sys.clock_sources_dirty = true;
            }
            _ => {}
        }
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.wires);
        sys.cancel(self.wires.event);
        sys.clock_sources_dirty = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, event};
    use sim::PS_PER_US;

    fn ticking() -> (Sys, Watchdog) {
        let mut sys = testing::sys(12_000_000);
        sys.freq.clk_ref_hz = 12_000_000;
        let mut watchdog = testing::watchdog();
        watchdog.write(&mut sys, 0x2c, Write::normal(TICK_ENABLE | 12));
        watchdog.clocks_changed(&mut sys);
        (sys, watchdog)
    }

    #[test]
    fn reset_values() {
        let mut sys = testing::sys(12_000_000);
        let mut watchdog = testing::watchdog();
        for (offset, value) in [(0x00, 0x0700_0000), (0x04, 0), (0x08, 0), (0x0c, 0), (0x28, 0), (0x2c, 0x200)] {
            assert_eq!(watchdog.read(&mut sys, offset), value);
        }
    }

    #[test]
    fn tick_runs_at_one_mhz() {
        let (mut sys, mut watchdog) = ticking();
        assert_eq!(sys.freq.tick_hz, 1_000_000);
        sys.cycle = 12 * 1000 + 5;
        assert_eq!(sys.ticks[0].count(sys.now()), 1000);
        assert_eq!(watchdog.read(&mut sys, 0x2c), TICK_RUNNING | TICK_ENABLE | 12 | (7 << 11));
    }

    #[test]
    fn it_counts_by_two_and_fires_at_the_exact_tick() {
        let (mut sys, mut watchdog) = ticking();
        let (s, w) = (&mut sys, &mut watchdog);
        w.write(s, 0x04, Write::normal(2001));
        w.write(s, 0x00, Write { bits: ENABLE, alias: chip::Alias::Set });
        assert_eq!(s.due(event::WATCHDOG), 1001 * PS_PER_US);
        s.cycle = 12 * 600;
        assert_eq!(w.read(s, 0), ENABLE | PAUSE | 801);
        // Feeding restarts it.
        w.write(s, 0x04, Write::normal(2000));
        assert_eq!(s.due(event::WATCHDOG), 1600 * PS_PER_US);
        // Disabling pauses it.
        s.cycle = 12 * 700;
        w.write(s, 0x00, Write { bits: ENABLE, alias: chip::Alias::Clear });
        assert_eq!((w.read(s, 0), s.due(event::WATCHDOG)), (PAUSE | 1800, NEVER));
        s.cycle = 12 * 1700;
        w.write(s, 0x00, Write { bits: ENABLE, alias: chip::Alias::Set });
        assert_eq!(s.due(event::WATCHDOG), 2600 * PS_PER_US);
        assert_eq!(s.take_event(2600 * PS_PER_US), Some(event::WATCHDOG));
        w.event(s);
        assert_eq!(s.reset_request, Some(ResetRequest::Watchdog { timer: true }));
    }

    #[test]
    fn trigger_and_scratch() {
        let (mut sys, mut watchdog) = ticking();
        let (s, w) = (&mut sys, &mut watchdog);
        for i in 0..8 {
            w.write(s, 0x0c + 4 * i, Write::normal(0x1111_1111 * i));
        }
        w.write(s, 0, Write { bits: TRIGGER, alias: chip::Alias::Set });
        assert_eq!(s.reset_request, Some(ResetRequest::Watchdog { timer: false }));
        w.watchdog_reset(s, false);
        assert_eq!(
            (w.read(s, 0x08), w.read(s, 0x14), w.read(s, 0x2c)),
            (REASON_FORCE, 0x2222_2222, 0x200 | TICK_RUNNING)
        );
        w.clocks_changed(s);
        assert_eq!(w.read(s, 0x2c), 0x200);
        w.reset(s);
        assert_eq!((w.read(s, 0x08), w.scratch), (0, [0; 8]));
    }

    #[test]
    fn version_1_counts_by_one_and_has_its_tick_from_elsewhere() {
        let mut sys = testing::sys(12_000_000);
        sys.ticks[4].set_rate(0, 12_000_000, 12);
        let mut watchdog = Watchdog::new(WatchdogWires { event: event::WATCHDOG, tick: 4, version: Version::V1 });
        let (s, w) = (&mut sys, &mut watchdog);
        w.write(s, 0x04, Write::normal(2000));
        w.write(s, 0x00, Write { bits: ENABLE, alias: chip::Alias::Set });
        assert_eq!(s.due(event::WATCHDOG), 2000 * PS_PER_US);
        s.cycle = 12 * 500;
        assert_eq!((w.read(s, 0), w.read(s, 0x2c)), (ENABLE | PAUSE | 1500, 0));
    }
}
