//! A counter that runs at a constant rate and is evaluated on demand.

use sim::{NEVER, PS_PER_S, Ps, Snapshot};

/// Counts `hz / divisor` ticks per second without accumulating rounding errors over rate changes.
///
/// Simulated times are rounded down to whole picoseconds. So are the times of ticks: a tick within a picosecond counts
/// from the start of that picosecond, and a clock cycle that starts with a tick sees it.
#[derive(Clone, Debug, Snapshot)]
pub struct Ticks {
    hz: u64,
    divisor: u64,
    base_ps: Ps,
    base_count: u64,
    /// Part of a tick that had passed at `base_ps`, in units of `1 / (divisor * PS_PER_S)`.
    phase: u128,
    /// Picoseconds per tick, and those of them that had passed at `base_ps`, if both are whole numbers: the usual case,
    /// which needs no 128-bit division. Otherwise 0.
    whole_ps: (u64, u64),
}

impl Default for Ticks {
    /// Returns a counter stopped at 0.
    fn default() -> Self {
        Self { hz: 0, divisor: 1, base_ps: 0, base_count: 0, phase: 0, whole_ps: (0, 0) }
    }
}

impl Ticks {
    fn tick_length(&self) -> u128 {
        u128::from(self.divisor) * u128::from(PS_PER_S)
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

    /// Returns the ticks up to and including `now`; wraps at 64 bits.
    #[inline]
    pub fn count(&self, now: Ps) -> u64 {
        let (tick_ps, passed_ps) = self.whole_ps;
        let ticks = match now.saturating_sub(self.base_ps).checked_add(passed_ps) {
            // The part of a picosecond that `elapsed` rounds up by cannot complete a tick of whole picoseconds.
            Some(passed_ps) if tick_ps != 0 => passed_ps / tick_ps,
            _ => self.elapsed(now).0,
        };
        self.base_count.wrapping_add(ticks)
    }

    /// Returns the cycles of the undivided clock since the last tick.
    pub fn cycles_into_tick(&self, now: Ps) -> u64 {
        ((self.elapsed(now).1 + u128::from(self.hz)) / u128::from(PS_PER_S)).min(u128::from(self.divisor - 1)) as u64
    }

    /// Returns the time of the tick that makes [`Self::count`] equal `count`, which must not lie before the last rate
    /// change; [`NEVER`] if the counter is stopped.
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
        self.whole_ps = self.whole().unwrap_or_default();
    }

    fn whole(&self) -> Option<(u64, u64)> {
        let hz = u128::from(self.hz);
        let exact = hz != 0 && self.tick_length().is_multiple_of(hz) && self.phase.is_multiple_of(hz);
        if !exact {
            return None;
        }
        Some((u64::try_from(self.tick_length() / hz).ok()?, u64::try_from(self.phase / hz).ok()?))
    }

    /// Returns whether the tick has a clock.
    pub fn running(&self) -> bool {
        self.hz != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_picoseconds_count_like_any() {
        let mut random = sim::SplitMix64::new(1);
        let mut whole = 0;
        for _ in 0..2000 {
            let mut ticks = Ticks::default();
            let mut now = 0;
            for _ in 0..4 {
                let hz = [12_000_000, 6_500_000, 48_000_000, 125_000_000, 0, 1_000_003][random.below(6) as usize];
                ticks.set_rate(now, hz, 1 + random.below(100));
                whole += u32::from(ticks.whole_ps.0 != 0);
                for _ in 0..10 {
                    let most = [3, 1_000, 1_000_000, 1_000_000_000][random.below(4) as usize];
                    now += random.below(most);
                    assert_eq!(ticks.count(now), ticks.base_count + ticks.elapsed(now).0, "{ticks:?} at {now}");
                }
            }
        }
        assert!(whole > 500, "{whole}");
    }

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
    fn time_of_is_the_start_of_a_count_at_odd_rates() {
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
