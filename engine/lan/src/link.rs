//! A 100BASE-TX cable, full duplex: serialisation, inter-frame gap, propagation and faults (IEEE 802.3 clauses 3 and 4.4.2).

use std::collections::VecDeque;

use sim::{PS_PER_MS, Ps, SplitMix64};

use crate::capture::Fate;
use crate::faults::Faults;

/// Longest frame carried, without FCS.
pub(crate) const MAX_FRAME_BYTES: usize = 1514;
/// Shortest frame, without FCS: the MAC pads shorter ones.
pub const MIN_FRAME_BYTES: usize = 60;

const PS_PER_BYTE: Ps = 80_000;
const PREAMBLE_BYTES: usize = 8;
const FCS_BYTES: usize = 4;
const GAP_BYTES: usize = 12;
const GAP_PS: Ps = GAP_BYTES as Ps * PS_PER_BYTE;

/// Limit of a sender's queue in wire time: about 80 full frames, as in a NIC's ring. Further frames are dropped, which
/// bounds the memory of a flood.
pub(crate) const QUEUE_PS: Ps = 10 * PS_PER_MS;

/// Returns the time from the first preamble bit to the last FCS bit of a frame of `len` bytes (without FCS).
pub fn wire_time_ps(len: usize) -> Ps {
    (PREAMBLE_BYTES + len.max(MIN_FRAME_BYTES) + FCS_BYTES) as Ps * PS_PER_BYTE
}

/// One direction of the cable.
pub(crate) struct Wire {
    free_at: Ps,
    last_arrival: Ps,
    in_flight: VecDeque<(Ps, Vec<u8>)>,
    random: SplitMix64,
    loss_per_mille: u16,
}

/// The time of a frame on the wire, and its fate.
pub(crate) struct Sent {
    pub(crate) start: Ps,
    pub(crate) arrival: Ps,
    pub(crate) fate: Fate,
}

impl Wire {
    pub(crate) fn new() -> Self {
        Self { free_at: 0, last_arrival: 0, in_flight: VecDeque::new(), random: SplitMix64::new(0), loss_per_mille: 0 }
    }

    pub(crate) fn set_loss(&mut self, seed: u64, per_mille: u16) {
        self.random = SplitMix64::new(seed);
        self.loss_per_mille = per_mille;
    }

    /// Returns the simulated time that the queued frames still need.
    pub(crate) fn backlog_ps(&self, now: Ps) -> Ps {
        self.free_at.saturating_sub(now)
    }

    /// Queues a frame at `now`; it starts when the wire is idle and the gap after the previous frame is over.
    pub(crate) fn send(&mut self, now: Ps, frame: &[u8], propagation: Ps, faults: &Faults) -> Sent {
        let start = self.free_at.max(now);
        let mut sent = Sent { start, arrival: start, fate: Fate::Oversize };
        if frame.len() > MAX_FRAME_BYTES {
            return sent;
        }
        if self.backlog_ps(now) > QUEUE_PS {
            sent.fate = Fate::QueueFull;
            return sent;
        }
        let end = start + wire_time_ps(frame.len());
        self.free_at = end + GAP_PS;
        let jitter = if faults.jitter_ps > 0 { self.random.below(faults.jitter_ps + 1) } else { 0 };
        sent.arrival = (end + propagation + faults.extra_delay_ps + jitter).max(self.last_arrival);
        self.last_arrival = sent.arrival;
        let lost = self.loss_per_mille > 0 && self.random.below(1000) < u64::from(self.loss_per_mille);
        sent.fate = if faults.is_down(start, sent.arrival) {
            Fate::LinkDown
        } else if lost {
            Fate::Lost
        } else {
            let mut padded = frame.to_vec();
            padded.resize(frame.len().max(MIN_FRAME_BYTES), 0);
            self.in_flight.push_back((sent.arrival, padded));
            Fate::Delivered
        };
        sent
    }

    pub(crate) fn next_arrival(&self) -> Option<Ps> {
        self.in_flight.front().map(|&(arrival, _)| arrival)
    }

    pub(crate) fn take_arrived(&mut self, now: Ps) -> Option<(Ps, Vec<u8>)> {
        if self.next_arrival()? > now {
            return None;
        }
        self.in_flight.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PS_PER_US;

    #[test]
    fn smallest_and_largest_frames_take_their_textbook_times() {
        // 84 and 1538 byte times per frame including the gap: 148 810 and 8 127 frames per second.
        assert_eq!(wire_time_ps(14) + GAP_PS, 6_720_000);
        assert_eq!(wire_time_ps(1514) + GAP_PS, 123_040_000);
    }

    #[test]
    fn frames_queue_behind_the_gap_and_are_padded() {
        let mut wire = Wire::new();
        let faults = Faults::default();
        let first = wire.send(1_000, &[1; 42], 0, &faults);
        let second = wire.send(2_000, &[2; 100], 7, &faults);
        assert_eq!((first.start, first.arrival), (1_000, 1_000 + 72 * 80_000));
        assert_eq!(second.start, 1_000 + 84 * 80_000);
        assert_eq!(second.arrival, second.start + 112 * 80_000 + 7);
        assert_eq!(wire.take_arrived(first.arrival - 1), None);
        let (arrival, frame) = wire.take_arrived(first.arrival).unwrap();
        assert_eq!((arrival, frame.len(), &frame[40..44]), (first.arrival, 60, &[1, 1, 0, 0][..]));
        assert_eq!(wire.take_arrived(second.arrival).unwrap().1.len(), 100);
    }

    #[test]
    fn a_flood_is_bounded() {
        let mut wire = Wire::new();
        let faults = Faults::default();
        let full = (0..10_000).filter(|_| wire.send(0, &[0; 60], 0, &faults).fate == Fate::QueueFull).count();
        assert_eq!(10_000 - full, (QUEUE_PS / 6_720_000 + 1) as usize);
        assert_eq!(wire.in_flight.len(), 10_000 - full);
        assert_eq!(wire.send(0, &[0; 1515], 0, &faults).fate, Fate::Oversize);
    }

    #[test]
    fn loss_is_seeded_and_near_its_rate() {
        let run = |seed| {
            let mut wire = Wire::new();
            wire.set_loss(seed, 100);
            let faults = Faults::default();
            (0..10_000u64)
                .map(|i| wire.send(i * 10 * PS_PER_US, &[0; 60], 0, &faults).fate == Fate::Lost)
                .collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        let lost = run(1).iter().filter(|&&lost| lost).count();
        assert!((900..1100).contains(&lost), "{lost} of 10000 lost at 100 per mille");
    }

    #[test]
    fn a_frame_that_touches_a_cut_is_lost_and_jitter_keeps_order() {
        let mut wire = Wire::new();
        let faults = Faults { down: vec![(10 * PS_PER_US, 20 * PS_PER_US)], ..Faults::default() };
        let fates: Vec<Fate> = [0, 6, 15, 20].map(|us| wire.send(us * PS_PER_US, &[0; 60], 0, &faults).fate).to_vec();
        // The third starts inside the cut; the fourth waits for the third's gap and starts after the cut.
        assert_eq!(fates, [Fate::Delivered, Fate::LinkDown, Fate::LinkDown, Fate::Delivered]);

        let mut wire = Wire::new();
        let faults = Faults { jitter_ps: 500 * PS_PER_US, ..Faults::default() };
        let arrivals: Vec<Ps> = (0..200).map(|_| wire.send(0, &[0; 60], 0, &faults).arrival).collect();
        assert!(arrivals.is_sorted());
        assert!(arrivals.windows(2).any(|pair| pair[1] - pair[0] > 50 * PS_PER_US));
    }
}
