//! Conversion between the cycles of a clock domain and picoseconds.

use crate::Snapshot;
use crate::time::{PS_PER_S, Ps};

/// Largest cycle difference whose picoseconds times 1 Hz still fit 64 bits.
const FAST_CYCLES: u64 = u64::MAX / PS_PER_S - 1;

/// Exact conversion between cycles and picoseconds for a clock whose frequency changes.
///
/// The remainder of every conversion is kept as a numerator over `hz`, so that no error accumulates at any frequency.
#[derive(Clone, Debug, Snapshot)]
pub struct Clock {
    hz: u64,
    base_cycle: u64,
    base_ps: Ps,
    base_numerator: u64,
    /// 2^64 / `hz`, rounded down, for a division in a few cycles; 0 in a restored clock whose base has not moved yet.
    #[snapshot(skip)]
    reciprocal: u64,
}

fn reciprocal(hz: u64) -> u64 {
    u64::MAX.checked_div(hz).unwrap_or_default()
}

impl Clock {
    /// Returns a clock of `hz` whose cycle 0 is at simulated time 0.
    pub fn new(hz: u64) -> Self {
        Self { hz, base_cycle: 0, base_ps: 0, base_numerator: 0, reciprocal: reciprocal(hz) }
    }

    /// Returns the frequency.
    pub fn hz(&self) -> u64 {
        self.hz
    }

    #[inline]
    fn split(&self, cycle: u64) -> (Ps, u64) {
        let Some(delta) = cycle.checked_sub(self.base_cycle) else {
            return self.split_back(cycle);
        };
        if delta < FAST_CYCLES {
            let n = delta * PS_PER_S + self.base_numerator;
            if self.reciprocal == 0 {
                return (self.base_ps + n / self.hz, n % self.hz);
            }
            // At most two less.
            let mut ps = ((u128::from(n) * u128::from(self.reciprocal)) >> 64) as u64;
            let mut rest = n - ps * self.hz;
            while rest >= self.hz {
                (ps, rest) = (ps + 1, rest - self.hz);
            }
            (self.base_ps + ps, rest)
        } else {
            self.split_far(delta)
        }
    }

    #[cold]
    fn split_far(&self, delta: u64) -> (Ps, u64) {
        let n = u128::from(delta) * u128::from(PS_PER_S) + u128::from(self.base_numerator);
        let hz = u128::from(self.hz);
        (self.base_ps + (n / hz) as u64, (n % hz) as u64)
    }

    /// Returns the time of a cycle before the base. A peripheral that catches up lazily may ask for one.
    #[cold]
    fn split_back(&self, cycle: u64) -> (Ps, u64) {
        let hz = u128::from(self.hz);
        let base = u128::from(self.base_ps) * hz + u128::from(self.base_numerator);
        let n = base.saturating_sub(u128::from(self.base_cycle - cycle) * u128::from(PS_PER_S));
        ((n / hz) as u64, (n % hz) as u64)
    }

    /// Time at which `cycle` begins.
    #[inline]
    pub fn ps_at(&self, cycle: u64) -> Ps {
        self.split(cycle).0
    }

    /// First cycle that begins at or after `ps`.
    pub fn cycle_at(&self, ps: Ps) -> u64 {
        if ps <= self.base_ps {
            return self.base_cycle;
        }
        let numerator = self.base_numerator.min(self.hz - 1);
        if let Some(n) = (ps - self.base_ps).checked_mul(self.hz) {
            return self.base_cycle.saturating_add((n - numerator).div_ceil(PS_PER_S));
        }
        let n = u128::from(ps - self.base_ps) * u128::from(self.hz) - u128::from(numerator);
        let cycles = n.div_ceil(u128::from(PS_PER_S));
        self.base_cycle.saturating_add(u64::try_from(cycles).unwrap_or(u64::MAX))
    }

    /// Moves the base to `cycle`, so that later conversions stay in the fast range.
    pub fn rebase(&mut self, cycle: u64) {
        let (ps, numerator) = self.split(cycle);
        self.base_cycle = cycle;
        self.base_ps = ps;
        self.base_numerator = numerator;
        self.reciprocal = reciprocal(self.hz);
    }

    /// Moves `cycle`, and all later ones, to the time `ps`: the clock stood still before it.
    pub fn pause(&mut self, cycle: u64, ps: Ps) {
        (self.base_cycle, self.base_ps, self.base_numerator) = (cycle, ps, 0);
    }

    /// Changes the frequency from `cycle` on.
    pub fn set_hz(&mut self, cycle: u64, hz: u64) {
        self.rebase(cycle);
        // The fraction of a picosecond is carried over in the new denominator.
        self.base_numerator = (u128::from(self.base_numerator) * u128::from(hz) / u128::from(self.hz)) as u64;
        self.hz = hz;
        self.reciprocal = reciprocal(hz);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_round_trip_at_odd_frequencies() {
        for hz in [48_000_000, 125_000_000, 132_999_999, 6_500_001, 32_768] {
            let mut clock = Clock::new(hz);
            for cycle in [0u64, 1, 2, 7, 1_000_003, 50_000_000_000] {
                let ps = clock.ps_at(cycle);
                assert_eq!(clock.cycle_at(ps.max(1)), cycle.max(u64::from(ps == 0)), "{hz} {cycle}");
            }
            let before = clock.ps_at(123_456_789);
            clock.rebase(1_000_003);
            assert_eq!(clock.ps_at(123_456_789), before);
            let early = clock.ps_at(1_000_004);
            clock.rebase(2_000_000);
            assert_eq!(clock.ps_at(1_000_004), early, "a cycle before the base");
        }
    }

    #[test]
    fn a_conversion_is_a_division() {
        let random = &mut crate::SplitMix64::new(1);
        for _ in 0..100_000 {
            let hz = 1 + random.below(300_000_000);
            let mut clock = Clock { base_numerator: random.below(hz), ..Clock::new(hz) };
            let cycle = random.below(FAST_CYCLES + 10);
            let n = u128::from(cycle) * u128::from(PS_PER_S) + u128::from(clock.base_numerator);
            let expected = ((n / u128::from(hz)) as u64, (n % u128::from(hz)) as u64);
            assert_eq!(clock.split(cycle), expected, "{hz} {cycle}");
            clock.reciprocal = 0;
            assert_eq!(clock.split(cycle), expected, "{hz} {cycle}, restored");
        }
    }

    #[test]
    fn a_pause_moves_later_cycles() {
        let mut clock = Clock::new(12_000_000);
        clock.pause(1200, 7_000_000_000);
        assert_eq!((clock.ps_at(1200), clock.ps_at(2400)), (7_000_000_000, 7_100_000_000));
        assert_eq!(clock.cycle_at(6_000_000_000), 1200);
    }

    #[test]
    fn a_frequency_change_keeps_time_continuous() {
        let mut clock = Clock::new(48_000_000);
        let at = clock.ps_at(1000);
        clock.set_hz(1000, 125_000_000);
        assert_eq!(clock.ps_at(1000), at);
        assert_eq!(clock.ps_at(2000), at + 8_000_000);
    }
}
