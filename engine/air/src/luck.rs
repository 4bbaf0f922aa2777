//! What is lost on the air and how long joins take, where that is not always the same.

use sim::{PS_PER_MS, Ps};

use crate::random::SplitMix64;

/// Sendings of a frame that nobody acknowledges, the first included (dot11ShortRetryLimit).
pub const TRIES: u32 = 7;
/// Probes of a channel in a scan. They are for everybody, so nobody acknowledges them.
const PROBES: u32 = 2;
/// hostapd sends a message of the handshake again so long after the last time, and then gives up.
const REPEATS: [Ps; 3] = [100 * PS_PER_MS, 1_000 * PS_PER_MS, 1_000 * PS_PER_MS];
/// Apart from what the air draws, so that a board finds the same backoffs and delays whether anything is lost or not.
const APART: u64 = 0x6c75_636b;

#[derive(Clone, Debug)]
pub struct Luck {
    loss_per_mille: u16,
    random: SplitMix64,
}

impl Luck {
    pub fn new(loss_per_mille: u16, seed: u64) -> Self {
        Self { loss_per_mille, random: SplitMix64::new(seed ^ APART) }
    }

    /// Whether one sending of a frame, or its acknowledgement, is lost.
    pub fn loses(&mut self) -> bool {
        self.loss_per_mille > 0 && self.random.below(1000) < u64::from(self.loss_per_mille)
    }

    /// Evenly from nothing up to `most`.
    pub fn delay(&mut self, most: Ps) -> Ps {
        if most == 0 { 0 } else { self.random.below(most + 1) }
    }

    /// Whether a scan hears of an access point on its channel.
    pub fn finds(&mut self) -> bool {
        (0..PROBES).any(|_| !self.loses() && self.arrives())
    }

    /// A frame and its answer.
    pub fn exchanges(&mut self) -> bool {
        self.arrives() && self.arrives()
    }

    /// What the handshake's two exchanges take beyond their usual time; `None`: the access point gives up.
    pub fn handshake(&mut self) -> Option<Ps> {
        let mut late = 0;
        for _ in 0..2 {
            let mut repeats = REPEATS.iter();
            while !self.exchanges() {
                late += repeats.next()?;
            }
        }
        Some(late)
    }

    /// Whether one of a frame's sendings gets through.
    fn arrives(&mut self) -> bool {
        (0..TRIES).any(|_| !self.loses())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_or_late_by_default() {
        let mut luck = Luck::new(0, 3);
        assert!((0..100).all(|_| !luck.loses() && luck.finds() && luck.exchanges()));
        assert_eq!((luck.delay(0), luck.handshake()), (0, Some(0)));
    }

    #[test]
    fn losses_are_as_frequent_as_asked() {
        let mut luck = Luck::new(250, 3);
        let lost = (0..10_000).filter(|_| luck.loses()).count();
        assert!((2_350..2_650).contains(&lost), "{lost}");
        let mut luck = Luck::new(500, 3);
        // A probe is lost with 1/2, and its answer with 1/128: both probes fail with nearly 1/4.
        let missed = (0..10_000).filter(|_| !luck.finds()).count();
        assert!((2_400..2_700).contains(&missed), "{missed}");
    }

    #[test]
    fn a_handshake_of_which_nothing_arrives_is_given_up_and_a_bad_one_is_late() {
        assert_eq!(Luck::new(1000, 1).handshake(), None);
        let mut luck = Luck::new(900, 5);
        let drawn: Vec<_> = (0..500).map(|_| luck.handshake()).collect();
        let late: Vec<Ps> = drawn.iter().flatten().map(|late| late / PS_PER_MS).collect();
        assert!(drawn.contains(&None) && late.contains(&100) && late.contains(&1_100), "{late:?}");
        assert!(late.iter().all(|ms| ms % 100 == 0));
    }

    #[test]
    fn delays_are_within_what_was_asked() {
        let mut luck = Luck::new(0, 9);
        let drawn: Vec<Ps> = (0..1000).map(|_| luck.delay(1_000)).collect();
        assert!(
            drawn.iter().all(|&ps| ps <= 1_000) && drawn.iter().any(|&ps| ps > 900) && drawn.iter().any(|&ps| ps < 100)
        );
    }
}
