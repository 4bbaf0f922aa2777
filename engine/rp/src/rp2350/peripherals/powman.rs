//! POWMAN: power states, voltage regulator, always-on timer, scratch and boot registers (datasheet 6.4 and 12.10).
//!
//! Settings of regulator, brown-out detector and oscillator are stored without effect. Switching power domains is not
//! modelled. The timer counts milliseconds of the crystal or of the low-power oscillator at its nominal rate.

use super::bootdis::BootDis;
use super::{Peripheral, Write, unmodelled};
use crate::rp2350::wires::{event, irq};
use chip::Sys;
use chip::ticks::Ticks;
use sim::{NEVER, Snapshot};

/// Bits 31 to 16 of every write but to SCRATCH and BOOT.
const PASSWORD: u32 = 0x5afe;
const LPOSC_HZ: u64 = 32_768;
const HAD_POR: u32 = 1 << 16;
const HAD_WATCHDOG_RESET_RSM: u32 = 1 << 28;
/// INTR, INTE, INTS: the timer's alarm.
const INT_TIMER: u32 = 2;

mod timer {
    pub(super) const RUN: u32 = 1 << 1;
    pub(super) const CLEAR: u32 = 1 << 2;
    pub(super) const ALARM_ENAB: u32 = 1 << 4;
    pub(super) const ALARM: u32 = 1 << 6;
    pub(super) const USE_LPOSC: u32 = 1 << 8;
    pub(super) const USE_XOSC: u32 = 1 << 9;
    pub(super) const USE_GPIO: u32 = 1 << 10 | 1 << 13;
    pub(super) const USING_XOSC: u32 = 1 << 16;
    pub(super) const USING_LPOSC: u32 = 1 << 17;
    /// NONSEC_WRITE, RUN, ALARM_ENAB and PWRUP_ON_ALARM.
    pub(super) const STORED: u32 = 0x33;
}

/// Registers that are only stored: their values after a reset and writable bits, by offset / 4.
const STORED: [(u32, u32); 0xb0 / 4] = {
    let mut stored = [(0, 0); 0xb0 / 4];
    stored[1] = (0x8050, 0xb170);
    stored[0x0c / 4] = (0xb0, 0x01f2);
    stored[0x10 / 4] = (0xb4, 0x01f6);
    stored[0x14 / 4] = (0xb0, 0x01f6);
    stored[0x18 / 4] = (0, 0x1000);
    stored[0x1c / 4] = (0xb1, 0x01f1);
    stored[0x20 / 4] = (0xb0, 0x01f1);
    stored[0x24 / 4] = (0xb1, 0x01f1);
    stored[0x28 / 4] = (0x203, 0x03f3);
    stored[0x30 / 4] = (0, 0x1111);
    stored[0x34 / 4] = (0x0010_11f0, 0x11f3);
    stored[0x3c / 4] = (0x40, 0x07ff);
    stored[0x40 / 4] = (0x2011, 0xffff);
    stored[0x44 / 4] = (0x3f, 0x713f);
    stored[0x48 / 4] = (0x3f, 0x713f);
    stored[0x4c / 4] = (0, 0x13);
    stored[0x50 / 4] = (0x20, 0x3f);
    stored[0x54 / 4] = (0xc49c, 0xffff);
    stored[0x58 / 4] = (0x2ee0, 0xffff);
    stored[0x5c / 4] = (0, 0xffff);
    let mut at = 0x60 / 4;
    while at < 0x88 / 4 {
        stored[at] = (0, 0xffff);
        at += 1;
    }
    at = 0x8c / 4;
    while at < 0x9c / 4 {
        stored[at] = (0x3f, 0x07ff);
        at += 1;
    }
    stored[0xa4 / 4] = (0, 1);
    stored[0xac / 4] = (0, 0xf);
    stored
};

#[derive(Debug, Snapshot)]
pub struct Powman {
    stored: [u32; STORED.len()],
    bad_password: bool,
    chip_reset: u32,
    timer: u32,
    bootdis: BootDis,
    /// SCRATCH0 to 7, BOOT0 to 3.
    scratch: [u32; 12],
    /// The timer's oscillator is the crystal.
    by_xosc: bool,
    /// Milliseconds before `counted` began.
    base: u64,
    counted: Ticks,
    inte: u32,
    intf: u32,
}

impl Default for Powman {
    fn default() -> Self {
        Self {
            stored: STORED.map(|(value, _)| value),
            bad_password: false,
            chip_reset: HAD_POR,
            timer: 0,
            bootdis: BootDis::default(),
            scratch: [0; 12],
            by_xosc: false,
            base: 0,
            counted: Ticks::default(),
            inte: 0,
            intf: 0,
        }
    }
}

impl Powman {
    /// Records a watchdog reset of the chip.
    pub fn watchdog_reset(&mut self) {
        self.chip_reset = HAD_WATCHDOG_RESET_RSM;
        self.bootdis.reset();
    }

    /// Handles the alarm's time.
    pub fn event(&mut self, sys: &mut Sys) {
        self.update(sys);
    }

    /// Handles a change of the crystal oscillator.
    pub fn clocks_changed(&mut self, sys: &mut Sys) {
        self.set_rate(sys);
        self.update(sys);
    }

    fn set_rate(&mut self, sys: &Sys) {
        let khz = |int: usize| u64::from(self.stored[int]) << 16 | u64::from(self.stored[int + 1]);
        let (hz, khz) = if self.by_xosc { (sys.freq.xosc_hz, khz(0x58 / 4)) } else { (LPOSC_HZ, khz(0x50 / 4)) };
        let hz = if self.timer & timer::RUN != 0 { hz << 16 } else { 0 };
        self.counted.set_rate(sys.now(), hz, khz);
    }

    fn time(&self, sys: &Sys) -> u64 {
        self.base.wrapping_add(self.counted.count(sys.now()))
    }

    /// Returns the 64-bit value of the four registers from `offset` on, highest first.
    fn wide(&self, offset: usize) -> u64 {
        self.stored[offset / 4..offset / 4 + 4].iter().fold(0, |all, part| all << 16 | u64::from(*part))
    }

    fn set_time(&mut self, sys: &Sys, time: u64) {
        self.base = time;
        self.counted = Ticks::default();
        self.counted.set_rate(sys.now(), 0, 1);
        self.set_rate(sys);
    }

    fn update(&mut self, sys: &mut Sys) {
        let alarm = self.wide(0x78);
        let waits = self.timer & (timer::RUN | timer::ALARM_ENAB) == timer::RUN | timer::ALARM_ENAB;
        if waits && self.time(sys) >= alarm {
            self.timer |= timer::ALARM;
        }
        let due = waits && self.timer & timer::ALARM == 0;
        let at = if due { self.counted.time_of(alarm.wrapping_sub(self.base)) } else { NEVER };
        sys.schedule(event::POWMAN, at);
        sys.set_irq(irq::POWMAN_TIMER, self.ints() & INT_TIMER != 0);
    }

    fn intr(&self) -> u32 {
        if self.timer & timer::ALARM != 0 { INT_TIMER } else { 0 }
    }

    fn ints(&self) -> u32 {
        self.intr() & self.inte | self.intf
    }

    fn write_timer(&mut self, sys: &mut Sys, value: u32) {
        if value & timer::USE_GPIO != 0 {
            unmodelled(sys, "POWMAN.TIMER from a pin", 0x88, Some(value));
        }
        if value & timer::CLEAR != 0 {
            self.set_time(sys, 0);
        }
        let was_running = self.timer & timer::RUN != 0;
        let alarm = self.timer & timer::ALARM & !value;
        let alarm = if value & timer::ALARM_ENAB == 0 { 0 } else { alarm };
        self.timer = value & timer::STORED | alarm;
        match (value & timer::USE_XOSC != 0, value & timer::USE_LPOSC != 0) {
            (true, _) => self.by_xosc = true,
            (_, true) => self.by_xosc = false,
            _ => {}
        }
        // The time is set while the timer is stopped, and starts from there.
        if !was_running && self.timer & timer::RUN != 0 && self.stored[0x60 / 4..0x70 / 4] != [0; 4] {
            let time = self.wide(0x60);
            self.set_time(sys, time);
            self.stored[0x60 / 4..0x70 / 4].fill(0);
        }
        self.set_rate(sys);
    }
}

impl Peripheral for Powman {
    fn name(&self) -> &'static str {
        "POWMAN"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 => self.bad_password.into(),
            // VREG_STS: the output is good.
            0x08 => 0x10,
            0x2c => self.chip_reset,
            // STATE: all domains are on.
            0x38 => 0,
            0x70 => (self.time(sys) >> 32) as u32,
            0x74 => self.time(sys) as u32,
            0x88 => {
                let using = if self.by_xosc { timer::USING_XOSC } else { timer::USING_LPOSC };
                self.timer | if self.timer & timer::RUN != 0 { using } else { 0 }
            }
            0xa8 => self.bootdis.read(),
            0xb0..=0xdc => self.scratch[((offset - 0xb0) / 4) as usize],
            0xe0 => self.intr(),
            0xe4 => self.inte,
            0xe8 => self.intf,
            0xec => self.ints(),
            _ => self.stored.get((offset / 4) as usize).copied().unwrap_or(0),
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        if let 0xb0..=0xdc = offset {
            let scratch = &mut self.scratch[((offset - 0xb0) / 4) as usize];
            *scratch = write.apply(*scratch);
            return;
        }
        if write.bits >> 16 != PASSWORD {
            self.bad_password |= offset != 0;
            if offset == 0 {
                self.bad_password &= write.ones() & 1 == 0;
            }
            return;
        }
        let write = Write { bits: write.bits & 0xffff, ..write };
        match offset {
            0x00 => self.bad_password &= write.ones() & 1 == 0,
            0x2c => self.chip_reset &= !(write.ones() & 0x10) | !0x11,
            0x38 if write.apply(0) & 0xf0 != 0 => unmodelled(sys, "POWMAN.STATE", offset, Some(write.bits)),
            0x88 => {
                let value = write.apply(self.timer);
                self.write_timer(sys, value);
            }
            0xa8 => self.bootdis.write(write),
            0xe4 => self.inte = write.apply_masked(self.inte, 0xf),
            0xe8 => self.intf = write.apply_masked(self.intf, 0xf),
            _ => {
                let index = (offset / 4) as usize;
                if let Some((_, mask)) = STORED.get(index) {
                    self.stored[index] = write.apply_masked(self.stored[index], *mask);
                }
                self.set_rate(sys);
            }
        }
        self.update(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::default();
        self.update(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chip::Alias;
    use sim::PS_PER_MS;

    const PASS: u32 = PASSWORD << 16;

    #[test]
    fn a_write_needs_the_password_and_scratch_does_not() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        let mut powman = Powman::default();
        assert_eq!(
            [0x04, 0x0c, 0x28, 0x2c, 0x34].map(|at| powman.read(&mut sys, at)),
            [0x8050, 0xb0, 0x203, HAD_POR, 0x0010_11f0]
        );
        powman.write(&mut sys, 0x0c, Write::normal(0xd0));
        assert_eq!((powman.read(&mut sys, 0x0c), powman.read(&mut sys, 0)), (0xb0, 1));
        powman.write(&mut sys, 0x0c, Write::normal(PASS | 0xd0));
        powman.write(&mut sys, 0xb4, Write::normal(0x1234_5678));
        assert_eq!((powman.read(&mut sys, 0x0c), powman.read(&mut sys, 0xb4)), (0xd0, 0x1234_5678));
    }

    #[test]
    fn the_timer_starts_from_the_set_time_and_alarms() {
        let mut sys = crate::rp2350::wires::sys(12_000_000);
        sys.freq.xosc_hz = 12_000_000;
        let mut powman = Powman::default();
        powman.write(&mut sys, 0x6c, Write::normal(PASS | 1000));
        powman.write(&mut sys, 0x84, Write::normal(PASS | 1500));
        powman.write(&mut sys, 0xe4, Write::normal(PASS | INT_TIMER));
        powman.write(&mut sys, 0x88, Write { bits: PASS | timer::USE_XOSC, alias: Alias::Set });
        powman.write(&mut sys, 0x88, Write { bits: PASS | timer::RUN | timer::ALARM_ENAB, alias: Alias::Set });
        assert_eq!((powman.read(&mut sys, 0x74), sys.due(event::POWMAN)), (1000, 500 * PS_PER_MS));
        sys.cycle = 12_000 * 500;
        assert_eq!(powman.read(&mut sys, 0x74), 1500);
        powman.event(&mut sys);
        assert_eq!((powman.read(&mut sys, 0xec), sys.irq_level() >> irq::POWMAN_TIMER & 1), (INT_TIMER, 1));
        powman.write(&mut sys, 0x88, Write { bits: PASS | timer::ALARM_ENAB, alias: Alias::Clear });
        assert_eq!((powman.read(&mut sys, 0xec), powman.read(&mut sys, 0x88) & timer::RUN), (0, timer::RUN));
    }
}
