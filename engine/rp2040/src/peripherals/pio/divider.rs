//! Clock divider of a state machine (datasheet 3.5.5).

/// Tick `n`, from 1 on, comes in cycle `first + (phase + (n - 1) * divisor) / 256`: the divider counts down from INT, and
/// whenever the running total of FRAC passes 1 at the end of a period, the next one is a cycle longer. It runs whether or
/// not the state machine is enabled.
#[derive(Clone, Copy, Debug)]
pub struct Divider {
    first: u64,
    phase: u64,
    /// In 256ths of a cycle.
    divisor: u64,
}

impl Divider {
    /// CLKDIV after reset: every cycle.
    pub const RESET: u32 = 1 << 16;

    pub fn new() -> Self {
        Self { first: 1, phase: 0, divisor: 256 }
    }

    /// Cycles from tick to tick, if these are always as many.
    pub fn whole(&self) -> Option<u64> {
        self.divisor.is_multiple_of(256).then_some(self.divisor / 256)
    }

    /// Cycle of tick `n`.
    pub fn cycle(&self, n: u64) -> u64 {
        self.first + (self.phase + (n - 1) * self.divisor) / 256
    }

    /// The first tick in `cycle` or later.
    pub fn first_at(&self, cycle: u64) -> u64 {
        let from_first = cycle.saturating_sub(self.first) * 256;
        1 + from_first.saturating_sub(self.phase).div_ceil(self.divisor)
    }

    /// CTRL.CLKDIV_RESTART in cycle `now`: a period begins.
    pub fn restart(&mut self, now: u64) {
        self.first = now + self.divisor / 256;
        self.phase = 0;
    }

    /// CLKDIV was written in cycle `now`. The period that is running keeps its length.
    pub fn set(&mut self, now: u64, clkdiv: u32) {
        let next = self.first_at(now + 1);
        (self.first, self.phase) = (self.cycle(next), (self.phase + (next - 1) * self.divisor) % 256);
        self.divisor = match u64::from(clkdiv >> 8) {
            // INT of 0 counts as 65536, which has no fraction.
            0..256 => 256 << 16,
            divisor => divisor,
        };
    }
}
