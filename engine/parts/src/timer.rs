//! TIMER: the 64-bit microsecond counter and its four alarms (datasheet 4.6).
//!
//! An alarm set to the current value of the counter's low word fires at once. DBGPAUSE has no effect: no debugger is
//! attached.

use crate::sys::Sys;
use crate::wires::{TimerWires, Version};
use crate::{Peripheral, Write, unmodelled};
use sim::NEVER;

/// Registers that only version 1 has, before the interrupts. With SOURCE the counter runs at clk_sys.
const LOCKED: u32 = 0x34;
const SOURCE: u32 = 0x38;

/// A 64-bit timer with four alarms.
#[derive(Debug)]
pub struct Timer {
    wires: TimerWires,
    /// The counter is its tick's count plus this while it runs, and this while paused.
    offset: u64,
    /// TIMELW, until TIMEHW is written.
    low_written: u32,
    /// TIMEHR as latched by the last read of TIMELR.
    high_latched: u32,
    alarms: [u32; 4],
    armed: u32,
    pause: u32,
    dbgpause: u32,
    intr: u32,
    inte: u32,
    intf: u32,
    /// LOCKED: the registers cannot be written until a reset.
    locked: bool,
}

impl Timer {
    /// Returns the part in its reset state, connected by `wires`.
    pub fn new(wires: TimerWires) -> Self {
        Self {
            wires,
            offset: 0,
            low_written: 0,
            high_latched: 0,
            alarms: [0; 4],
            armed: 0,
            pause: 0,
            dbgpause: 7,
            intr: 0,
            inte: 0,
            intf: 0,
            locked: false,
        }
    }
}

impl Timer {
    /// Returns the microseconds counted so far.
    pub(crate) fn time(&self, sys: &Sys) -> u64 {
        if self.pause != 0 {
            self.offset
        } else {
            sys.ticks[self.wires.tick].count(sys.now()).wrapping_add(self.offset)
        }
    }

    fn set_time(&mut self, sys: &Sys, time: u64) {
        self.offset =
            if self.pause != 0 { time } else { time.wrapping_sub(sys.ticks[self.wires.tick].count(sys.now())) };
    }

    /// Handles the event of the next alarm.
    pub fn event(&mut self, sys: &mut Sys) {
        self.update(sys);
    }

    /// Handles a change of the tick's rate.
    pub fn clocks_changed(&mut self, sys: &mut Sys) {
        self.update(sys);
    }

    /// Fires due alarms and schedules the others.
    fn update(&mut self, sys: &mut Sys) {
        let time = self.time(sys);
        let mut next: Option<u32> = None;
        for (i, &alarm) in self.alarms.iter().enumerate() {
            if self.armed & (1 << i) != 0 {
                match alarm.wrapping_sub(time as u32) {
                    0 => {
                        self.armed &= !(1 << i);
                        self.intr |= 1 << i;
                    }
                    ahead => next = Some(next.map_or(ahead, |n| n.min(ahead))),
                }
            }
        }
        let at = match next {
            Some(ahead) if self.pause == 0 => {
                let ticks = sys.ticks[self.wires.tick].count(sys.now());
                sys.ticks[self.wires.tick].time_of(ticks.wrapping_add(u64::from(ahead)))
            }
            _ => NEVER,
        };
        sys.schedule(self.wires.event, at);
        self.update_irqs(sys);
    }

    /// Returns the offset in version 0 of a register that both versions have.
    fn common(&self, offset: u32) -> Option<u32> {
        match (self.wires.version, offset) {
            (Version::V1, LOCKED | SOURCE) => None,
            (Version::V1, 0x3c..) => Some(offset - 8),
            _ => Some(offset),
        }
    }

    fn ints(&self) -> u32 {
        (self.intr & self.inte) | self.intf
    }

    fn update_irqs(&self, sys: &mut Sys) {
        for i in 0..4 {
            sys.set_irq(self.wires.irq + i, self.ints() & (1 << i) != 0);
        }
    }
}

impl Peripheral for Timer {
    fn name(&self) -> &'static str {
        self.wires.name
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        let Some(offset) = self.common(offset) else {
            return u32::from(offset == LOCKED && self.locked);
        };
        match offset {
            0x08 => self.high_latched,
            0x0c => {
                let time = self.time(sys);
                self.high_latched = (time >> 32) as u32;
                time as u32
            }
            0x10..=0x1c => self.alarms[((offset - 0x10) / 4) as usize],
            0x20 => self.armed,
            0x24 => (self.time(sys) >> 32) as u32,
            0x28 => self.time(sys) as u32,
            0x2c => self.dbgpause,
            0x30 => self.pause,
            0x34 => self.intr,
            0x38 => self.inte,
            0x3c => self.intf,
            0x40 => self.ints(),
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        if self.locked {
            return;
        }
        let Some(offset) = self.common(offset) else {
            if offset == LOCKED {
                self.locked = write.apply(0) & 1 != 0;
            } else if write.apply(0) & 1 != 0 {
                unmodelled(sys, self.wires.name, offset, Some(write.bits));
            }
            return;
        };
        match offset {
            0x00 => self.set_time(sys, (u64::from(write.apply(0)) << 32) | u64::from(self.low_written)),
            0x04 => self.low_written = write.apply(0),
            0x10..=0x1c => {
                let i = ((offset - 0x10) / 4) as usize;
                self.alarms[i] = write.apply(self.alarms[i]);
                self.armed |= 1 << i;
            }
            0x20 => self.armed &= !write.ones(),
            0x2c => self.dbgpause = write.apply_masked(self.dbgpause, 6),
            0x30 => {
                let time = self.time(sys);
                self.pause = write.apply_masked(self.pause, 1);
                self.set_time(sys, time);
            }
            0x34 => self.intr &= !write.ones(),
            0x38 => self.inte = write.apply_masked(self.inte, 15),
            0x3c => self.intf = write.apply_masked(self.intf, 15),
            _ => {}
        }
        self.update(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.wires);
        self.set_time(sys, 0);
        self.update(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, event};
    use sim::PS_PER_US;

    /// Returns a timer with a 1 MHz tick from 12 MHz, clk_sys 12 MHz.
    fn ticking() -> (Sys, Timer) {
        let mut sys = testing::sys(12_000_000);
        sys.ticks[0].set_rate(0, 12_000_000, 12);
        (sys, testing::timer())
    }

    fn fire(sys: &mut Sys, timer: &mut Timer) {
        let due = sys.due(event::TIMER);
        assert_eq!(sys.take_event(due), Some(event::TIMER));
        timer.event(sys);
        assert_eq!(sys.take_event(0), None);
        sys.cycle = sys.clock.cycle_at(due);
    }

    #[test]
    fn reset_values() {
        let (mut sys, mut timer) = ticking();
        for offset in (0..=0x40).step_by(4) {
            assert_eq!(timer.read(&mut sys, offset), if offset == 0x2c { 7 } else { 0 }, "0x{offset:02x}");
        }
    }

    #[test]
    fn latched_and_raw_reads() {
        let (mut sys, mut timer) = ticking();
        let (s, t) = (&mut sys, &mut timer);
        t.write(s, 0x04, Write::normal(0xffff_fff0));
        assert_eq!(t.read(s, 0x28), 0);
        t.write(s, 0x00, Write::normal(7));
        s.cycle = 12 * 15;
        assert_eq!(t.read(s, 0x0c), 0xffff_ffff);
        s.cycle = 12 * 16;
        assert_eq!((t.read(s, 0x08), t.read(s, 0x24), t.read(s, 0x28)), (7, 8, 0));
        assert_eq!((t.read(s, 0x0c), t.read(s, 0x08)), (0, 8));
    }

    #[test]
    fn alarms_fire_at_the_exact_microsecond() {
        let (mut sys, mut timer) = ticking();
        let (s, t) = (&mut sys, &mut timer);
        s.cycle = 5;
        t.write(s, 0x38, Write::normal(0b0101));
        t.write(s, 0x10, Write::normal(1000));
        t.write(s, 0x14, Write::normal(500));
        assert_eq!((t.read(s, 0x20), s.due(event::TIMER)), (3, 500 * PS_PER_US));
        fire(s, t);
        assert_eq!((t.read(s, 0x20), t.read(s, 0x34), t.read(s, 0x40)), (1, 2, 0));
        assert_eq!(s.irq_level() & 15, 0);
        assert_eq!(s.due(event::TIMER), 1000 * PS_PER_US);
        fire(s, t);
        assert_eq!((s.irq_level() & 15, t.read(s, 0x40)), (1, 1));
        t.write(s, 0x34, Write { bits: 1, alias: crate::Alias::Clear });
        assert_eq!((s.irq_level() & 15, t.read(s, 0x34)), (0, 2));
        // A value that has just passed waits for the wrap; disarming cancels it.
        t.write(s, 0x18, Write::normal(999));
        assert_eq!(s.due(event::TIMER), (1000 + (1 << 32) - 1) * PS_PER_US);
        t.write(s, 0x20, Write::normal(4));
        assert_eq!(s.due(event::TIMER), NEVER);
        t.write(s, 0x3c, Write::normal(8));
        assert_eq!(s.irq_level() & 15, 8);
    }

    #[test]
    fn pause_and_rate_changes() {
        let (mut sys, mut timer) = ticking();
        let (s, t) = (&mut sys, &mut timer);
        t.write(s, 0x1c, Write::normal(100));
        s.cycle = 12 * 40;
        t.write(s, 0x30, Write::normal(1));
        assert_eq!(s.due(event::TIMER), NEVER);
        s.cycle = 12 * 60;
        assert_eq!(t.read(s, 0x28), 40);
        t.write(s, 0x30, Write::normal(0));
        assert_eq!(s.due(event::TIMER), 120 * PS_PER_US);
        // Half the tick rate: the remaining 60 ticks take twice as long.
        let now = s.now();
        s.ticks[0].set_rate(now, 6_000_000, 12);
        t.clocks_changed(s);
        assert_eq!(s.due(event::TIMER), 180 * PS_PER_US);
        t.reset(s);
        assert_eq!((t.read(s, 0x28), s.due(event::TIMER)), (0, NEVER));
    }

    #[test]
    fn version_1_locks_and_has_its_interrupts_further_on() {
        let (mut sys, _) = ticking();
        sys.ticks[3].set_rate(0, 12_000_000, 6);
        let wires = TimerWires { name: "TIMER1", event: event::TIMER, irq: 4, tick: 3, version: Version::V1 };
        let mut timer = Timer::new(wires);
        let (s, t) = (&mut sys, &mut timer);
        t.write(s, 0x40, Write::normal(1));
        t.write(s, 0x10, Write::normal(1000));
        assert_eq!((t.read(s, 0x40), s.due(event::TIMER)), (1, 500 * PS_PER_US));
        fire(s, t);
        assert_eq!((s.irq_level(), t.read(s, 0x3c), t.read(s, 0x48)), (1 << 4, 1, 1));
        t.write(s, 0x3c, Write::normal(1));
        assert_eq!(s.irq_level(), 0);
        t.write(s, 0x34, Write::normal(1));
        t.write(s, 0x10, Write::normal(9999));
        assert_eq!((t.read(s, 0x34), t.read(s, 0x10), s.unmodelled.clone()), (1, 1000, None));
        t.reset(s);
        t.write(s, 0x38, Write::normal(1));
        assert!(s.unmodelled.is_some(), "it counts clk_sys");
    }
}
