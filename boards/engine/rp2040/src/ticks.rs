//! A counter that runs at a constant rate and is only evaluated when somebody looks.

use crate::time::{NEVER, PS_PER_SECOND, Ps};

/// Counts `hz / divisor` ticks a second without accumulating rounding errors over rate changes.
///
/// Simulated times are rounded down to whole picoseconds. So are the times of ticks: a tick in the middle of a
/// picosecond is counted at its beginning, and a clock cycle that begins with a tick sees it.
#[derive(Clone, Debug)]
pub struct Ticks {
    hz: u64,
    divisor: u64,
    base_ps: Ps,
    base_count: u64,
    /// Part of a tick that had passed at `base_ps`, in units of `1 / (divisor * PS_PER_SECOND)`.
    phase: u128,
}

impl Default for Ticks {
    /// Stopped at 0.
    fn default() -> Self {
        Self { hz: 0, divisor: 1, base_ps: 0, base_count: 0, phase: 0 }
    }
}

impl Ticks {
    fn tick_length(&self) -> u128 {
        u128::from(self.divisor) * u128::from(PS_PER_SECOND)
    }

    fn elapsed(&self, now: Ps) -> (u64, u128) {
        if self.hz == 0 {
            return (0, self.phase);
        }
        let n = u128::from(now.saturating_sub(self.base_ps)) * u128::from(self.hz) + self.phase;
        let length = self.tick_length();
        let ticks = (n + u128::from(self.hz) - 1) / length;
        (ticks as u64, n.saturating_sub(ticks * length))
    }

    /// Ticks up to and including `now`; wraps at 64 bits.
    pub fn count(&self, now: Ps) -> u64 {
        self.base_count.wrapping_add(self.elapsed(now).0)
    }

    /// Cycles of the undivided clock since the last tick.
    pub fn cycles_into_tick(&self, now: Ps) -> u64 {
        ((self.elapsed(now).1 + u128::from(self.hz)) / u128::from(PS_PER_SECOND)).min(u128::from(self.divisor - 1)) as u64
    }

    /// Time of the tick that makes [`Self::count`] equal `count`, which must not lie before the last rate change;
    /// [`NEVER`] if the counter is stopped.
    pub fn time_of(&self, count: u64) -> Ps {
        if self.hz == 0 {
            return NEVER;
        }
        let ticks = u128::from(count.wrapping_sub(self.base_count));
        let Some(n) = ticks.checked_mul(self.tick_length()) else { return NEVER };
        let wait = n.saturating_sub(self.phase) / u128::from(self.hz);
        u64::try_from(wait).map_or(NEVER, |wait| self.base_ps.saturating_add(wait))
    }

    /// Continues at `hz / divisor` from `now` on; 0 Hz stops. The fraction of the current tick is kept.
    pub fn set_rate(&mut self, now: Ps, hz: u64, divisor: u64) {
        let (ticks, phase) = self.elapsed(now);
        let divisor = divisor.max(1);
        self.base_count = self.base_count.wrapping_add(ticks);
        self.phase = phase * u128::from(divisor) / u128::from(self.divisor);
        self.base_ps = now;
        self.hz = hz;
        self.divisor = divisor;
    }

    pub fn running(&self) -> bool {
        self.hz != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_microsecond_ticks_are_exact() {
        let mut ticks = Ticks::default();
        assert_eq!((ticks.count(5), ticks.time_of(1)), (0, NEVER));
        ticks.set_rate(100, 12_000_000, 12);
        assert_eq!(ticks.time_of(3), 100 + 3_000_000);
        assert_eq!(ticks.count(100 + 3_000_000 - 1), 2);
        assert_eq!(ticks.count(100 + 3_000_000), 3);
        assert_eq!(ticks.cycles_into_tick(100 + 3_500_000), 6);
    }

    #[test]
    fn time_of_is_the_first_moment_of_a_count_at_odd_rates() {
        let mut ticks = Ticks::default();
        let mut now = 7;
        for (hz, divisor) in [(6_500_000, 12), (1, 3), (132_999_999, 65536), (12_000_000, 511), (999_999_937, 1)] {
            ticks.set_rate(now, hz, divisor);
            let first = ticks.count(now);
            for ahead in [1, 2, 1000] {
                let at = ticks.time_of(first + ahead);
                assert_eq!(ticks.count(at), first + ahead, "{hz}/{divisor} +{ahead}");
                assert_eq!(ticks.count(at - 1), first + ahead - 1, "{hz}/{divisor} +{ahead}");
            }
            now = ticks.time_of(first + 5) + 11;
        }
    }

    #[test]
    fn extremes_saturate() {
        let mut ticks = Ticks::default();
        ticks.set_rate(u64::MAX - 5, u64::MAX >> 20, 1 << 24);
        assert_eq!(ticks.time_of(u64::MAX), NEVER);
        ticks.set_rate(u64::MAX, 1, 1);
        assert!(ticks.running());
    }
}
