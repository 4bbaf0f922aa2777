//! Random losses on the air, and random delays of joins.

use sim::{PS_PER_MS, Ps, Snapshot, SplitMix64};

/// Transmissions of an unacknowledged frame, including the first (dot11ShortRetryLimit).
pub(crate) const TRIES: u32 = 7;
/// Probes of a channel in a scan. They are broadcast, so they are not acknowledged.
const PROBES: u32 = 2;
/// Delays after which hostapd repeats a message of the handshake, before it gives up.
const REPEATS: [Ps; 3] = [100 * PS_PER_MS, 1_000 * PS_PER_MS, 1_000 * PS_PER_MS];
/// Keeps these draws separate from those of the air, so that backoffs and delays are equal with and without losses.
const APART: u64 = 0x6c75_636b;

#[derive(Clone, Debug, Snapshot)]
pub(crate) struct Luck {
    loss_per_mille: u16,
    random: SplitMix64,
}

impl Luck {
    pub(crate) fn new(loss_per_mille: u16, seed: u64) -> Self {
        Self { loss_per_mille, random: SplitMix64::new(seed ^ APART) }
    }

    /// Returns whether one transmission of a frame, or its acknowledgement, is lost.
    pub(crate) fn loses(&mut self) -> bool {
        self.loss_per_mille > 0 && self.random.below(1000) < u64::from(self.loss_per_mille)
    }

    /// Draws a delay of 0 to `most`, evenly distributed.
    pub(crate) fn delay(&mut self, most: Ps) -> Ps {
        if most == 0 { 0 } else { self.random.below(most + 1) }
    }

    /// Returns whether a scan finds an access point on its channel.
    pub(crate) fn finds(&mut self) -> bool {
        (0..PROBES).any(|_| !self.loses() && self.arrives())
    }

    /// Returns whether a frame and its answer both arrive.
    pub(crate) fn exchanges(&mut self) -> bool {
        self.arrives() && self.arrives()
    }

    /// Returns the extra time of the handshake's two exchanges; `None` if the access point gives up.
    pub(crate) fn handshake(&mut self) -> Option<Ps> {
        let mut late = 0;
        for _ in 0..2 {
            let mut repeats = REPEATS.iter();
            while !self.exchanges() {
                late += repeats.next()?;
            }
        }
        Some(late)
    }

    /// Returns whether one transmission of a frame arrives.
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
    fn losses_have_the_configured_probability() {
        let mut luck = Luck::new(250, 3);
        let lost = (0..10_000).filter(|_| luck.loses()).count();
        assert!((2_350..2_650).contains(&lost), "{lost}");
        let mut luck = Luck::new(500, 3);
        // A probe is lost with 1/2, and its answer with 1/128: both probes fail with nearly 1/4.
        let missed = (0..10_000).filter(|_| !luck.finds()).count();
        assert!((2_400..2_700).contains(&missed), "{missed}");
    }

    #[test]
    fn a_handshake_is_given_up_without_answers_and_late_with_losses() {
        assert_eq!(Luck::new(1000, 1).handshake(), None);
        let mut luck = Luck::new(900, 5);
        let drawn: Vec<_> = (0..500).map(|_| luck.handshake()).collect();
        let late: Vec<Ps> = drawn.iter().flatten().map(|late| late / PS_PER_MS).collect();
        assert!(drawn.contains(&None) && late.contains(&100) && late.contains(&1_100), "{late:?}");
        assert!(late.iter().all(|ms| ms % 100 == 0));
    }

    #[test]
    fn delays_stay_within_their_limit() {
        let mut luck = Luck::new(0, 9);
        let drawn: Vec<Ps> = (0..1000).map(|_| luck.delay(1_000)).collect();
        assert!(
            drawn.iter().all(|&ps| ps <= 1_000) && drawn.iter().any(|&ps| ps > 900) && drawn.iter().any(|&ps| ps < 100)
        );
    }
}
