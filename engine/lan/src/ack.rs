//! When a Linux PC acknowledges: at once on a young connection, later delayed, so that an answer carries the ACK.
//!
//! A connection has a budget of quick ACKs, set when its first data arrives and again after a pause. Once the
//! application has answered within the ACK timeout, the connection is interactive: its ACKs are delayed until data
//! carries them, or until a delay has expired without data. In between, less than a full segment is acknowledged when
//! the application has read it, which here is at once. More than a full segment is always acknowledged; the stack does
//! this itself during a delay. This is the behaviour of Linux 6.6 (`net/ipv4/tcp_input.c`, `tcp_output.c`,
//! `tcp_timer.c`), with one exception. The stack cannot shorten a delay that has begun, so two short segments in a row
//! are delayed together on an interactive connection, where Linux acknowledges the second.

use sim::{PS_PER_MS, PS_PER_US, Ps};

/// `TCP_MAX_QUICKACKS`.
const MAX_QUICK: u32 = 16;
/// `TCP_MSS_DEFAULT`: the size assumed for a full segment until one has arrived.
const FIRST_SEGMENT_BYTES: usize = 536;
/// `TCP_RTO_MIN`, about the retransmission timeout on a LAN: after a longer pause a connection counts as young again.
const PAUSE_PS: Ps = 200 * PS_PER_MS;

/// The properties of a segment that passes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) bytes: usize,
    /// PSH.
    pub(crate) push: bool,
    /// FIN.
    pub(crate) end: bool,
    /// Acknowledgement number.
    pub(crate) ack: u32,
}

/// The state of one connection. Without `enabled`, every ACK is delayed.
#[derive(Debug)]
pub(crate) struct AckPolicy {
    enabled: bool,
    delay: Ps,
    window: usize,
    quick: u32,
    interactive: bool,
    full_segment: usize,
    /// The ACK timeout: 0 before the first data.
    timeout: Ps,
    last_received: Ps,
    /// Data or a FIN is not acknowledged yet.
    owed: bool,
    /// The ACK is delayed.
    waiting: bool,
    acknowledged: Option<u32>,
}

impl AckPolicy {
    pub(crate) fn new(enabled: bool, delay: Ps, window: usize) -> Self {
        Self {
            enabled,
            delay,
            window,
            quick: 0,
            interactive: false,
            full_segment: FIRST_SEGMENT_BYTES,
            timeout: 0,
            last_received: 0,
            owed: false,
            waiting: false,
            acknowledged: None,
        }
    }

    /// Handles data or a FIN. Returns true if its ACK leaves at once, false if it is delayed or the stack decides
    /// whether a delay ends. `ending`: this side has sent its FIN.
    pub(crate) fn received(&mut self, now: Ps, segment: Segment, ending: bool) -> bool {
        if !self.enabled || self.delay == 0 {
            return self.delay == 0;
        }
        let mut short = false;
        if segment.bytes > 0 {
            short = segment.bytes < self.full_segment || segment.push;
            self.full_segment = self.full_segment.max(segment.bytes);
            self.note_pause(now);
        }
        if segment.end && !ending {
            // The application is about to close its half.
            self.interactive = true;
        }
        self.owed = true;
        // A stack without a delayed ACK would not check whether more than a full segment is unacknowledged.
        self.waiting = self.waiting || !(ending || !self.interactive && (self.quick > 0 || short));
        !self.waiting
    }

    fn note_pause(&mut self, now: Ps) {
        let pause = now - self.last_received;
        if self.timeout == 0 {
            self.renew();
            self.timeout = self.delay;
        } else if pause <= self.delay / 2 {
            self.timeout = self.timeout / 2 + self.delay / 2;
        } else if pause < self.timeout {
            self.timeout = (self.timeout / 2 + pause).min(PAUSE_PS);
        } else if pause > PAUSE_PS {
            self.renew();
        }
        self.last_received = now;
    }

    fn renew(&mut self) {
        let quick = (self.window / (2 * self.full_segment)) as u32;
        self.quick = self.quick.max(if quick == 0 { 2 } else { quick }.min(MAX_QUICK));
    }

    /// Handles a segment sent. It decides whether the next data's ACK may be delayed.
    pub(crate) fn sent(&mut self, now: Ps, segment: Segment) {
        if !self.enabled {
            return;
        }
        let answers = self.acknowledged.is_none_or(|before| segment.ack.wrapping_sub(before) as i32 > 0);
        self.acknowledged = Some(segment.ack);
        if segment.bytes > 0 && now - self.last_received < self.timeout {
            self.interactive = true;
        }
        if answers && self.owed {
            self.owed = false;
            self.waiting = false;
            // The stack's timer counts whole microseconds.
            let waited = now + PS_PER_US >= self.last_received + self.delay;
            if segment.bytes == 0 && self.interactive && waited {
                // The delay expired without data.
                self.interactive = false;
            }
            self.quick = self.quick.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::SplitMix64;

    const DELAY: Ps = 40 * PS_PER_MS;

    fn policy() -> AckPolicy {
        AckPolicy::new(true, DELAY, 64_240)
    }

    fn data(bytes: usize) -> Segment {
        Segment { bytes, ..Segment::default() }
    }

    fn ack(ack: u32) -> Segment {
        Segment { ack, ..Segment::default() }
    }

    #[test]
    fn sixteen_quick_acks_and_then_every_full_segment_waits_for_the_second() {
        let mut policy = policy();
        for number in 1..=16 {
            assert!(policy.received(number.into(), data(1460), false), "{number}");
            policy.sent(number.into(), ack(number));
        }
        assert!(!policy.received(17, data(1460), false));
        policy.sent(18, ack(18));
        // Less than a full segment is acknowledged once it is read.
        assert!(policy.received(19, data(100), false));
        assert!(policy.received(19, Segment { push: true, ..data(1460) }, false));
    }

    #[test]
    fn an_answer_makes_it_interactive_until_a_delay_expires() {
        let mut policy = policy();
        assert!(policy.received(1, data(1), false));
        policy.sent(1, ack(1));
        policy.sent(2, Segment { ack: 1, ..data(2) });
        assert!(!policy.received(3, data(1), false));
        policy.sent(3 + DELAY, ack(2));
        assert!(policy.received(4 + DELAY, data(1), false));
    }

    #[test]
    fn a_request_that_opens_a_connection_is_no_answer() {
        let mut policy = policy();
        policy.sent(1, data(100));
        assert!(policy.received(2, data(200), false));
    }

    #[test]
    fn the_ack_of_a_fin_waits_for_ours_unless_that_was_sent() {
        let end = Segment { end: true, ..Segment::default() };
        assert!(!policy().received(1, end, false));
        assert!(policy().received(1, end, true));
    }

    #[test]
    fn a_pause_renews_the_quick_acks() {
        let mut policy = policy();
        for number in 1..=16 {
            policy.received(number.into(), data(1460), false);
            policy.sent(number.into(), ack(number));
        }
        assert!(!policy.received(20, data(1460), false));
        policy.sent(20, ack(20));
        assert!(policy.received(21 + PAUSE_PS, data(1460), false));
    }

    #[test]
    fn the_timeout_grows_to_the_length_of_a_pause_at_most() {
        let (mut policy, mut now) = (policy(), 1);
        for _ in 0..6 {
            policy.received(now, data(1), false);
            now += policy.timeout - PS_PER_MS;
        }
        assert_eq!(policy.timeout, PAUSE_PS);
    }

    /// Any change of the policy changes the checksum. If a change is wanted, show it in another test, and then take
    /// the checksums from this one's failure.
    #[test]
    fn random_conversations_are_as_recorded() {
        let sums = [1_000, 5_000, 64_240].map(|window| {
            let (mut random, mut policy) = (SplitMix64::new(7), AckPolicy::new(true, DELAY, window));
            let (mut now, mut sum, mut acked) = (0, 0u64, 0);
            for _ in 0..20_000 {
                let pauses = [0, PS_PER_US, 1, 5 * PS_PER_MS, DELAY / 2, DELAY, 150 * PS_PER_MS, 2 * PAUSE_PS];
                let longest = random.below(8) + 1;
                now += pauses[random.below(longest) as usize];
                let bytes = [0, 1, 400, 536, 537, 1460][random.below(6) as usize];
                let [push, end, ending] = [2, 99, 99].map(|rarity| random.below(rarity) == 0);
                let at_once =
                    random.below(2) == 0 && { policy.received(now, Segment { bytes, push, end, ack: 0 }, ending) };
                if random.below(2) == 0 {
                    acked += random.below(2) as u32;
                    policy.sent(now, Segment { ack: acked, ..data(bytes) });
                }
                let seen = format!("{at_once} {policy:?}");
                sum = seen.bytes().fold(sum, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
            }
            sum
        });
        assert_eq!(sums, [0x5536021a6770fdeb, 0x5521e4327aabf449, 0xfb5848f091d3c1d8]);
    }

    #[test]
    fn disabled_every_ack_is_delayed_and_without_a_delay_none_is() {
        let mut constant = AckPolicy::new(false, DELAY, 64_240);
        assert!(!constant.received(1, data(1), false));
        assert!(AckPolicy::new(true, 0, 64_240).received(1, data(1), false));
    }
}
