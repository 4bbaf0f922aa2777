//! Clock divider of a state machine (datasheet 3.5.5).

use sim::Snapshot;

/// Tick `n`, from 1 on, is in cycle `first + (phase + (n - 1) * divisor) / 256`: the divider counts down from INT, and
/// whenever the accumulated FRAC passes 1 at the end of a period, the next period is one cycle longer. It also runs
/// while the state machine is disabled.
#[derive(Clone, Copy, Debug, Snapshot)]
pub(crate) struct Divider {
    first: u64,
    phase: u64,
    /// In 256ths of a cycle.
    divisor: u64,
}

impl Divider {
    /// CLKDIV after reset: every cycle.
    pub(crate) const RESET: u32 = 1 << 16;

    pub(crate) fn new() -> Self {
        Self { first: 1, phase: 0, divisor: 256 }
    }

    /// Returns the cycles between ticks, if constant.
    pub(crate) fn whole(&self) -> Option<u64> {
        self.divisor.is_multiple_of(256).then_some(self.divisor / 256)
    }

    /// Returns the cycle of tick `n`.
    pub(crate) fn cycle(&self, n: u64) -> u64 {
        self.first + (self.phase + (n - 1) * self.divisor) / 256
    }

    /// Returns the first tick in `cycle` or later.
    pub(crate) fn first_at(&self, cycle: u64) -> u64 {
        let from_first = cycle.saturating_sub(self.first) * 256;
        1 + from_first.saturating_sub(self.phase).div_ceil(self.divisor)
    }

    /// Restarts the period in cycle `now` (CTRL.CLKDIV_RESTART).
    pub(crate) fn restart(&mut self, now: u64) {
        self.first = now + self.divisor / 256;
        self.phase = 0;
    }

    /// Handles a write to CLKDIV in cycle `now`. The current period keeps its length.
    pub(crate) fn set(&mut self, now: u64, clkdiv: u32) {
        let next = self.first_at(now + 1);
        (self.first, self.phase) = (self.cycle(next), (self.phase + (next - 1) * self.divisor) % 256);
        self.divisor = match u64::from(clkdiv >> 8) {
            // INT of 0 counts as 65536, which has no fraction.
            0..256 => 256 << 16,
            divisor => divisor,
        };
    }
}
