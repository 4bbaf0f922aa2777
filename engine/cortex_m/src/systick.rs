//! SysTick, the timer of a core (ARMv6-M Architecture Reference Manual, B3.3).

use chip::{Event, Sys};
use sim::{NEVER, Snapshot};

/// The timer of one core.
#[derive(Debug, Default, Snapshot)]
pub struct SysTick {
    event: Event,
    /// Index of the chip's tick that is the external reference.
    reference: usize,
    enabled: bool,
    interrupt: bool,
    processor_clock: bool,
    count_flag: bool,
    reload: u32,
    /// Value at tick `base`.
    value: u32,
    base: u64,
}

impl SysTick {
    /// Returns the timer after a reset. `event`: its next zero; `reference`: the index of its external reference.
    pub fn new(event: Event, reference: usize) -> Self {
        Self { event, reference, ..Self::default() }
    }

    /// Returns the event of its next zero.
    pub fn event(&self) -> Event {
        self.event
    }

    /// Returns the index of its external reference.
    pub fn reference(&self) -> usize {
        self.reference
    }

    /// Ticks of the selected clock since power-on: clk_sys, or the chip's tick as the external reference (RP2040
    /// datasheet 2.4.5.1.1).
    fn ticks(&self, sys: &Sys, cycle: u64) -> u64 {
        if self.processor_clock { cycle } else { sys.ticks[self.reference].count(sys.clock.ps_at(cycle)) }
    }

    /// Advances `value` to now; returns whether it passed zero.
    fn catch_up(&mut self, sys: &Sys, cycle: u64) -> bool {
        let now = self.ticks(sys, cycle);
        // A clock may change at the other core's cycle count, which can lie slightly behind.
        let elapsed = now.saturating_sub(self.base);
        self.base = self.base.max(now);
        if !self.enabled || elapsed == 0 {
            return false;
        }
        let start = u64::from(self.value);
        if elapsed < start {
            self.value = (start - elapsed) as u32;
            return false;
        }
        // The counter reaches zero after `start` ticks (never if it rests at zero without a reload value), and every
        // reload + 1 ticks after that.
        let period = u64::from(self.reload) + 1;
        let after = elapsed - start;
        self.value = if after == 0 || self.reload == 0 { 0 } else { (period - 1 - (after - 1) % period) as u32 };
        let reached = start > 0 || (self.reload > 0 && after >= period);
        self.count_flag |= reached;
        reached
    }

    /// Returns the distance in cycles or ticks to the next zero, if it interrupts.
    fn ticks_to_zero(&self) -> Option<u64> {
        if !self.enabled || !self.interrupt {
            return None;
        }
        match (self.value, self.reload) {
            (0, 0) => None,
            (0, reload) => Some(u64::from(reload) + 1),
            (value, _) => Some(u64::from(value)),
        }
    }

    /// Advances to now, and schedules the event of the next zero. Returns whether the exception becomes pending.
    pub fn sync(&mut self, sys: &mut Sys, cycle: u64) -> bool {
        let due = self.catch_up(sys, cycle) && self.interrupt;
        let at = match self.ticks_to_zero() {
            None => NEVER,
            Some(ticks) if self.processor_clock => sys.clock.ps_at(cycle.saturating_add(ticks)),
            Some(ticks) => sys.ticks[self.reference].time_of(self.base.wrapping_add(ticks)),
        };
        sys.schedule(self.event, at);
        due
    }

    /// Reads the register at `offset` from SYST_CSR, after [`Self::sync`].
    pub fn read(&mut self, offset: u32) -> u32 {
        match offset {
            0x0 => {
                u32::from(self.enabled)
                    | (u32::from(self.interrupt) << 1)
                    | (u32::from(self.processor_clock) << 2)
                    | (u32::from(std::mem::take(&mut self.count_flag)) << 16)
            }
            0x4 => self.reload,
            0x8 => self.value,
            // NOREF clear, SKEW set, TENMS 9999 at the 1 MHz reference.
            _ => 0x4000_270f,
        }
    }

    /// Writes a register, after [`Self::sync`] and before the next.
    pub fn write(&mut self, sys: &Sys, cycle: u64, offset: u32, value: u32) {
        match offset {
            0x0 => {
                self.enabled = value & 1 != 0;
                self.interrupt = value & 2 != 0;
                self.processor_clock = value & 4 != 0;
                self.base = self.ticks(sys, cycle);
            }
            0x4 => self.reload = value & 0x00ff_ffff,
            0x8 => {
                self.value = 0;
                self.count_flag = false;
            }
            _ => {}
        }
    }
}
