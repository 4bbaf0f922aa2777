//! PWM: slices of two channels (datasheet 4.5).
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

use crate::wires::{PwmWires, Version};
use chip::{Peripheral, Sys, Write};
use sim::{NEVER, Snapshot};

mod csr {
    pub(crate) const EN: u32 = 1 << 0;
    pub(crate) const PH_CORRECT: u32 = 1 << 1;
    pub(crate) const A_INV: u32 = 1 << 2;
    pub(crate) const B_INV: u32 = 1 << 3;
    pub(crate) const PH_RET: u32 = 1 << 6;
    pub(crate) const PH_ADV: u32 = 1 << 7;
    pub(crate) const WRITABLE: u32 = 0x3f;
}

/// Most interrupts.
const LINES: usize = 2;
const DIVMODE_FREE: u32 = 0;
const DIVMODE_LEVEL: u32 = 1;
const DIVMODE_RISE: u32 = 2;
const DIVMODE_FALL: u32 = 3;

#[derive(Clone, Debug, Snapshot)]
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

/// The pulse width modulator: slices of two channels.
#[derive(Debug, Snapshot)]
pub struct Pwm {
    wires: PwmWires,
    slices: Vec<Slice>,
    intr: u32,
    inte: [u32; LINES],
    intf: [u32; LINES],
}

impl Pwm {
    /// Returns the part in its reset state, connected by `wires`.
    pub fn new(wires: PwmWires) -> Self {
        Self { wires, slices: vec![Slice::default(); wires.a_pins.len()], intr: 0, inte: [0; LINES], intf: [0; LINES] }
    }

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
        self.wires.pins.selected(&sys.pins) != 0 && self.slices.iter().any(Slice::enabled)
    }

    /// Updates the levels of all pins.
    pub fn refresh_pins(&mut self, sys: &mut Sys) {
        self.update(sys);
    }

    /// Brings the block up to now, and recomputes lines, pins and the next event.
    fn update(&mut self, sys: &mut Sys) {
        let cycle = sys.clock.cycle_at(sys.now());
        let PwmWires { event, irq, dreq, pins: all, a_pins, .. } = self.wires;
        let selected = all.selected(&sys.pins);
        let input = sys.pins.input() & selected;
        let mut outputs = 0u64;
        let mut b_inputs = 0u64;
        for (i, slice) in self.slices.iter_mut().enumerate() {
            let mut wrapped = slice.advance(cycle);
            let b_pins = a_pins[i] << 1;
            wrapped |= slice.set_input(input & b_pins != 0);
            if wrapped {
                self.intr |= 1 << i;
                let line = dreq + i as u32;
                sys.set_dreq(line, sys.watched_dreqs() >> line & 1 != 0);
            }
            outputs |= (u64::from(slice.output(0)) | u64::from(slice.output(1)) << 1) * a_pins[i];
            if slice.divmode() != DIVMODE_FREE {
                b_inputs |= b_pins;
            }
        }
        let (out, oe) = (outputs & all.pins, all.pins & !b_inputs);
        let pins = &mut sys.pins;
        if pins.function_out[all.function] != out || pins.function_oe[all.function] != oe {
            pins.function_out[all.function] = out;
            pins.function_oe[all.function] = oe;
            pins.refresh();
        }
        for line in 0..self.lines() {
            sys.set_irq(irq + line as u32, self.ints(line) != 0);
        }

        let watched = sys.watched_pins() & all.selected(&sys.pins) & oe;
        let mut next: Option<u64> = None;
        for (i, slice) in self.slices.iter().enumerate() {
            let line = dreq + i as u32;
            let irq_wanted = (self.inte[0] | self.inte[1]) & !self.intr & (1 << i) != 0;
            let dreq_wanted = sys.watched_dreqs() & !sys.dreq_level() & (1 << line) != 0;
            let wrap = if irq_wanted || dreq_wanted { slice.wrap_cycle() } else { None };
            let edge = |channel: usize| {
                let channel_pins = a_pins[i] << channel;
                if watched & channel_pins != 0 { slice.edge_cycle(channel) } else { None }
            };
            for at in [wrap, edge(0), edge(1)].into_iter().flatten() {
                next = Some(next.map_or(at, |n| n.min(at)));
            }
        }
        let at = next.map_or(NEVER, |next| sys.clock.ps_at(next.max(cycle + 1)));
        sys.schedule(event, at);
    }

    /// Returns the offset of a register behind those of the slices.
    fn common(&self, offset: u32) -> Option<u32> {
        offset.checked_sub(0x14 * self.slices.len() as u32)
    }

    /// Returns a bit for each slice.
    fn all(&self) -> u32 {
        (1 << self.slices.len()) - 1
    }

    /// Returns the number of interrupts.
    fn lines(&self) -> usize {
        match self.wires.version {
            Version::V0 => 1,
            Version::V1 => LINES,
        }
    }

    fn ints(&self, line: usize) -> u32 {
        (self.intr & self.inte[line]) | self.intf[line]
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
        match self.common(offset) {
            None => {
                let slice = &self.slices[(offset / 0x14) as usize];
                match offset % 0x14 {
                    0x00 => slice.csr,
                    0x04 => slice.div,
                    0x08 => slice.counter,
                    0x0c => slice.cc,
                    _ => slice.top,
                }
            }
            Some(0x00) => self.slices.iter().enumerate().fold(0, |en, (i, slice)| en | (slice.csr & csr::EN) << i),
            Some(0x04) => self.intr,
            Some(register) => match (((register - 0x08) / 0x0c) as usize, (register - 0x08) % 0x0c) {
                (line, _) if line >= self.lines() => 0,
                (line, 0x0) => self.inte[line],
                (line, 0x4) => self.intf[line],
                (line, _) => self.ints(line),
            },
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        self.update(sys);
        match self.common(offset) {
            None => {
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
            Some(0x00) => {
                let old = self.slices.iter().enumerate().fold(0, |en, (i, slice)| en | (slice.csr & csr::EN) << i);
                let new = write.apply(old);
                for (i, slice) in self.slices.iter_mut().enumerate() {
                    let csr = slice.csr & !csr::EN | (new >> i & 1);
                    Self::write_csr(slice, csr);
                }
            }
            Some(0x04) => self.intr &= !write.ones(),
            Some(register) => match (((register - 0x08) / 0x0c) as usize, (register - 0x08) % 0x0c) {
                (line, _) if line >= self.lines() => {}
                (line, 0x0) => self.inte[line] = write.apply_masked(self.inte[line], self.all()),
                (line, 0x4) => self.intf[line] = write.apply_masked(self.intf[line], self.all()),
                _ => {}
            },
        }
        self.update(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.wires);
        let cycle = sys.clock.cycle_at(sys.now());
        for (i, slice) in self.slices.iter_mut().enumerate() {
            slice.at = cycle;
            sys.set_dreq(self.wires.dreq + i as u32, false);
        }
        self.update(sys);
    }
}

#[cfg(test)]
mod tests;
