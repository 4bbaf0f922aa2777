//! Delays that an access point, its queue and neighbouring traffic add to a frame.

use sim::{PS_PER_US, Ps, SplitMix64};

/// Delay of a frame to the board before it contends for the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Reproduces the spread of a published ping: min/avg/max/sd 3.232/5.366/40.522/3.208 ms. A log-normal distribution
    /// fits all four: 2.134 ms above the minimum on average, a deviation of 3.208 ms, and the published maximum as the
    /// longest of some 1000 pings, where the distribution is cut off. It leaves out 0.22 ms of the average: the time on
    /// the air, and the board's work when a frame arrives.
    Published,
    /// The same delay for each frame.
    Fixed(Ps),
}

/// Quantiles of the distribution in microseconds: at each 64th, and at each 64th of the last 64th.
const BODY: [u32; 64] = [
    0, 66, 94, 118, 141, 162, 183, 204, 225, 246, 268, 289, 311, 334, 357, 380, 404, 429, 454, 481, 508, 536, 565, 595,
    626, 658, 692, 727, 763, 801, 841, 882, 926, 972, 1_019, 1_070, 1_123, 1_180, 1_239, 1_302, 1_370, 1_441, 1_518,
    1_600, 1_688, 1_783, 1_886, 1_998, 2_121, 2_255, 2_404, 2_569, 2_754, 2_964, 3_203, 3_480, 3_806, 4_197, 4_677,
    5_287, 6_100, 7_261, 9_134, 13_064,
];
const TAIL: [u32; 65] = [
    13_064, 13_165, 13_268, 13_373, 13_481, 13_591, 13_704, 13_819, 13_938, 14_059, 14_183, 14_310, 14_440, 14_574,
    14_711, 14_853, 14_998, 15_147, 15_300, 15_458, 15_621, 15_789, 15_962, 16_140, 16_325, 16_516, 16_713, 16_918,
    17_130, 17_350, 17_578, 17_816, 18_063, 18_321, 18_590, 18_871, 19_166, 19_474, 19_798, 20_139, 20_499, 20_879,
    21_281, 21_708, 22_163, 22_649, 23_169, 23_729, 24_334, 24_991, 25_707, 26_494, 27_364, 28_334, 29_426, 30_670,
    32_107, 33_799, 35_835, 37_000, 37_000, 37_000, 37_000, 37_000, 37_000,
];

impl Delay {
    pub(crate) fn draw(self, random: &mut SplitMix64) -> Ps {
        match self {
            Self::Fixed(delay) => delay,
            Self::Published => {
                let draw = random.draw();
                let (sixtyfourth, rest) = ((draw >> 58) as usize, draw << 6);
                if sixtyfourth < 63 {
                    return between(&BODY, &TAIL, sixtyfourth, rest);
                }
                between(&TAIL, &[], (rest >> 58) as usize, rest << 6)
            }
        }
    }
}

/// Interpolates between `values[index]` and the next value (after the last: the first of `then`), at `part` of 2^64.
fn between(values: &[u32], then: &[u32], index: usize, part: u64) -> Ps {
    let (low, high) = (values[index], *values.get(index + 1).or(then.first()).unwrap_or(&values[index]));
    let low_ps = Ps::from(low) * PS_PER_US;
    low_ps + ((u128::from(Ps::from(high) * PS_PER_US - low_ps) * u128::from(part)) >> 64) as Ps
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::PS_PER_MS;

    #[test]
    fn delays_match_the_published_spread() {
        let mut random = SplitMix64::new(7);
        let draws: Vec<f64> =
            (0..100_000).map(|_| Delay::Published.draw(&mut random) as f64 / PS_PER_MS as f64).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let deviation = (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64).sqrt();
        assert!((1.90..2.00).contains(&mean), "{mean}");
        assert!((3.0..3.3).contains(&deviation), "{deviation}");
        assert!(draws.iter().all(|&x| x <= 37.0) && draws.iter().any(|&x| x > 30.0));
    }
}
