//! The default control pipe: SETUP, data and status stages (USB 2.0 section 8.5.3).

use sim::{Ps, Snapshot};

use crate::pipe::{MAX_DUPLICATES, TRIES};
use crate::transaction::{Outcome, Token, Transaction, TransferError};

/// The driver that requested a control transfer and gets its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub(crate) enum Owner {
    Enumeration,
    /// A serial port, by its index on the device.
    Serial(usize),
    Storage,
}

/// A control transfer: the eight SETUP bytes and, for host-to-device transfers, the data stage.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub(crate) struct Request {
    pub(crate) setup: [u8; 8],
    pub(crate) data: Vec<u8>,
}

pub(crate) const DEVICE_DESCRIPTOR: u8 = 1;
pub(crate) const CONFIGURATION_DESCRIPTOR: u8 = 2;
pub(crate) const STRING_DESCRIPTOR: u8 = 3;

impl Request {
    /// Creates a transfer without a data stage, or with one from the device if bit 7 of `request_type` is set.
    pub(crate) fn new(request_type: u8, request: u8, value: u16, index: u16, length: u16) -> Request {
        let (v, i, l) = (value.to_le_bytes(), index.to_le_bytes(), length.to_le_bytes());
        Request { setup: [request_type, request, v[0], v[1], i[0], i[1], l[0], l[1]], data: Vec::new() }
    }

    /// Creates a transfer with a data stage to the device.
    pub(crate) fn with_data(request_type: u8, request: u8, value: u16, index: u16, data: Vec<u8>) -> Request {
        let length = u16::try_from(data.len()).expect("class requests carry a few bytes");
        Request { data, ..Request::new(request_type, request, value, index, length) }
    }

    pub(crate) fn get_descriptor(kind: u8, index: u8, language: u16, length: u16) -> Request {
        Request::new(0x80, 6, u16::from(kind) << 8 | u16::from(index), language, length)
    }

    pub(crate) fn set_address(address: u8) -> Request {
        Request::new(0x00, 5, u16::from(address), 0, 0)
    }

    pub(crate) fn set_configuration(value: u8) -> Request {
        Request::new(0x00, 9, u16::from(value), 0, 0)
    }

    /// Creates CLEAR_FEATURE(ENDPOINT_HALT) for bEndpointAddress `endpoint`.
    pub(crate) fn clear_halt(endpoint: u8) -> Request {
        Request::new(0x02, 1, 0, u16::from(endpoint), 0)
    }

    fn is_input(&self) -> bool {
        self.setup[0] & 0x80 != 0
    }

    fn length(&self) -> usize {
        usize::from(u16::from_le_bytes([self.setup[6], self.setup[7]]))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
enum Stage {
    Setup,
    Data,
    Status,
}

#[derive(Debug, Snapshot)]
struct Active {
    owner: Owner,
    request: Request,
    stage: Stage,
    data1: bool,
    sent: usize,
    received: Vec<u8>,
    errors: u8,
    duplicates: u8,
    ready_at: Ps,
    deadline: Ps,
}

/// A finished control transfer: its owner, and the device's data stage or the error.
pub(crate) type Finished = (Owner, Result<Vec<u8>, TransferError>);

#[derive(Debug, Snapshot)]
pub(crate) struct ControlPipe {
    pub(crate) address: u8,
    pub(crate) max_packet: usize,
    retry: Ps,
    timeout: Ps,
    active: Option<Active>,
}

impl ControlPipe {
    pub(crate) fn new(retry: Ps, timeout: Ps) -> ControlPipe {
        ControlPipe { address: 0, max_packet: 8, retry, timeout, active: None }
    }

    /// Drops any transfer and returns to the default address, as after a bus reset.
    pub(crate) fn reset(&mut self) {
        self.address = 0;
        self.max_packet = 8;
        self.active = None;
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.active.is_none()
    }

    /// Starts a transfer not before `ready_at`; the pipe must be idle.
    pub(crate) fn start(&mut self, owner: Owner, request: Request, ready_at: Ps) {
        self.active = Some(Active {
            owner,
            request,
            stage: Stage::Setup,
            data1: false,
            sent: 0,
            received: Vec::new(),
            errors: 0,
            duplicates: 0,
            ready_at,
            deadline: ready_at + self.timeout,
        });
    }

    pub(crate) fn ready_at(&self) -> Option<Ps> {
        self.active.as_ref().map(|a| a.ready_at)
    }

    pub(crate) fn deadline(&self) -> Option<Ps> {
        self.active.as_ref().map(|a| a.deadline)
    }

    /// Ends a transfer whose deadline has passed.
    pub(crate) fn expire(&mut self, now: Ps) -> Option<Finished> {
        if self.active.as_ref()?.deadline > now {
            return None;
        }
        self.active.take().map(|a| (a.owner, Err(TransferError::Deadline)))
    }

    pub(crate) fn transaction(&self) -> Option<Transaction> {
        let a = self.active.as_ref()?;
        let input = Token::In { max_packet: self.max_packet };
        let token = match (a.stage, a.request.is_input()) {
            (Stage::Setup, _) => Token::Setup(a.request.setup),
            (Stage::Data, true) => input,
            (Stage::Data, false) => {
                let end = a.request.data.len().min(a.sent + self.max_packet);
                Token::Out { data1: a.data1, data: a.request.data[a.sent..end].to_vec() }
            }
            (Stage::Status, true) if a.request.length() > 0 => Token::Out { data1: true, data: Vec::new() },
            (Stage::Status, _) => input,
        };
        Some(Transaction { address: self.address, endpoint: 0, token })
    }

    /// Handles a transaction's outcome; returns the transfer's result when it is finished.
    pub(crate) fn finish(&mut self, end: Ps, outcome: Outcome) -> Option<Finished> {
        let a = self.active.as_mut()?;
        a.ready_at = end;
        let done = match outcome {
            Outcome::Ack => a.acknowledged(self.max_packet),
            Outcome::Data { data1, bytes } => a.data(data1, bytes, self.max_packet),
            Outcome::Nak if a.stage != Stage::Setup => {
                a.errors = 0;
                a.ready_at = end + self.retry;
                None
            }
            Outcome::Stall if a.stage != Stage::Setup => Some(Err(TransferError::Stall)),
            // A device may only acknowledge SETUP or not respond (USB 2.0 section 8.4.6.4).
            Outcome::Nak | Outcome::Stall | Outcome::Timeout => {
                a.errors = a.errors.saturating_add(1);
                (a.errors >= TRIES).then_some(Err(TransferError::NoAnswer))
            }
            Outcome::Babble => Some(Err(TransferError::Babble)),
        }?;
        let a = self.active.take()?;
        Some((a.owner, done.map(|()| a.received)))
    }
}

type StageResult = Option<Result<(), TransferError>>;

impl Active {
    fn acknowledged(&mut self, max_packet: usize) -> StageResult {
        self.errors = 0;
        match self.stage {
            Stage::Setup => {
                self.data1 = true;
                self.stage = if self.request.length() > 0 { Stage::Data } else { Stage::Status };
                None
            }
            Stage::Data => {
                self.sent = self.request.data.len().min(self.sent + max_packet);
                self.data1 = !self.data1;
                if self.sent == self.request.data.len() {
                    self.stage = Stage::Status;
                }
                None
            }
            Stage::Status => Some(Ok(())),
        }
    }

    fn data(&mut self, data1: bool, bytes: Vec<u8>, max_packet: usize) -> StageResult {
        self.errors = 0;
        let expected = if self.stage == Stage::Status { true } else { self.data1 };
        if data1 != expected {
            self.duplicates = self.duplicates.saturating_add(1);
            return (self.duplicates >= MAX_DUPLICATES).then_some(Err(TransferError::Toggle));
        }
        if self.stage == Stage::Status {
            return Some(if bytes.is_empty() { Ok(()) } else { Err(TransferError::Babble) });
        }
        self.data1 = !self.data1;
        let short = bytes.len() < max_packet;
        self.received.extend(bytes);
        if self.received.len() > self.request.length() {
            return Some(Err(TransferError::Babble));
        }
        if short || self.received.len() == self.request.length() {
            self.stage = Stage::Status;
        }
        None
    }
}
