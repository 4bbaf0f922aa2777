//! PWM: eight slices of two channels (datasheet 4.5).
//!
//! Counters are computed on demand. Events are only scheduled if something waits for them: a wrap whose interrupt is
//! enabled and not yet raised, a wrap that a busy DMA channel waits for (`Sys::watched_dreqs`), and the edges of pins
//! in `Sys::watched_pins` (by the world, by GPIO interrupts, by running PIO state machines). The level of any other pin
//! is updated when a program reads SIO or IO_BANK0, so that a dimmed LED costs nothing.
//!
//! The divider's output is evenly spaced to a sixteenth of a cycle, rounded up, where the chip's delta-sigma divider
//! may differ by a cycle. TOP and CC take effect at the next wrap, and at once in a disabled slice.
//!
//! The direction of a phase-correct counter is separate state: a write to CTR does not change it, and it becomes up as
//! soon as the mode is trailing-edge. A counter above TOP never meets TOP while counting up, and runs to the end of its
//! 16 bits.

use super::{Peripheral, Write};
use crate::pins::{PIN_MASK, function};
use crate::sys::{EventId, Sys, dreq, irq};
use sim::NEVER;

const SLICES: usize = 8;
const PINS: u32 = 30;

mod csr {
    pub const EN: u32 = 1 << 0;
    pub const PH_CORRECT: u32 = 1 << 1;
    pub const A_INV: u32 = 1 << 2;
    pub const B_INV: u32 = 1 << 3;
    pub const PH_RET: u32 = 1 << 6;
    pub const PH_ADV: u32 = 1 << 7;
    pub const WRITABLE: u32 = 0x3f;
}

const DIVMODE_FREE: u32 = 0;
const DIVMODE_LEVEL: u32 = 1;
const DIVMODE_RISE: u32 = 2;
const DIVMODE_FALL: u32 = 3;

#[derive(Clone, Debug)]
struct Slice {
    csr: u32,
    div: u32,
    /// Compare values as written, and as used since the last wrap.
    cc: u32,
    top: u32,
    live_cc: u32,
    live_top: u32,
    counter: u32,
    /// A phase-correct counter counts down.
    down: bool,
    /// Sixteenths of a cycle since the last count (negative: retarded).
    sub: i64,
    /// Cycle of clk_sys at which the above holds.
    at: u64,
    /// Level of the B pin as an input.
    input: bool,
}

impl Default for Slice {
    fn default() -> Self {
        Self {
            csr: 0,
            div: 1 << 4,
            cc: 0,
            top: 0xffff,
            live_cc: 0,
            live_top: 0xffff,
            counter: 0,
            down: false,
            sub: 0,
            at: 0,
            input: false,
        }
    }
}

impl Slice {
    fn enabled(&self) -> bool {
        self.csr & csr::EN != 0
    }

    fn divmode(&self) -> u32 {
        self.csr >> 4 & 3
    }

    fn phase_correct(&self) -> bool {
        self.csr & csr::PH_CORRECT != 0
    }

    /// Returns the cycles per count, in sixteenths; an integer part of 0 means 256.
    fn div_16ths(&self) -> i64 {
        i64::from(if self.div >> 4 == 0 { self.div | 256 << 4 } else { self.div })
    }

    /// Returns the counts from one wrap to the next.
    fn period(&self) -> u32 {
        (self.live_top + 1) << u32::from(self.phase_correct())
    }

    /// Returns the counts until the counter is 0 and counts up.
    fn counts_to_wrap(&self) -> u32 {
        if self.down {
            // It is 0 for two counts, as it is TOP for two counts.
            self.counter + 1
        } else if self.counter > self.live_top {
            0x1_0000 - self.counter
        } else {
            self.period() - self.counter
        }
    }

    /// Returns the remaining counts up, from at most TOP: at the last of them it is TOP once more.
    fn counts_to_turn(&self) -> Option<u32> {
        (self.phase_correct() && !self.down && self.counter <= self.live_top).then(|| self.live_top + 1 - self.counter)
    }

    /// Counts `ticks` times; returns true if the counter wrapped.
    fn count(&mut self, ticks: u64) -> bool {
        let to_wrap = u64::from(self.counts_to_wrap());
        if ticks < to_wrap {
            self.count_within_period(ticks as u32);
            return false;
        }
        self.counter = 0;
        self.down = false;
        self.latch();
        self.count_within_period(((ticks - to_wrap) % u64::from(self.period())) as u32);
        true
    }

    fn count_within_period(&mut self, ticks: u32) {
        match self.counts_to_turn() {
            Some(to_turn) if ticks >= to_turn => {
                self.down = true;
                self.counter = self.live_top - (ticks - to_turn);
            }
            _ if self.down => self.counter -= ticks,
            _ => self.counter += ticks,
        }
    }

    fn latch(&mut self) {
        self.live_cc = self.cc;
        self.live_top = self.top;
    }

    fn counting(&self) -> bool {
        self.enabled() && (self.divmode() == DIVMODE_FREE || (self.divmode() == DIVMODE_LEVEL && self.input))
    }

    /// Brings the counter up to `cycle`; returns true if it wrapped.
    fn advance(&mut self, cycle: u64) -> bool {
        let elapsed = cycle.saturating_sub(self.at);
        self.at = self.at.max(cycle);
        if !self.counting() {
            return false;
        }
        self.sub = self.sub.saturating_add(i64::try_from(elapsed).unwrap_or(i64::MAX).saturating_mul(16));
        self.take_counts()
    }

    fn take_counts(&mut self) -> bool {
        if self.sub < self.div_16ths() {
            return false;
        }
        let ticks = self.sub / self.div_16ths();
        self.sub %= self.div_16ths();
        self.count(ticks as u64)
    }

    /// Handles a change of the B pin's level, with the slice up to date; returns true if the counter wrapped.
    fn set_input(&mut self, level: bool) -> bool {
        let (rose, fell) = (level && !self.input, !level && self.input);
        self.input = level;
        let counts = match self.divmode() {
            DIVMODE_RISE => rose,
            DIVMODE_FALL => fell,
            _ => false,
        };
        if counts && self.enabled() {
            self.sub += 16;
            return self.take_counts();
        }
        false
    }

    /// Returns the cycle of count number `ticks` from now.
    fn cycle_of(&self, ticks: u32) -> u64 {
        let sixteenths = i64::from(ticks) * self.div_16ths() - self.sub;
        self.at.saturating_add((sixteenths.max(0) as u64).div_ceil(16))
    }

    fn wrap_cycle(&self) -> Option<u64> {
        self.counting().then(|| self.cycle_of(self.counts_to_wrap()))
    }

    fn compare(&self, channel: usize) -> u32 {
        self.live_cc >> (16 * channel) & 0xffff
    }

    /// Returns the level of output A (`channel` 0) or B (1).
    fn output(&self, channel: usize) -> bool {
        let inverted = self.csr & if channel == 0 { csr::A_INV } else { csr::B_INV } != 0;
        (self.counter < self.compare(channel)) != inverted
    }

    /// Returns the cycle at which output `channel` may change next.
    fn edge_cycle(&self, channel: usize) -> Option<u64> {
        let compare = self.compare(channel);
        if !self.counting() {
            return None;
        }
        let steady = self.live_cc == self.cc && self.live_top == self.top && self.counter <= self.live_top;
        if steady && (compare == 0 || compare > self.live_top) {
            return None;
        }
        // Counting up, it reaches the compare value; counting down, it leaves it.
        let up = if self.down { None } else { compare.checked_sub(self.counter) };
        let down = match self.counts_to_turn() {
            Some(to_turn) => (self.live_top + 1).checked_sub(compare).map(|from_turn| to_turn + from_turn),
            None if self.down => (self.counter + 1).checked_sub(compare),
            None => None,
        };
        let edges = [up, down].into_iter().flatten().filter(|&counts| counts > 0);
        Some(self.cycle_of(edges.fold(self.counts_to_wrap(), u32::min)))
    }
}

#[derive(Debug, Default)]
pub struct Pwm {
    slices: [Slice; SLICES],
    intr: u32,
    inte: u32,
    intf: u32,
}

impl Pwm {
    /// Handles this block's event.
    pub fn event(&mut self, sys: &mut Sys) {
        self.update(sys);
    }

    /// Handles changed levels at the input buffers (`sys.pins.input`), or a changed pin function.
    pub fn input_changed(&mut self, sys: &mut Sys) {
        if self.slices.iter().any(Slice::enabled) {
            self.update(sys);
        }
    }

    /// Handles a change of clk_sys, of the watched pins or of the watched DREQs.
    pub fn reschedule(&mut self, sys: &mut Sys) {
        if self.slices.iter().any(Slice::enabled) {
            self.update(sys);
        }
    }

    /// Returns whether the level of a pin may be out of date until [`Self::refresh_pins`].
    pub fn drives_pins(&self, sys: &Sys) -> bool {
        sys.pins.function_mask[function::PWM] != 0 && self.slices.iter().any(Slice::enabled)
    }

    /// Updates the levels of all pins.
    pub fn refresh_pins(&mut self, sys: &mut Sys) {
        self.update(sys);
    }

    /// Brings the block up to now, and recomputes lines, pins and the next event.
    fn update(&mut self, sys: &mut Sys) {
        let cycle = sys.clock.cycle_at(sys.now());
        let selected = sys.pins.function_mask[function::PWM];
        let input = sys.pins.input() & selected;
        let mut outputs = 0u32;
        let mut b_inputs = 0u32;
        for (i, slice) in self.slices.iter_mut().enumerate() {
            let mut wrapped = slice.advance(cycle);
            // Pins 2 i and 2 i + 16 carry channel A, the next ones B.
            let b_pins = 0x0002_0002u32 << (2 * i);
            wrapped |= slice.set_input(input & b_pins != 0);
            if wrapped {
                self.intr |= 1 << i;
                sys.set_dreq(dreq::PWM_WRAP0 + i as u32, sys.watched_dreqs() >> (dreq::PWM_WRAP0 + i as u32) & 1 != 0);
            }
            outputs |= (u32::from(slice.output(0)) | u32::from(slice.output(1)) << 1) * (0x0001_0001 << (2 * i));
            if slice.divmode() != DIVMODE_FREE {
                b_inputs |= b_pins;
            }
        }
        let (out, oe) = (outputs & PIN_MASK, PIN_MASK & !b_inputs);
        let pins = &mut sys.pins;
        if pins.function_out[function::PWM] != out || pins.function_oe[function::PWM] != oe {
            pins.function_out[function::PWM] = out;
            pins.function_oe[function::PWM] = oe;
            pins.refresh();
        }
        sys.set_irq(irq::PWM_WRAP, self.ints() != 0);

        let watched = sys.watched_pins() & sys.pins.function_mask[function::PWM] & oe;
        let mut next: Option<u64> = None;
        for (i, slice) in self.slices.iter().enumerate() {
            let line = dreq::PWM_WRAP0 + i as u32;
            let irq_wanted = self.inte & !self.intr & (1 << i) != 0;
            let dreq_wanted = sys.watched_dreqs() & !sys.dreq_level() & (1 << line) != 0;
            let wrap = if irq_wanted || dreq_wanted { slice.wrap_cycle() } else { None };
            let edge = |channel: usize| {
                let channel_pins = 0x0001_0001u32 << (2 * i + channel);
                if watched & channel_pins != 0 { slice.edge_cycle(channel) } else { None }
            };
            for at in [wrap, edge(0), edge(1)].into_iter().flatten() {
                next = Some(next.map_or(at, |n| n.min(at)));
            }
        }
        let at = next.map_or(NEVER, |next| sys.clock.ps_at(next.max(cycle + 1)));
        sys.schedule(EventId::Pwm, at);
    }

    fn ints(&self) -> u32 {
        (self.intr & self.inte) | self.intf
    }

    fn write_csr(slice: &mut Slice, value: u32) {
        let was_enabled = slice.enabled();
        slice.csr = value & csr::WRITABLE;
        slice.down &= slice.phase_correct();
        if value & csr::PH_ADV != 0 && slice.enabled() {
            slice.sub += slice.div_16ths();
        }
        if value & csr::PH_RET != 0 && slice.enabled() {
            slice.sub -= slice.div_16ths();
        }
        if was_enabled && !slice.enabled() {
            slice.latch();
        }
    }
}

impl Peripheral for Pwm {
    fn name(&self) -> &'static str {
        "PWM"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        self.update(sys);
        match offset {
            0x00..=0x9c => {
                let slice = &self.slices[(offset / 0x14) as usize];
                match offset % 0x14 {
                    0x00 => slice.csr,
                    0x04 => slice.div,
                    0x08 => slice.counter,
                    0x0c => slice.cc,
                    _ => slice.top,
                }
            }
            0xa0 => self.slices.iter().enumerate().fold(0, |en, (i, slice)| en | (slice.csr & csr::EN) << i),
            0xa4 => self.intr,
            0xa8 => self.inte,
            0xac => self.intf,
            0xb0 => self.ints(),
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        self.update(sys);
        match offset {
            0x00..=0x9c => {
                let slice = &mut self.slices[(offset / 0x14) as usize];
                match offset % 0x14 {
                    0x00 => Self::write_csr(slice, write.apply(slice.csr)),
                    0x04 => slice.div = write.apply_masked(slice.div, 0xfff),
                    0x08 => slice.counter = write.apply_masked(slice.counter, 0xffff),
                    0x0c => slice.cc = write.apply(slice.cc),
                    _ => slice.top = write.apply_masked(slice.top, 0xffff),
                }
                if !slice.enabled() {
                    slice.latch();
                }
            }
            0xa0 => {
                let old = self.slices.iter().enumerate().fold(0, |en, (i, slice)| en | (slice.csr & csr::EN) << i);
                let new = write.apply(old);
                for (i, slice) in self.slices.iter_mut().enumerate() {
                    let csr = slice.csr & !csr::EN | (new >> i & 1);
                    Self::write_csr(slice, csr);
                }
            }
            0xa4 => self.intr &= !write.ones(),
            0xa8 => self.inte = write.apply_masked(self.inte, 0xff),
            0xac => self.intf = write.apply_masked(self.intf, 0xff),
            _ => {}
        }
        self.update(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::default();
        let cycle = sys.clock.cycle_at(sys.now());
        for (i, slice) in self.slices.iter_mut().enumerate() {
            slice.at = cycle;
            sys.set_dreq(dreq::PWM_WRAP0 + i as u32, false);
        }
        self.update(sys);
    }
}

/// Number of the last pin that PWM can drive.
const _: () = assert!(PINS == PIN_MASK.count_ones());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::watcher;

    const SLICE: u32 = 0x14;

    fn chip() -> (Sys, Pwm) {
        let mut sys = Sys::new(125_000_000);
        let mut pwm = Pwm::default();
        pwm.reset(&mut sys);
        (sys, pwm)
    }

    fn set(sys: &mut Sys, pwm: &mut Pwm, slice: u32, registers: [u32; 4]) {
        let [div, cc, top, csr] = registers;
        for (offset, bits) in [(4, div), (0x0c, cc), (0x10, top), (0, csr)] {
            pwm.write(sys, slice * SLICE + offset, Write::normal(bits));
        }
    }

    #[test]
    fn reset_values() {
        let (mut sys, mut pwm) = chip();
        for slice in 0..8 {
            for (offset, value) in [(0, 0), (4, 0x10), (8, 0), (0xc, 0), (0x10, 0xffff)] {
                assert_eq!(pwm.read(&mut sys, slice * SLICE + offset), value);
            }
        }
        for offset in [0xa0, 0xa4, 0xa8, 0xac, 0xb0] {
            assert_eq!(pwm.read(&mut sys, offset), 0);
        }
        assert_eq!(sys.due(EventId::Pwm), NEVER);
    }

    /// Performs one count as the datasheet describes it; returns the counter and whether it counts down.
    fn count_once((counter, down): (u32, bool), top: u32, phase_correct: bool) -> (u32, bool) {
        match (phase_correct, down) {
            (false, _) if counter == top => (0, false),
            (true, false) if counter == top => (counter, true),
            (true, true) if counter == 0 => (0, false),
            (true, true) => (counter - 1, true),
            _ => ((counter + 1) & 0xffff, false),
        }
    }

    fn naive(top: u32, phase_correct: bool, ticks: u32) -> u32 {
        (0..ticks).fold((0, false), |state, _| count_once(state, top, phase_correct)).0
    }

    /// pico-sdk's hardware_pwm_test: 1234 into a stopped phase-correct slice whose TOP is 100.
    #[test]
    fn a_stopped_counter_keeps_its_value_for_any_top_and_mode() {
        let (mut sys, mut pwm) = chip();
        let (s, p) = (&mut sys, &mut pwm);
        for csr in [csr::PH_CORRECT | csr::B_INV | DIVMODE_LEVEL << 4, 0] {
            set(s, p, 5, [16, 0, 100, csr]);
            p.write(s, 5 * SLICE + 8, Write::normal(1234));
            s.cycle += 10_000;
            assert_eq!(p.read(s, 5 * SLICE + 8), 1234, "CSR 0x{csr:x}");
        }
    }

    /// Counter and watched output, event by event, compared with counting one by one, from starts on both sides of TOP.
    #[test]
    fn counters_written_while_running_keep_their_direction() {
        for (top, compare, phase_correct, turn_at, start) in [
            (9, 4, true, 3, 7),
            (9, 4, true, 14, 7),
            (9, 4, true, 14, 40),
            (9, 4, true, 14, 0),
            (9, 12, true, 3, 0xfff8),
            (9, 0xffff, true, 3, 0xfff8),
            (9, 12, false, 3, 0xfff0),
            (0, 1, true, 1, 3),
        ] {
            let (mut sys, mut pwm) = chip();
            let (s, p) = (&mut sys, &mut pwm);
            s.pins.function_mask[function::PWM] = 1;
            s.watch_pins(watcher::WORLD, 1);
            set(s, p, 0, [16, compare, top, csr::EN | if phase_correct { csr::PH_CORRECT } else { 0 }]);
            let mut state = (0, false);
            for cycle in 0..100u64 {
                if cycle == turn_at {
                    state.0 = start;
                    s.cycle = cycle;
                    p.write(s, 8, Write::normal(start));
                }
                while s.take_event(cycle * 8000).is_some() {
                    p.event(s);
                }
                let case = format!("TOP {top}, CC {compare}, {start} at {turn_at}: cycle {cycle}");
                assert_eq!(s.pins.level(), u32::from(state.0 < compare), "{case}");
                if cycle % 7 == 0 {
                    s.cycle = cycle;
                    assert_eq!(p.read(s, 8), state.0, "{case}");
                }
                state = count_once(state, top, phase_correct);
            }
        }
    }

    #[test]
    fn lazy_counters_agree_with_counting() {
        for (top, phase_correct, div) in
            [(9, false, 16), (9, true, 16), (0, true, 40), (3, true, 0x25), (100, false, 0x9f)]
        {
            let (mut sys, mut pwm) = chip();
            set(&mut sys, &mut pwm, 3, [div, 0, top, csr::EN | if phase_correct { csr::PH_CORRECT } else { 0 }]);
            for cycle in 0..500u64 {
                sys.cycle = cycle;
                let ticks = (cycle * 16 / u64::from(div)) as u32;
                assert_eq!(
                    pwm.read(&mut sys, 3 * SLICE + 8),
                    naive(top, phase_correct, ticks),
                    "{top} {phase_correct} {cycle}"
                );
            }
        }
    }

    #[test]
    fn the_wrap_interrupt_is_exact_and_scheduled_only_if_enabled() {
        let (mut sys, mut pwm) = chip();
        let (s, p) = (&mut sys, &mut pwm);
        set(s, p, 0, [4 << 4, 0, 99, csr::EN]);
        assert_eq!(s.due(EventId::Pwm), NEVER);
        s.cycle = 1000;
        assert_eq!(p.read(s, 0xa4), 1);
        p.write(s, 0xa4, Write::normal(1));
        p.write(s, 0xa8, Write::normal(1));
        assert_eq!(s.due(EventId::Pwm), 1200 * 8000);
        assert_eq!(s.take_event(NEVER - 1), Some(EventId::Pwm));
        p.event(s);
        assert_eq!((s.irq_level(), s.due(EventId::Pwm)), (1 << irq::PWM_WRAP, NEVER));
        s.take_event(0);
        s.cycle = 1201;
        p.write(s, 0xa4, Write::normal(1));
        assert_eq!((s.irq_level(), s.due(EventId::Pwm)), (0, 1600 * 8000));
        // Phase correct takes twice as long, and the new TOP waits for the wrap.
        p.write(s, 0, Write::normal(csr::EN | csr::PH_CORRECT));
        p.write(s, 0x10, Write::normal(9));
        assert_eq!(s.due(EventId::Pwm), 2000 * 8000);
    }

    #[test]
    fn levels_are_right_when_read_and_edges_when_watched() {
        let (mut sys, mut pwm) = chip();
        let (s, p) = (&mut sys, &mut pwm);
        s.pins.function_mask[function::PWM] = 0b11;
        set(s, p, 0, [16, 30 | (101 << 16), 99, csr::EN | csr::B_INV]);
        assert_eq!((s.pins.level(), p.drives_pins(s)), (1, true));
        s.cycle = 130;
        p.refresh_pins(s);
        assert_eq!(s.pins.level(), 0);
        s.watch_pins(watcher::WORLD, 1);
        p.reschedule(s);
        let mut edges = vec![];
        for _ in 0..4 {
            let due = s.due(EventId::Pwm);
            assert_eq!(s.take_event(due), Some(EventId::Pwm));
            p.event(s);
            edges.push((due / 8000, s.pins.level()));
        }
        assert_eq!(edges, [(200, 1), (230, 0), (300, 1), (330, 0)]);
        s.watch_pins(watcher::WORLD, 0);
        p.reschedule(s);
        assert_eq!(s.due(EventId::Pwm), NEVER);
    }

    #[test]
    fn phase_correct_edges_are_symmetric() {
        let (mut sys, mut pwm) = chip();
        let (s, p) = (&mut sys, &mut pwm);
        s.pins.function_mask[function::PWM] = 1 << 18;
        s.watch_pins(watcher::WORLD, PIN_MASK);
        set(s, p, 1, [16, 30, 99, csr::EN | csr::PH_CORRECT]);
        let mut edges = vec![];
        for _ in 0..6 {
            let due = s.due(EventId::Pwm);
            s.take_event(due);
            p.event(s);
            edges.push((due / 8000, s.pins.level() >> 18));
        }
        assert_eq!(edges, [(30, 0), (170, 1), (200, 1), (230, 0), (370, 1), (400, 1)]);
    }

    #[test]
    fn the_b_pin_gates_and_counts() {
        for (mode, expected) in [(DIVMODE_LEVEL, 40), (DIVMODE_RISE, 3), (DIVMODE_FALL, 2)] {
            let (mut sys, mut pwm) = chip();
            let (s, p) = (&mut sys, &mut pwm);
            s.pins.function_mask[function::PWM] = 1 << 5;
            set(s, p, 2, [16, 0, 0xffff, csr::EN | mode << 4]);
            for (cycle, level) in [(100, true), (120, false), (200, true), (220, false), (300, true)] {
                s.cycle = cycle;
                s.pins.drive(5, Some(level));
                p.input_changed(s);
            }
            assert_eq!(p.read(s, 2 * SLICE + 8), expected, "mode {mode}");
        }
    }

    #[test]
    fn phase_can_be_moved() {
        let (mut sys, mut pwm) = chip();
        let (s, p) = (&mut sys, &mut pwm);
        set(s, p, 0, [2 << 4, 0, 0xffff, csr::EN]);
        s.cycle = 100;
        p.write(s, 0, Write { bits: csr::PH_ADV, alias: super::super::Alias::Set });
        assert_eq!((p.read(s, 8), p.read(s, 0)), (51, csr::EN));
        p.write(s, 0, Write { bits: csr::PH_RET, alias: super::super::Alias::Set });
        s.cycle = 200;
        assert_eq!(p.read(s, 8), 100);
    }

    #[test]
    fn a_watched_dreq_rises_at_every_wrap() {
        let (mut sys, mut pwm) = chip();
        let (s, p) = (&mut sys, &mut pwm);
        set(s, p, 4, [16, 0, 49, csr::EN]);
        let line = dreq::PWM_WRAP0 + 4;
        s.watch_dreqs(1 << line);
        p.reschedule(s);
        assert_eq!((s.due(EventId::Pwm), s.dreq_level()), (50 * 8000, 0));
        s.take_event(NEVER - 1);
        p.event(s);
        assert_eq!((s.dreq_level(), s.due(EventId::Pwm)), (1 << line, NEVER));
        // The DMA's transfer clears the request.
        s.set_dreq(line, false);
        p.reschedule(s);
        assert_eq!(s.due(EventId::Pwm), 100 * 8000);
    }

    #[test]
    fn dma_paced_by_wraps_moves_one_word_per_wrap() {
        use crate::bus::{Bus, Master};
        use crate::memory::Memory;
        let mut mem = Memory::new(&[], 1 << 16);
        let mut sys = Sys::new(125_000_000);
        sys.clock_sources_dirty = false;
        let mut bus = Bus::new(sys, crate::world::Nothing);
        let put = |bus: &mut Bus<crate::world::Nothing>, mem: &mut Memory, address, value| {
            bus.write(mem, Master::Core(0), address, value, 4).expect("a register");
        };
        put(&mut bus, &mut mem, 0x4005_0010, 999);
        put(&mut bus, &mut mem, 0x4005_0000, csr::EN);
        assert_eq!(bus.sys.due(EventId::Pwm), NEVER);
        // Channel 0: three words to SRAM, write increment, paced by slice 0.
        let ctrl = dreq::PWM_WRAP0 << 15 | 1 << 5 | 2 << 2 | 1;
        for (offset, value) in [(0, 0x4005_0008), (4, 0x2000_0000), (8, 3), (0xc, ctrl)] {
            put(&mut bus, &mut mem, 0x5000_0000 + offset, value);
        }
        let mut wraps = vec![];
        while let Some(id) = bus.sys.take_event(NEVER - 1) {
            if id == EventId::Pwm {
                wraps.push(bus.sys.now() / 8000);
            }
            bus.sys.cycle = bus.sys.clock.cycle_at(bus.sys.now());
            bus.event(&mut mem, id);
        }
        assert_eq!(wraps, [1000, 2000, 3000]);
        assert_eq!((bus.sys.watched_dreqs(), bus.sys.dreq_level()), (0, 0));
        // The counter at each transfer: a few cycles after each wrap.
        assert!((0..3).all(|word| (1..20).contains(&mem.ram_u32(4 * word))));
    }
}
