//! Use of the bus and of the card, by purpose.

use sim::{PS_PER_NS, Ps, Snapshot};

/// The kind of the host's last data command: all bytes until the next one count for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub enum Direction {
    /// No data command yet, or another command than those.
    Neither,
    /// The card sends blocks.
    Read,
    /// The card receives blocks.
    Write,
}

/// Upper ends of the histogram's bins; one further bin holds the rest.
pub const BINS_NS: [u64; 14] = [200, 300, 400, 500, 700, 1000, 1500, 2000, 3000, 5000, 7000, 10_000, 15_000, 20_000];
const FINE: usize = 20_002;

/// Times from the start of a byte to the start of the next one, within a block's 512 data bytes.
#[derive(Clone, Debug, Snapshot)]
pub struct Gaps {
    /// Counts by nanoseconds; the last holds all longer ones.
    fine: Vec<u64>,
    count: u64,
    sum: Ps,
    least: Ps,
    most: Ps,
}

impl Default for Gaps {
    fn default() -> Self {
        Self { fine: vec![0; FINE], count: 0, sum: 0, least: Ps::MAX, most: 0 }
    }
}

impl Gaps {
    pub(crate) fn add(&mut self, gap: Ps) {
        let ns = (gap / PS_PER_NS).min(FINE as u64 - 1) as usize;
        self.fine[ns] += 1;
        self.count += 1;
        self.sum += gap;
        self.least = self.least.min(gap);
        self.most = self.most.max(gap);
    }

    /// Returns the number of gaps.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the shortest, mean and longest; `None` before the first.
    pub fn spread(&self) -> Option<[Ps; 3]> {
        (self.count > 0).then(|| [self.least, self.sum / self.count, self.most])
    }

    /// Returns the median in whole nanoseconds, at most 20 000; `None` before the first.
    pub fn median_ns(&self) -> Option<u64> {
        let half = self.count.div_ceil(2);
        let mut so_far = 0;
        self.fine
            .iter()
            .position(|&count| {
                so_far += count;
                half > 0 && so_far >= half
            })
            .map(|ns| ns as u64)
    }

    /// Returns the counts up to each end of [`BINS_NS`], and beyond the last.
    pub fn bins(&self) -> [u64; BINS_NS.len() + 1] {
        let mut from = 0;
        std::array::from_fn(|bin| {
            let to = BINS_NS.get(bin).map_or(FINE, |&end| end as usize + 1);
            let count = self.fine[from.min(FINE)..to.min(FINE)].iter().sum();
            from = to;
            count
        })
    }
}

/// Use in one direction.
#[derive(Clone, Debug, Default, Snapshot)]
pub struct Used {
    pub blocks: u64,
    pub bytes: u64,
    /// Time in which SCK moved.
    pub clocked: Ps,
    /// Time for which the card kept the host waiting: access times, busy.
    pub card: Ps,
    pub gaps: Gaps,
}

/// Use since power-up.
#[derive(Clone, Debug, Default, Snapshot)]
pub struct Usage {
    /// Commands that the card received.
    pub commands: u64,
    /// Commands that it refused, and blocks with an error.
    pub errors: u64,
    neither: Used,
    read: Used,
    write: Used,
}

impl Usage {
    /// Returns the use by commands of that direction.
    pub fn of(&self, direction: Direction) -> &Used {
        match direction {
            Direction::Neither => &self.neither,
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        }
    }

    pub(crate) fn at(&mut self, direction: Direction) -> &mut Used {
        match direction {
            Direction::Neither => &mut self.neither,
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_every_gap_once() {
        let mut gaps = Gaps::default();
        for ns in [304, 304, 304, 310, 1750, 20_000, 20_001, 5_000_000] {
            gaps.add(ns * PS_PER_NS);
        }
        assert_eq!(gaps.bins().iter().sum::<u64>(), gaps.count());
        assert_eq!(gaps.bins()[2], 4, "301 to 400 ns");
        assert_eq!(gaps.bins()[7], 1, "1501 to 2000 ns");
        assert_eq!(gaps.median_ns(), Some(310));
        assert_eq!(gaps.spread().unwrap()[0], 304 * PS_PER_NS);
        assert_eq!(Gaps::default().median_ns(), None);
    }
}
