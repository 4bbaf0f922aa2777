//! One transaction: token, data and handshake on the bus.

use sim::{Handshake, InResult, Ps, Snapshot, UsbBus};

use crate::timing;

/// The packet with which the host starts a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub(crate) enum Token {
    Setup([u8; 8]),
    Out { data1: bool, data: Vec<u8> },
    In { max_packet: usize },
}

/// A transaction that is about to happen.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub(crate) struct Transaction {
    pub(crate) address: u8,
    pub(crate) endpoint: u8,
    pub(crate) token: Token,
}

/// How a transaction ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ack,
    Data {
        data1: bool,
        bytes: Vec<u8>,
    },
    Nak,
    Stall,
    Timeout,
    /// More bytes than the endpoint's maximum packet (USB 2.0 section 8.7.4).
    Babble,
}

/// Why a transfer failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub enum TransferError {
    /// The endpoint is halted, or the request is refused.
    Stall,
    /// Three transactions in a row without an answer.
    NoAnswer,
    /// The device kept answering NAK until the transfer's deadline.
    Deadline,
    /// The device sent more than was asked for.
    Babble,
    /// The device kept sending the wrong data toggle.
    Toggle,
}

impl std::fmt::Display for TransferError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TransferError::Stall => "the device answered STALL",
            TransferError::NoAnswer => "the device did not answer three times in a row",
            TransferError::Deadline => "the device answered NAK until the deadline",
            TransferError::Babble => "the device sent more bytes than were asked for",
            TransferError::Toggle => "the device kept sending the wrong data toggle",
        })
    }
}

impl Transaction {
    /// Returns the time from the start of the transaction until the device sees it.
    pub(crate) fn seen_after(&self) -> Ps {
        match &self.token {
            Token::Setup(_) => timing::out_received(8),
            Token::Out { data, .. } => timing::out_received(data.len()),
            Token::In { .. } => timing::in_received(),
        }
    }

    /// Returns the longest time that the transaction can occupy the bus.
    pub(crate) fn longest(&self) -> Ps {
        match &self.token {
            Token::Setup(_) => timing::out_answered(8),
            Token::Out { data, .. } => timing::out_answered(data.len()),
            Token::In { max_packet } => timing::in_data(*max_packet),
        }
    }

    /// Performs the transaction; returns its outcome and its time on the bus.
    pub(crate) fn run(&self, bus: &mut dyn UsbBus) -> (Outcome, Ps) {
        match &self.token {
            Token::Setup(packet) => answered(bus.setup(self.address, *packet), 8),
            Token::Out { data1, data } => answered(bus.out(self.address, self.endpoint, *data1, data), data.len()),
            Token::In { max_packet } => {
                let mut bytes = Vec::with_capacity(*max_packet);
                match bus.input(self.address, self.endpoint, &mut bytes) {
                    InResult::Data { .. } if bytes.len() > *max_packet => {
                        (Outcome::Babble, timing::in_data(*max_packet))
                    }
                    InResult::Data { data1 } => {
                        let time = timing::in_data(bytes.len());
                        (Outcome::Data { data1, bytes }, time)
                    }
                    InResult::Nak => (Outcome::Nak, timing::in_refused()),
                    InResult::Stall => (Outcome::Stall, timing::in_refused()),
                    InResult::Timeout => (Outcome::Timeout, timing::in_timeout()),
                }
            }
        }
    }
}

fn answered(handshake: Handshake, len: usize) -> (Outcome, Ps) {
    match handshake {
        Handshake::Ack => (Outcome::Ack, timing::out_answered(len)),
        Handshake::Nak => (Outcome::Nak, timing::out_answered(len)),
        Handshake::Stall => (Outcome::Stall, timing::out_answered(len)),
        Handshake::Timeout => (Outcome::Timeout, timing::out_timeout(len)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_as_long_as_its_answer() {
        let (out, input) = (Token::Out { data1: true, data: vec![0; 5] }, Token::In { max_packet: 16 });
        for (token, seen, longest) in [
            (Token::Setup([0; 8]), timing::out_received(8), timing::out_answered(8)),
            (out, timing::out_received(5), timing::out_answered(5)),
            (input, timing::in_received(), timing::in_data(16)),
        ] {
            let transaction = Transaction { address: 1, endpoint: 2, token };
            assert_eq!((transaction.seen_after(), transaction.longest()), (seen, longest));
        }
        for (handshake, outcome) in
            [(Handshake::Ack, Outcome::Ack), (Handshake::Nak, Outcome::Nak), (Handshake::Stall, Outcome::Stall)]
        {
            assert_eq!(answered(handshake, 3), (outcome, timing::out_answered(3)));
        }
        assert_eq!(answered(Handshake::Timeout, 3), (Outcome::Timeout, timing::out_timeout(3)));
    }
}
