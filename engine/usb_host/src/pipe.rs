//! The host's state of a bulk or interrupt endpoint: data toggle, retries, and the time of the next attempt.

use sim::{Ps, Snapshot};

use crate::transaction::{Outcome, Token, Transaction, TransferError};

/// Attempts of a transaction without an answer (USB 2.0 section 10.2.6).
pub(crate) const TRIES: u8 = 3;
/// Consecutive packets with the wrong toggle after which the endpoint is given up.
pub(crate) const MAX_DUPLICATES: u8 = 16;

/// The intervals between attempts.
#[derive(Clone, Copy, Debug, Snapshot)]
pub(crate) enum Pace {
    /// Bulk: `busy` after a NAK, and `idle` after no data for `idle_after`.
    Bulk { busy: Ps, idle: Ps, idle_after: Ps },
    /// Interrupt: once per interval.
    Interrupt { interval: Ps },
}

/// The progress made by one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Sent,
    Received(Vec<u8>),
    /// No data; retry at `ready_at`.
    Pending,
    /// STALL: the endpoint must be cleared.
    Halted,
    Failed(TransferError),
}

#[derive(Clone, Debug, Snapshot)]
pub(crate) struct Pipe {
    address: u8,
    number: u8,
    max_packet: usize,
    data1: bool,
    errors: u8,
    duplicates: u8,
    ready_at: Ps,
    last_progress: Ps,
    pace: Pace,
}

impl Pipe {
    /// Creates a pipe. `endpoint` is bEndpointAddress, whose direction bit the caller handles.
    pub(crate) fn new(address: u8, endpoint: u8, max_packet: usize, pace: Pace, now: Ps) -> Pipe {
        Pipe {
            address,
            number: endpoint & 0x0f,
            max_packet,
            data1: false,
            errors: 0,
            duplicates: 0,
            ready_at: now,
            last_progress: now,
            pace,
        }
    }

    pub(crate) fn ready_at(&self) -> Ps {
        self.ready_at
    }

    pub(crate) fn max_packet(&self) -> usize {
        self.max_packet
    }

    /// Resets the polling interval for new work on an idle pipe.
    pub(crate) fn restart(&mut self, now: Ps) {
        self.ready_at = now;
        self.last_progress = now;
        self.errors = 0;
        self.duplicates = 0;
    }

    /// Handles a successful CLEAR_FEATURE(ENDPOINT_HALT): the toggle is DATA0 again (USB 2.0 section 9.4.5).
    pub(crate) fn cleared(&mut self, now: Ps) {
        self.data1 = false;
        self.restart(now);
    }

    pub(crate) fn input(&self) -> Transaction {
        Transaction { address: self.address, endpoint: self.number, token: Token::In { max_packet: self.max_packet } }
    }

    pub(crate) fn output(&self, data: Vec<u8>) -> Transaction {
        Transaction { address: self.address, endpoint: self.number, token: Token::Out { data1: self.data1, data } }
    }

    pub(crate) fn finish(&mut self, end: Ps, outcome: Outcome) -> Progress {
        self.ready_at = match self.pace {
            Pace::Bulk { .. } => end,
            Pace::Interrupt { interval } => end + interval,
        };
        match outcome {
            Outcome::Ack => {
                self.moved(end);
                Progress::Sent
            }
            Outcome::Data { data1, bytes } if data1 == self.data1 => {
                self.moved(end);
                Progress::Received(bytes)
            }
            // The device missed our ACK and repeats its packet: acknowledge and discard it (USB 2.0 section 8.6.4).
            Outcome::Data { .. } => {
                self.errors = 0;
                self.duplicates = self.duplicates.saturating_add(1);
                if self.duplicates >= MAX_DUPLICATES {
                    return Progress::Failed(TransferError::Toggle);
                }
                Progress::Pending
            }
            Outcome::Nak => {
                self.errors = 0;
                if let Pace::Bulk { busy, idle, idle_after } = self.pace {
                    self.ready_at = end + if end - self.last_progress < idle_after { busy } else { idle };
                }
                Progress::Pending
            }
            Outcome::Stall => Progress::Halted,
            Outcome::Timeout => {
                self.errors = self.errors.saturating_add(1);
                if self.errors >= TRIES {
                    return Progress::Failed(TransferError::NoAnswer);
                }
                Progress::Pending
            }
            Outcome::Babble => Progress::Failed(TransferError::Babble),
        }
    }

    fn moved(&mut self, end: Ps) {
        self.data1 = !self.data1;
        self.errors = 0;
        self.duplicates = 0;
        self.last_progress = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_outcomes_are_as_recorded() {
        let (mut random, mut sum) = (sim::SplitMix64::new(4), 0);
        for pace in [Pace::Bulk { busy: 3, idle: 70, idle_after: 100 }, Pace::Interrupt { interval: 50 }] {
            let (mut pipe, mut now) = (Pipe::new(1, 0x81, 64, pace, 9), 9);
            for _ in 0..2_000 {
                now += random.pick(&[0, 1, 30, 99, 100, 101]);
                // Mostly one kind for some time.
                let kind = if random.one_in(30) { random.below(8) } else { now / 4_000 % 8 };
                let outcome = match kind {
                    0 => Outcome::Ack,
                    1 => Outcome::Data { data1: pipe.data1, bytes: vec![7] },
                    2 => Outcome::Data { data1: !pipe.data1, bytes: vec![8] },
                    3 => Outcome::Stall,
                    4 | 5 => Outcome::Timeout,
                    6 if random.one_in(2) => Outcome::Babble,
                    _ => Outcome::Nak,
                };
                match random.below(60) {
                    0 => pipe.restart(now),
                    1 => pipe.cleared(now),
                    _ => {}
                }
                crate::note(&mut sum, (pipe.finish(now, outcome), &pipe, pipe.ready_at(), pipe.max_packet()));
                crate::note(&mut sum, (pipe.input(), pipe.output(vec![5])));
            }
        }
        assert_eq!(sum, 0x127a23ce22b970b8);
    }
}
