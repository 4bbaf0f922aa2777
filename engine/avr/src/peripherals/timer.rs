//! Timers 0 to 5 (ATmega2560 datasheet 16, 17 and 20): counting in all modes, compare matches and overflows. Outputs
//! on pins, input capture, external clocks and timer 2's own crystal are not modelled.
//!
//! A counter advances only when someone looks: at reads, at writes, and at the time of its next enabled interrupt.

use chip::Sys;
use sim::NEVER;

use super::at;
use crate::device::{TimerVectors, event};

/// Bits of TIFRn and TIMSKn.
const OVERFLOW: u8 = 1 << 0;
const COMPARE_A: u8 = 1 << 1;
const CAPTURE: u8 = 1 << 5;

/// Linear stretches that a counter is followed for to find its next interrupt: more than two periods.
const STRETCHES: usize = 24;

/// When TOVn is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overflow {
    Max,
    Top,
    Bottom,
}

/// When a buffered compare register takes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Update {
    Now,
    Top,
    Bottom,
}

/// A mode of counting (WGM).
#[derive(Clone, Copy, Debug)]
struct Mode {
    top: u32,
    /// It counts up and down.
    dual: bool,
    overflow: Overflow,
    update: Update,
}

/// The counter, and what it is compared with.
#[derive(Clone, Copy, Debug)]
struct Counter {
    value: u32,
    down: bool,
    max: u32,
    mode: Mode,
    compare: [u32; 3],
    buffered: [u32; 3],
    channels: usize,
    /// TCNTn was written: the next match does not count.
    blocked: bool,
}

impl Counter {
    /// Returns the ticks up to the next value at which something happens; 0: it is there.
    fn stretch(&self) -> u32 {
        // Top and bottom of a counter that turns there are events when it arrives.
        let before = if self.down { 1 } else { self.mode.top.saturating_sub(1) };
        let targets = self.compare[..self.channels].iter().copied().chain([self.mode.top, self.max, 0, before]);
        let ahead = targets.filter(|&target| if self.down { target <= self.value } else { target >= self.value });
        ahead.map(|target| target.abs_diff(self.value)).min().unwrap_or(0)
    }

    /// Counts one tick. Returns the flags that it sets.
    fn tick(&mut self) -> u8 {
        let mut flags = 0;
        let Mode { top, dual, overflow, update } = self.mode;
        if !std::mem::take(&mut self.blocked) {
            for channel in 0..self.channels {
                flags |= u8::from(self.compare[channel] == self.value) * (COMPARE_A << channel);
            }
        }
        let (at_top, at_max) = (self.value == top, self.value == self.max);
        if dual {
            if at_top || at_max {
                self.down = true;
            }
            if self.value == 0 {
                self.down = false;
            }
            if top != 0 {
                self.value = if self.down { self.value - 1 } else { self.value + 1 };
            }
            if self.value == 0 && overflow == Overflow::Bottom {
                flags |= OVERFLOW;
            }
            if update == Update::Top && self.value == top || update == Update::Bottom && self.value == 0 {
                self.compare = self.buffered;
            }
            return flags;
        }
        if at_top && overflow == Overflow::Top || at_max && overflow == Overflow::Max {
            flags |= OVERFLOW;
        }
        self.value = if at_top || at_max { 0 } else { self.value + 1 };
        if self.value == 0 && update == Update::Bottom {
            self.compare = self.buffered;
        }
        flags
    }

    /// Returns the ticks of a period.
    fn period(&self) -> u64 {
        let top = u64::from(self.mode.top);
        if self.mode.dual { (2 * top).max(1) } else { top + 1 }
    }

    /// Counts `ticks`. Returns the flags that they set.
    fn advance(&mut self, mut ticks: u64) -> u8 {
        let mut flags = 0;
        // Values above the top count up to the maximum first.
        let settled = u64::from(self.max) + 1 + 3 * self.period();
        if ticks > settled {
            let more = ticks - settled;
            flags |= self.advance(settled);
            ticks = more % self.period();
        }
        while ticks > 0 {
            let stretch = u64::from(self.stretch()).min(ticks);
            if stretch == 0 {
                flags |= self.tick();
                ticks -= 1;
            } else {
                let stretch = stretch as u32;
                self.value = if self.down { self.value - stretch } else { self.value + stretch };
                self.blocked = false;
                ticks -= u64::from(stretch);
            }
        }
        flags
    }

    /// Returns the ticks up to the one that sets one of `flags`.
    fn ticks_to(mut self, flags: u8) -> Option<u64> {
        let mut ticks = 0;
        for _ in 0..STRETCHES {
            let stretch = u64::from(self.stretch());
            self.advance(stretch);
            ticks += stretch + 1;
            if self.tick() & flags != 0 {
                return Some(ticks);
            }
        }
        None
    }
}

/// The registers of a timer, by their place in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Register {
    ControlA,
    ControlB,
    ControlC,
    Count,
    Capture,
    Compare(usize),
}

/// A register's byte: the high one of 16 bits goes through TEMP.
pub(crate) type Byte = (Register, bool);

pub(crate) struct Timer {
    number: usize,
    vectors: &'static TimerVectors,
    wide: bool,
    control: [u8; 3],
    capture: u32,
    temp: u8,
    mask: u8,
    flags: u8,
    counter: Counter,
    /// Ticks of the prescaler up to which the counter has counted.
    ticks: u64,
    /// Cycle at which the prescaler was 0.
    origin: u64,
}

impl Timer {
    pub(crate) fn new(number: usize, vectors: &'static TimerVectors) -> Self {
        let wide = number != 0 && number != 2;
        let channels = if vectors.compare[2] != 0 { 3 } else { 2 };
        let max = if wide { 0xffff } else { 0xff };
        let mode = Mode { top: max, dual: false, overflow: Overflow::Max, update: Update::Now };
        let counter =
            Counter { value: 0, down: false, max, mode, compare: [0; 3], buffered: [0; 3], channels, blocked: false };
        Self {
            number,
            vectors,
            wide,
            control: [0; 3],
            capture: 0,
            temp: 0,
            mask: 0,
            flags: 0,
            counter,
            ticks: 0,
            origin: 0,
        }
    }

    /// Returns the register at `address`; `None`: it is none of this timer's.
    pub(crate) fn register(&self, address: u16) -> Option<Byte> {
        use Register::{Capture, Compare, ControlA, ControlB, ControlC, Count};
        let base = [0x44, 0x80, 0xb0, 0x90, 0xa0, 0x120][self.number];
        let offset = address.checked_sub(base)?;
        let found = match (self.wide, offset) {
            (_, 0) => (ControlA, false),
            (_, 1) => (ControlB, false),
            (false, 2) => (Count, false),
            (false, 3 | 4) => (Compare(usize::from(offset - 3)), false),
            (true, 2) => (ControlC, false),
            (true, 4 | 5) => (Count, offset == 5),
            (true, 6 | 7) => (Capture, offset == 7),
            (true, 8..14) if usize::from(offset - 8) / 2 < self.counter.channels => {
                (Compare(usize::from(offset - 8) / 2), offset & 1 != 0)
            }
            _ => return None,
        };
        Some(found)
    }

    /// Returns the cycles of a tick; `None`: the timer stands still.
    fn divider(&self) -> Option<u64> {
        let dividers: [u64; 8] =
            if self.number == 2 { [0, 1, 8, 32, 64, 128, 256, 1024] } else { [0, 1, 8, 64, 256, 1024, 0, 0] };
        Some(dividers[usize::from(self.control[1] & 7)]).filter(|&divider| divider != 0)
    }

    fn ticks_at(&self, cycle: u64) -> u64 {
        self.divider().map_or(0, |divider| cycle.saturating_sub(self.origin) / divider)
    }

    /// Counts up to `cycle`.
    pub(crate) fn settle(&mut self, cycle: u64) {
        let ticks = self.ticks_at(cycle);
        if ticks > self.ticks {
            self.flags |= self.counter.advance(ticks - self.ticks);
        }
        self.ticks = ticks;
    }

    /// Resets the prescaler at `cycle`.
    pub(crate) fn reset_prescaler(&mut self, sys: &mut Sys, cycle: u64) {
        self.settle(cycle);
        self.origin = cycle;
        self.ticks = 0;
        self.schedule(sys);
    }

    /// The clock stood still for `cycles` up to now.
    pub(crate) fn stood_still(&mut self, sys: &mut Sys, cycles: u64) {
        self.origin += cycles;
        self.schedule(sys);
    }

    /// Schedules the next enabled interrupt.
    pub(crate) fn schedule(&self, sys: &mut Sys) {
        let wanted = self.mask & !self.flags & !CAPTURE;
        let ticks = if wanted == 0 { None } else { self.counter.ticks_to(wanted) };
        let due = match (ticks, self.divider()) {
            (Some(ticks), Some(divider)) => at(sys, self.origin + (self.ticks + ticks) * divider),
            _ => NEVER,
        };
        sys.schedule(event::TIMER[self.number], due);
    }

    pub(crate) fn read(&mut self, sys: &Sys, (register, high): Byte) -> u8 {
        let value = match register {
            Register::ControlA => self.control[0].into(),
            Register::ControlB => self.control[1].into(),
            Register::ControlC => 0,
            Register::Count if high => return self.temp,
            Register::Count => {
                self.settle(sys.cycle);
                self.temp = (self.counter.value >> 8) as u8;
                self.counter.value
            }
            Register::Capture if high => return self.temp,
            Register::Capture => {
                self.temp = (self.capture >> 8) as u8;
                self.capture
            }
            // The compare registers are read without TEMP.
            Register::Compare(channel) => self.counter.buffered[channel] >> if high { 8 } else { 0 },
        };
        value as u8
    }

    pub(crate) fn write(&mut self, sys: &mut Sys, (register, high): Byte, value: u8) {
        if high {
            self.temp = value;
            return;
        }
        self.settle(sys.cycle);
        let word = if self.wide { u32::from(self.temp) << 8 } else { 0 } | u32::from(value);
        match register {
            Register::ControlA => {
                self.control[0] = value;
                if value & if self.wide { 0xfc } else { 0xf0 } != 0 {
                    self.leave_out(sys, "A", value, "an output compare pin");
                }
            }
            Register::ControlB => self.write_control_b(sys, value),
            Register::ControlC if value != 0 => self.leave_out(sys, "C", value, "a forced compare match"),
            Register::ControlC => {}
            Register::Count => {
                self.counter.value = word;
                self.counter.blocked = true;
            }
            Register::Capture => self.capture = word,
            Register::Compare(channel) => {
                self.counter.buffered[channel] = word;
                if self.counter.mode.update == Update::Now {
                    self.counter.compare[channel] = word;
                }
            }
        }
        self.choose_mode(sys);
        self.schedule(sys);
    }

    fn write_control_b(&mut self, sys: &mut Sys, value: u8) {
        if value & 7 >= 6 && self.number != 2 {
            self.leave_out(sys, "B", value, "an external clock");
        }
        if self.wide && value & 0x80 != 0 {
            self.leave_out(sys, "B", value, "input capture");
        }
        if !self.wide && value & 0xc0 != 0 {
            self.leave_out(sys, "B", value, "a forced compare match");
        }
        self.control[1] = value;
        self.ticks = self.ticks_at(sys.cycle);
    }

    fn leave_out(&self, sys: &mut Sys, register: &str, value: u8, what: &str) {
        sys.unmodelled(format!("TCCR{}{register} = 0x{value:02x}: {what}", self.number));
    }

    fn choose_mode(&mut self, sys: &mut Sys) {
        use Overflow::{Bottom, Max, Top};
        use Update as U;
        let counter = &self.counter;
        let (a, max, icr) = (counter.compare[0], counter.max, self.capture);
        let mode = |top, dual, overflow, update| Some(Mode { top, dual, overflow, update });
        let wgm = self.control[0] & 3 | self.control[1] >> 1 & if self.wide { 0xc } else { 4 };
        let chosen = match (self.wide, wgm) {
            (_, 0) => mode(max, false, Max, U::Now),
            (false, 1) => mode(max, true, Bottom, U::Top),
            (false, 2) | (true, 4) => mode(a, false, Max, U::Now),
            (false, 3) => mode(max, false, Top, U::Bottom),
            (false, 5) => mode(a, true, Bottom, U::Top),
            (false, 7) | (true, 15) => mode(a, false, Top, U::Bottom),
            (true, 1..=3) => mode(0x7f << wgm | 0x7f, true, Bottom, U::Top),
            (true, 5..=7) => mode(0x7f << (wgm - 4) | 0x7f, false, Top, U::Bottom),
            (true, 8) => mode(icr, true, Bottom, U::Bottom),
            (true, 9) => mode(a, true, Bottom, U::Bottom),
            (true, 10) => mode(icr, true, Bottom, U::Top),
            (true, 11) => mode(a, true, Bottom, U::Top),
            (true, 12) => mode(icr, false, Max, U::Now),
            (true, 14) => mode(icr, false, Top, U::Bottom),
            _ => None,
        };
        let Some(chosen) = chosen else {
            let (a, b) = (self.control[0], self.control[1]);
            return self.leave_out(sys, "A", a, &format!("with TCCR{}B = 0x{b:02x} a reserved mode", self.number));
        };
        self.counter.mode = chosen;
        if chosen.update == U::Now {
            self.counter.compare = self.counter.buffered;
        }
        self.counter.down &= chosen.dual;
    }

    /// Returns TIFRn.
    pub(crate) fn flags(&mut self, sys: &Sys) -> u8 {
        self.settle(sys.cycle);
        self.flags
    }

    /// Writes TIFRn: a 1 clears a flag.
    pub(crate) fn clear_flags(&mut self, sys: &mut Sys, value: u8) {
        self.settle(sys.cycle);
        self.flags &= !value;
        self.schedule(sys);
    }

    pub(crate) fn mask(&self) -> u8 {
        self.mask
    }

    pub(crate) fn set_mask(&mut self, sys: &mut Sys, value: u8) {
        self.settle(sys.cycle);
        self.mask = value & if self.wide { 0x2f } else { 7 };
        if self.mask & CAPTURE != 0 {
            sys.unmodelled(format!("TIMSK{} = 0x{value:02x}: input capture", self.number));
        }
        self.schedule(sys);
    }

    /// Handles the event of an enabled interrupt.
    pub(crate) fn event(&mut self, sys: &mut Sys) {
        let cycle = sys.now_cycle();
        self.settle(cycle);
        self.schedule(sys);
    }

    /// Returns the pending and enabled interrupts, as bits by vector number.
    pub(crate) fn pending(&self) -> u64 {
        let pending = self.flags & self.mask;
        let compare = self
            .vectors
            .compare
            .iter()
            .enumerate()
            .fold(0, |bits, (channel, &vector)| bits | u64::from(pending >> (channel + 1) & 1) << vector);
        compare | u64::from(pending & OVERFLOW) << self.vectors.overflow
    }

    /// Clears the flag of the interrupt whose handler starts; false: it is not this timer's.
    pub(crate) fn acknowledge(&mut self, sys: &mut Sys, vector: u32) -> bool {
        let flag = if vector == self.vectors.overflow {
            OVERFLOW
        } else if let Some(channel) = self.vectors.compare.iter().position(|&each| each == vector) {
            COMPARE_A << channel
        } else {
            return false;
        };
        self.flags &= !flag;
        self.schedule(sys);
        true
    }

    pub(crate) fn reset(&mut self, sys: &mut Sys) {
        let cycle = sys.cycle;
        *self = Self { origin: cycle, ..Self::new(self.number, self.vectors) };
        self.schedule(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(top: u32, max: u32, dual: bool, overflow: Overflow) -> Counter {
        Counter {
            value: 0,
            down: false,
            max,
            mode: Mode { top, dual, overflow, update: Update::Now },
            compare: [3, 7, 0],
            buffered: [3, 7, 0],
            channels: 2,
            blocked: false,
        }
    }

    #[test]
    fn counting_at_once_is_counting_tick_by_tick() {
        for (top, dual) in [(9, false), (9, true), (0xff, false), (0, false), (1, true), (2, false)] {
            for ticks in [0, 1, 2, 5, 9, 10, 17, 18, 19, 255, 256, 257, 1000, 70_000] {
                for start in [0, 3, 8, 200] {
                    let mut one = counter(top, 0xff, dual, if dual { Overflow::Bottom } else { Overflow::Max });
                    one.value = start.min(if dual { top } else { 0xff });
                    let mut all = one;
                    let mut flags = 0;
                    (0..ticks).for_each(|_| flags |= one.tick());
                    assert_eq!(all.advance(ticks), flags, "{top} {dual} {ticks} {start}");
                    assert_eq!((all.value, all.down), (one.value, one.down), "{top} {dual} {ticks} {start}");
                }
            }
        }
    }

    #[test]
    fn the_next_flag_is_found_without_counting() {
        let overflows = counter(0xff, 0xff, false, Overflow::Top).ticks_to(OVERFLOW);
        assert_eq!(overflows, Some(256));
        assert_eq!(counter(0xffff, 0xffff, false, Overflow::Max).ticks_to(COMPARE_A << 1), Some(8));
        assert_eq!(counter(0xff, 0xff, true, Overflow::Bottom).ticks_to(OVERFLOW), Some(510));
        // CTC with a top below the overflow's value never sets it.
        assert_eq!(counter(7, 0xff, false, Overflow::Max).ticks_to(OVERFLOW), None);
    }
}
