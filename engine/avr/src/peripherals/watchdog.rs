//! The watchdog timer (ATmega2560 datasheet 12.4), on its own oscillator of 128 kHz.

use chip::Sys;
use sim::{NEVER, PS_PER_S};

use crate::device::event;

pub(crate) const WDTCSR: u16 = 0x60;

mod wdtcsr {
    pub(super) const WDIF: u8 = 0x80;
    pub(super) const WDIE: u8 = 0x40;
    pub(super) const WDP3: u8 = 0x20;
    pub(super) const WDCE: u8 = 0x10;
    pub(super) const WDE: u8 = 0x08;
}

const OSCILLATOR_HZ: u64 = 128_000;
/// Cycles for which WDCE stays set.
const CHANGE_CYCLES: u64 = 4;

#[derive(Default)]
pub(crate) struct Watchdog {
    control: u8,
    flag: bool,
    change_until: u64,
    /// The fuse WDTON is programmed: the watchdog always resets.
    always_on: bool,
}

impl Watchdog {
    pub(crate) fn new(always_on: bool) -> Self {
        Self { always_on, ..Self::default() }
    }

    pub(crate) fn read(&self, sys: &Sys) -> u8 {
        let flag = if self.flag { wdtcsr::WDIF } else { 0 };
        let change = if sys.cycle < self.change_until { wdtcsr::WDCE } else { 0 };
        self.control | flag | change | if self.always_on { wdtcsr::WDE } else { 0 }
    }

    pub(crate) fn write(&mut self, sys: &mut Sys, value: u8) {
        let open = sys.cycle < self.change_until;
        if value & wdtcsr::WDIF != 0 {
            self.flag = false;
        }
        if value & (wdtcsr::WDCE | wdtcsr::WDE) == wdtcsr::WDCE | wdtcsr::WDE {
            self.change_until = sys.cycle + 1 + CHANGE_CYCLES;
        }
        let timed = wdtcsr::WDE | wdtcsr::WDP3 | 7;
        let new = if open { value & timed } else { (self.control & timed) | (value & wdtcsr::WDE) };
        let new = new | value & wdtcsr::WDIE;
        if new != self.control {
            self.control = new;
            self.restart(sys);
        }
    }

    fn runs(&self) -> bool {
        self.always_on || self.control & (wdtcsr::WDE | wdtcsr::WDIE) != 0
    }

    /// Begins its time-out again, as WDR does.
    pub(crate) fn restart(&mut self, sys: &mut Sys) {
        let prescaler = u32::from(self.control & 7 | (self.control & wdtcsr::WDP3) >> 2).min(9);
        let time = (2048 << prescaler) * PS_PER_S / OSCILLATOR_HZ;
        let due = if self.runs() { sys.now() + time } else { NEVER };
        sys.schedule(event::WATCHDOG, due);
    }

    /// Handles a time-out. Returns true if it resets the chip.
    pub(crate) fn event(&mut self, sys: &mut Sys) -> bool {
        if self.control & wdtcsr::WDIE != 0 && !self.always_on {
            self.flag = true;
            self.restart(sys);
            return false;
        }
        true
    }

    pub(crate) fn pending(&self) -> bool {
        self.flag && self.control & wdtcsr::WDIE != 0
    }

    /// The handler starts. With WDE the next time-out resets the chip.
    pub(crate) fn acknowledge(&mut self) {
        self.flag = false;
        if self.control & wdtcsr::WDE != 0 {
            self.control &= !wdtcsr::WDIE;
        }
    }

    /// `by_watchdog`: WDRF keeps WDE set, with the shortest time-out.
    pub(crate) fn reset(&mut self, sys: &mut Sys, by_watchdog: bool) {
        *self = Self::new(self.always_on);
        if by_watchdog {
            self.control = wdtcsr::WDE;
        }
        self.restart(sys);
    }
}
