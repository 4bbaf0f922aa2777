//! When a Linux PC acknowledges: at once while a connection is young, then late, so that an answer carries the ACK.
//!
//! A connection has a budget of quick ACKs, set when its first data comes and again after a pause. Once it has answered
//! within the ACK timeout it is interactive: its ACKs wait for data to ride on, until one has waited in vain. In between,
//! what is less than a full segment is acknowledged when the application has read it, which here is at once. More than a
//! full segment is always acknowledged, which the stack does of its own accord while a wait lasts. Behaviour of Linux 6.6
//! (`net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_timer.c`); otherwise the stack cannot shorten a wait that has begun, so that
//! two short segments in a row wait together on an interactive connection, where Linux acknowledges the second.

use sim::{PS_PER_MS, PS_PER_US, Ps};

/// `TCP_MAX_QUICKACKS`.
const MAX_QUICK: u32 = 16;
/// `TCP_MSS_DEFAULT`: what a full segment is taken for before one was seen.
const FIRST_SEGMENT_BYTES: usize = 536;
/// `TCP_RTO_MIN`, about what the retransmission timeout is on a LAN: a longer pause makes a connection young again.
const PAUSE_PS: Ps = 200 * PS_PER_MS;

/// What a segment that passes tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    pub bytes: usize,
    /// PSH.
    pub push: bool,
    /// FIN.
    pub end: bool,
    /// What it acknowledges.
    pub ack: u32,
}

/// One connection's state. Without `enabled`, every ACK waits.
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
    /// Data, or an end, that no ACK has answered.
    owed: bool,
    /// Its ACK waits.
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

    /// Data or an end has come; true if its ACK goes at once, false if it waits or the stack is to see whether a wait
    /// ends. `ending`: this side has sent its own end.
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
            // The application is about to end its own half.
            self.interactive = true;
        }
        self.owed = true;
        // A stack that is told that nothing waits would not look whether what waits is more than a full segment.
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

    /// A segment has gone out. Whether the next data's ACK may wait depends on it.
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
                // In vain.
                self.interactive = false;
            }
            self.quick = self.quick.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn an_answer_makes_it_interactive_until_an_ack_has_waited_in_vain() {
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
    fn an_end_waits_for_the_other_unless_that_has_gone() {
        let end = Segment { end: true, ..Segment::default() };
        assert!(!policy().received(1, end, false));
        assert!(policy().received(1, end, true));
    }

    #[test]
    fn a_pause_gives_quick_acks_anew() {
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
    fn switched_off_every_ack_waits_and_without_a_delay_none_does() {
        let mut constant = AckPolicy::new(false, DELAY, 64_240);
        assert!(!constant.received(1, data(1), false));
        assert!(AckPolicy::new(true, 0, 64_240).received(1, data(1), false));
    }
}
