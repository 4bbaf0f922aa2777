//! The available kinds of card, with published times of real ones.
//!
//! elehobica/pico_fatfs (doc/benchmark, 2025-05) and pico_tinygo_fatfs_test (Readme) wrote and read 5 MB in blocks of
//! 512 bytes with FatFs on a Raspberry Pi Pico, SPI at 31.25 MHz, one CMD24 or CMD17 per block, and published the
//! shortest, mean and longest latency of a call. [`HOST_US`] of each latency is the host's share. The rest is the card's
//! share: here the shortest, the mean and the longest. No histogram was published. The distribution between these three
//! is an assumption, see [`Times`].

use sim::{PS_PER_NS, PS_PER_US, Ps, SplitMix64};

/// The host's share of a published latency, of reads and writes alike, measured with the published program itself on the
/// emulated board: its mean latency less the card's time, see workloads/sd_card/README.md. 157 us are 515 bytes of data,
/// token and checksum at the published 0.31 us; the rest are single bytes of command and response, and FatFs.
pub(crate) const HOST_US: u64 = 176;
/// One draw in this many is a long one, if the longest time is exceptional: cache flushes and erases are rare.
const LONG_ONE_IN: u64 = 256;

/// Addressing of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capacity {
    /// SDSC, by bytes: up to 2 GB.
    Standard,
    /// SDHC, by blocks: up to 32 GB.
    High,
}

/// A distribution of times, as (shortest, mean, longest) in microseconds. Draws are uniform from the shortest time to
/// the same distance above the mean. If the longest time is farther away, one draw in 256 is uniform between the mean
/// and the longest, and the range of the others is chosen to keep the mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) least_us: u64,
    pub(crate) mean_us: u64,
    pub(crate) most_us: u64,
}

impl Times {
    /// Subtracts the host's share from published latencies.
    const fn of(least_us: u64, mean_us: u64, most_us: u64) -> Self {
        Self { least_us: least_us - HOST_US, mean_us: mean_us - HOST_US, most_us: most_us - HOST_US }
    }

    pub(crate) fn draw(self, random: &mut SplitMix64) -> Ps {
        let [least, mean, most] = [self.least_us, self.mean_us, self.most_us].map(|us| us * PS_PER_US);
        if most <= 2 * mean - least {
            return random.between(least, 2 * mean - least);
        }
        if random.between(0, LONG_ONE_IN - 1) == 0 {
            return random.between(mean, most);
        }
        let usual = (mean * LONG_ONE_IN - (mean + most) / 2) / (LONG_ONE_IN - 1);
        random.between(least, (2 * usual).saturating_sub(least).max(least))
    }
}

/// A kind of card.
#[derive(Debug)]
pub struct Kind {
    /// The name by which settings choose this kind.
    pub name: &'static str,
    pub(crate) capacity: Capacity,
    /// Size of a card of that kind, a multiple of 1024.
    pub blocks: u64,
    /// From a read command to the first block's token.
    pub(crate) read: Times,
    /// Busy time after a single block, and after the end of several blocks.
    pub(crate) write: Times,
    /// Time for which ACMD41 answers busy (specified: at most 1 s). No published value.
    pub(crate) start: Ps,
    /// Time between blocks of CMD18, and busy time between those of CMD25. No published value for SPI; reads of 1.2 to
    /// 1.7 MB/s with CMD17 alone show that the card reads ahead.
    pub(crate) next_read: Ps,
    pub(crate) next_write: Ps,
}

const START: Ps = 100_000 * PS_PER_US;
const NEXT_READ: Ps = 20 * PS_PER_US;
const NEXT_WRITE: Ps = 50 * PS_PER_US;
/// Time of an erase: observed erases of small ranges are short; SD status gives the limit.
pub(crate) const ERASE: Ps = 2_000 * PS_PER_US;
/// Access time of a register: ready at once (N_CX, 0 to 8 bytes).
pub(crate) const REGISTER: Ps = 500 * PS_PER_NS;

/// All kinds; the first is the default.
pub const KINDS: &[Kind] = &[
    // pico_tinygo_fatfs_test, C++: write 447.7 and 446.5 KB/s, 1007 / 1142 / 6896 us; read 975.0 and 974.4 KB/s, 402 /
    // 524 / 1050 us, where the longest consists of two reads, one of them of the FAT.
    Kind {
        name: "samsung-evo-plus-32gb",
        capacity: Capacity::High,
        blocks: 32_000_000_000 / 512 / 1024 * 1024,
        read: Times::of(402, 524, 646),
        write: Times::of(1007, 1142, 6896),
        start: START,
        next_read: NEXT_READ,
        next_write: NEXT_WRITE,
    },
    // pico_fatfs 02: write 257 KB/s, 1529 / 1989 / 23052 us; read 755 KB/s, 663 / 677 / 3489 us.
    Kind {
        name: "sandisk-16gb",
        capacity: Capacity::High,
        blocks: 15_920_000_000 / 512 / 1024 * 1024,
        read: Times::of(663, 677, 3489),
        write: Times::of(1529, 1989, 23052),
        start: START,
        next_read: NEXT_READ,
        next_write: NEXT_WRITE,
    },
    // pico_fatfs 01: write 80.3 KB/s, 2365 / 6370 / 214340 us; read 773 KB/s, 551 / 661 / 1881 us.
    Kind {
        name: "memorex-2gb",
        capacity: Capacity::Standard,
        blocks: 2_000_000_000 / 512 / 1024 * 1024,
        read: Times::of(551, 661, 1881),
        write: Times::of(2365, 6370, 214_340),
        start: START,
        next_read: NEXT_READ,
        next_write: NEXT_WRITE,
    },
];

impl Kind {
    /// Returns the kind of that name; `None`: there is none.
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_published_shortest_mean_and_longest() {
        for kind in KINDS {
            for times in [kind.read, kind.write] {
                let mut random = SplitMix64::new(1);
                let draws: Vec<Ps> = (0..100_000).map(|_| times.draw(&mut random)).collect();
                let mean_us = draws.iter().sum::<Ps>() as f64 / draws.len() as f64 / PS_PER_US as f64;
                let wanted = times.mean_us as f64;
                assert!((mean_us / wanted - 1.0).abs() < 0.02, "{}: {mean_us} {wanted}", kind.name);
                let (least, most) = (draws.iter().min().unwrap(), draws.iter().max().unwrap());
                assert!(*least >= times.least_us * PS_PER_US && *most <= times.most_us * PS_PER_US, "{}", kind.name);
                assert!(*most > times.most_us * PS_PER_US * 9 / 10, "{}", kind.name);
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_draws() {
        let draws = |seed| {
            let mut random = SplitMix64::new(seed);
            (0..4).map(|_| KINDS[0].write.draw(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
    }
}
