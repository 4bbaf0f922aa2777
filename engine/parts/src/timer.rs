//! TIMER: the 64-bit microsecond counter and its four alarms (datasheet 4.6).
//!
//! An alarm set to the current value of the counter's low word fires at once. DBGPAUSE has no effect: no debugger is
//! attached.

use crate::wires::{TimerWires, Version};
use chip::{Peripheral, Sys, Write, unmodelled};
use sim::{NEVER, Ps, Snapshot};

/// A read of it latches TIMEHR.
const TIMELR: u32 = 0x0c;
/// Registers that only version 1 has, before the interrupts. With SOURCE the counter runs at clk_sys.
const LOCKED: u32 = 0x34;
const SOURCE: u32 = 0x38;

/// A 64-bit timer with four alarms.
#[derive(Debug, Snapshot)]
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
        self.time_at(sys, sys.now())
    }

    fn time_at(&self, sys: &Sys, now: Ps) -> u64 {
        if self.pause != 0 { self.offset } else { sys.ticks[self.wires.tick].count(now).wrapping_add(self.offset) }
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

    /// Returns what a read of a register at `now` gives; `None`: it also has an effect. No other access or event comes
    /// before.
    pub fn peek(&self, sys: &Sys, offset: u32, now: Ps) -> Option<u32> {
        (offset != TIMELR).then(|| self.read_at(sys, offset, now))
    }

    fn read_at(&self, sys: &Sys, offset: u32, now: Ps) -> u32 {
        let Some(offset) = self.common(offset) else {
            return u32::from(offset == LOCKED && self.locked);
        };
        match offset {
            0x08 => self.high_latched,
            0x10..=0x1c => self.alarms[((offset - 0x10) / 4) as usize],
            0x20 => self.armed,
            0x24 => (self.time_at(sys, now) >> 32) as u32,
            0x28 => self.time_at(sys, now) as u32,
            0x2c => self.dbgpause,
            0x30 => self.pause,
            0x34 => self.intr,
            0x38 => self.inte,
            0x3c => self.intf,
            0x40 => self.ints(),
            _ => 0,
        }
    }
}

impl Peripheral for Timer {
    fn name(&self) -> &'static str {
        self.wires.name
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        if offset == TIMELR {
            let time = self.time(sys);
            self.high_latched = (time >> 32) as u32;
            return time as u32;
        }
        self.read_at(sys, offset, sys.now())
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
mod tests;
