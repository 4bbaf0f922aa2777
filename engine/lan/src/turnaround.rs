//! The PC's turnaround time: constant, or drawn from measured times of real PCs.

use sim::{Ps, SplitMix64};

pub(crate) struct Turnaround {
    fixed: Ps,
    drawn: Vec<Ps>,
    random: SplitMix64,
}

impl Turnaround {
    /// Creates the turnaround. With `drawn` empty, it is always `fixed`.
    pub(crate) fn new(fixed: Ps, drawn: Vec<Ps>, seed: u64) -> Self {
        Self { fixed, drawn, random: SplitMix64::new(seed) }
    }

    pub(crate) fn next(&mut self) -> Ps {
        if self.drawn.is_empty() {
            return self.fixed;
        }
        self.drawn[self.random.below(self.drawn.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_equally_likely_and_the_seed_sets_their_order() {
        let draw = |seed| {
            let mut turnaround = Turnaround::new(7, vec![10, 20, 30, 30], seed);
            (0..4000).map(|_| turnaround.next()).collect::<Vec<_>>()
        };
        let drawn = draw(1);
        let share = |value| drawn.iter().filter(|&&each| each == value).count();
        assert!((900..1100).contains(&share(10)) && (900..1100).contains(&share(20)));
        assert_eq!(share(10) + share(20) + share(30), 4000);
        assert_eq!(drawn, draw(1));
        assert_ne!(drawn, draw(2));
    }

    #[test]
    fn without_values_it_is_constant() {
        let mut turnaround = Turnaround::new(7, Vec::new(), 1);
        assert!((0..9).all(|_| turnaround.next() == 7));
    }
}
