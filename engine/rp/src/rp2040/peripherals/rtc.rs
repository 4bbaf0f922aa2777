//! RTC: calendar and alarm (datasheet 4.8).
//!
//! RTC_ACTIVE and MATCH_ACTIVE follow their enables at once (on the chip within two cycles of clk_rtc). As the SDK
//! expects, the interrupt is a level that lasts as long as the alarm matches; the comment in its handler of repeating
//! alarms is "If it matches on a second it can keep firing for that second".

use super::{Peripheral, Write};
use crate::rp2040::wires::{event, irq};
use chip::Sys;
use chip::ticks::Ticks;
use sim::{NEVER, Snapshot};

const CTRL_ENABLE: u32 = 1 << 0;
const CTRL_ACTIVE: u32 = 1 << 1;
const CTRL_LOAD: u32 = 1 << 4;
const CTRL_FORCE_NOTLEAPYEAR: u32 = 1 << 8;
const MATCH_ENA: u32 = 1 << 28;
const MATCH_ACTIVE: u32 = 1 << 29;
const DATE_MASK: u32 = 0x00ff_ff1f;
const TIME_MASK: u32 = 0x071f_3f3f;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Snapshot)]
struct Calendar {
    year: u32,
    month: u32,
    day: u32,
    dotw: u32,
    hour: u32,
    min: u32,
    sec: u32,
}

impl Calendar {
    fn from_registers(date: u32, time: u32) -> Self {
        Self {
            year: (date >> 12) & 0xfff,
            month: (date >> 8) & 15,
            day: date & 31,
            dotw: (time >> 24) & 7,
            hour: (time >> 16) & 31,
            min: (time >> 8) & 63,
            sec: time & 63,
        }
    }

    fn date(&self) -> u32 {
        (self.year << 12) | (self.month << 8) | self.day
    }

    fn time(&self) -> u32 {
        (self.dotw << 24) | (self.hour << 16) | (self.min << 8) | self.sec
    }

    fn days_in_month(&self, leap_years: bool) -> u32 {
        match self.month {
            2 if leap_years && self.year.is_multiple_of(4) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// Adds one second to a time that may be out of range: each counter wraps at or above its last value.
    fn step(&mut self, leap_years: bool) {
        self.sec += 1;
        if self.sec <= 59 {
            return;
        }
        self.sec = 0;
        self.min += 1;
        if self.min <= 59 {
            return;
        }
        self.min = 0;
        self.hour += 1;
        if self.hour > 23 {
            self.hour = 0;
            self.add_days(1, leap_years);
        }
    }

    fn add_days(&mut self, days: u64, leap_years: bool) {
        if self.dotw > 6 {
            self.dotw = 6;
        }
        self.dotw = ((u64::from(self.dotw) + days) % 7) as u32;
        // The date repeats with the 12-bit year.
        let cycle = 4096 * 365 + if leap_years { 1024 } else { 0 };
        let mut days = if days > cycle { days % cycle + cycle } else { days };
        while days > 0 {
            let last = self.days_in_month(leap_years);
            if self.day < last {
                let step = days.min(u64::from(last - self.day));
                self.day += step as u32;
                days -= step;
            } else {
                days -= 1;
                self.day = 1;
                self.month += 1;
                if self.month > 12 {
                    self.month = 1;
                    self.year = (self.year + 1) & 0xfff;
                }
            }
        }
    }

    fn advance(&mut self, mut seconds: u64, leap_years: bool) {
        while seconds > 0 && (self.sec > 59 || self.min > 59 || self.hour > 23) {
            self.step(leap_years);
            seconds -= 1;
        }
        let of_day = u64::from(self.hour * 3600 + self.min * 60 + self.sec) + seconds;
        if seconds > 0 {
            let (days, of_day) = (of_day / 86_400, (of_day % 86_400) as u32);
            (self.hour, self.min, self.sec) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
            self.add_days(days, leap_years);
        }
    }
}

#[derive(Debug, Default, Snapshot)]
pub(crate) struct Rtc {
    clkdiv_m1: u32,
    setup_0: u32,
    setup_1: u32,
    ctrl: u32,
    irq_setup_0: u32,
    irq_setup_1: u32,
    inte: u32,
    intf: u32,
    /// Date and time at second `second` of `seconds`.
    calendar: Calendar,
    seconds: Ticks,
    second: u64,
    /// RTC_1 as latched by the last read of RTC_0.
    latched_date: u32,
}

impl Rtc {
    /// Handles the passing of a second while the alarm is enabled.
    pub(crate) fn event(&mut self, sys: &mut Sys) {
        self.update(sys);
    }

    /// Handles a change of clk_rtc.
    pub(crate) fn clocks_changed(&mut self, sys: &mut Sys) {
        self.catch_up(sys);
        self.set_rate(sys);
        self.update(sys);
    }

    fn set_rate(&mut self, sys: &Sys) {
        let hz = if self.ctrl & CTRL_ENABLE != 0 { sys.freq.clk_rtc_hz } else { 0 };
        self.seconds.set_rate(sys.now(), hz, u64::from(self.clkdiv_m1) + 1);
    }

    fn catch_up(&mut self, sys: &Sys) {
        // The two cores' accesses may be a few cycles out of order.
        let second = self.seconds.count(sys.now()).max(self.second);
        self.calendar.advance(second - self.second, self.ctrl & CTRL_FORCE_NOTLEAPYEAR == 0);
        self.second = second;
    }

    fn matches(&self) -> bool {
        let (setup_0, setup_1) = (self.irq_setup_0, self.irq_setup_1);
        let alarm = Calendar::from_registers(setup_0, setup_1);
        let now = self.calendar;
        let enabled = [
            (setup_0 >> 26 & 1, alarm.year == now.year),
            (setup_0 >> 25 & 1, alarm.month == now.month),
            (setup_0 >> 24 & 1, alarm.day == now.day),
            (setup_1 >> 31 & 1, alarm.dotw == now.dotw),
            (setup_1 >> 30 & 1, alarm.hour == now.hour),
            (setup_1 >> 29 & 1, alarm.min == now.min),
            (setup_1 >> 28 & 1, alarm.sec == now.sec),
        ];
        setup_0 & MATCH_ENA != 0 && enabled.iter().all(|&(enabled, same)| enabled == 0 || same)
    }

    fn ints(&self) -> u32 {
        (u32::from(self.matches()) & self.inte) | self.intf
    }

    fn update(&mut self, sys: &mut Sys) {
        self.catch_up(sys);
        let watched = self.irq_setup_0 & MATCH_ENA != 0 && self.inte != 0;
        let at = if watched { self.seconds.time_of(self.second.wrapping_add(1)) } else { NEVER };
        sys.schedule(event::RTC, at);
        sys.set_irq(irq::RTC, self.ints() != 0);
    }
}

impl Peripheral for Rtc {
    fn name(&self) -> &'static str {
        "RTC"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        self.catch_up(sys);
        match offset {
            0x00 => self.clkdiv_m1,
            0x04 => self.setup_0,
            0x08 => self.setup_1,
            0x0c => self.ctrl | if self.ctrl & CTRL_ENABLE != 0 { CTRL_ACTIVE } else { 0 },
            0x10 => self.irq_setup_0 | if self.irq_setup_0 & MATCH_ENA != 0 { MATCH_ACTIVE } else { 0 },
            0x14 => self.irq_setup_1,
            0x18 => self.latched_date,
            0x1c => {
                self.latched_date = self.calendar.date();
                self.calendar.time()
            }
            0x20 => u32::from(self.matches()),
            0x24 => self.inte,
            0x28 => self.intf,
            0x2c => self.ints(),
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        self.catch_up(sys);
        match offset {
            0x00 => {
                self.clkdiv_m1 = write.apply_masked(self.clkdiv_m1, 0xffff);
                self.set_rate(sys);
            }
            0x04 => self.setup_0 = write.apply_masked(self.setup_0, DATE_MASK),
            0x08 => self.setup_1 = write.apply_masked(self.setup_1, TIME_MASK),
            0x0c => {
                let old = self.ctrl;
                let value = write.apply(old);
                self.ctrl = value & (CTRL_ENABLE | CTRL_FORCE_NOTLEAPYEAR);
                if value & CTRL_LOAD != 0 {
                    self.calendar = Calendar::from_registers(self.setup_0, self.setup_1);
                }
                if (old ^ self.ctrl) & CTRL_ENABLE != 0 || value & CTRL_LOAD != 0 {
                    // The first second is a complete one.
                    self.seconds = Ticks::default();
                    self.second = 0;
                    self.set_rate(sys);
                }
            }
            0x10 => self.irq_setup_0 = write.apply_masked(self.irq_setup_0, 0x17ff_ff1f),
            0x14 => self.irq_setup_1 = write.apply_masked(self.irq_setup_1, 0xf71f_3f3f),
            0x24 => self.inte = write.apply_masked(self.inte, 1),
            0x28 => self.intf = write.apply_masked(self.intf, 1),
            _ => {}
        }
        self.update(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::default();
        self.update(sys);
    }
}

#[cfg(test)]
mod tests;
