//! Bulk-Only Transport, one command at a time (USB Mass Storage Class Bulk-Only Transport 1.0).
//!
//! CBW, data, CSW; a stalled data endpoint is cleared and the CSW read (figure 2); a stalled CSW is read once more; anything
//! invalid ends in reset recovery (section 5.3.4): Bulk-Only Mass Storage Reset, clear halt IN, clear halt OUT.

use std::borrow::Cow;

use sim::{PS_PER_US, Ps, Snapshot};

use crate::config::PollConfig;
use crate::control::Request;
use crate::descriptors::MassStorage;
use crate::pipe::{Pace, Pipe, Progress};
use crate::transaction::{Outcome, Transaction, TransferError};

const CBW_SIGNATURE: u32 = 0x4342_5355;
const CSW_SIGNATURE: u32 = 0x5342_5355;
const CSW_LENGTH: usize = 13;
const PASSED: u8 = 0;
const FAILED: u8 = 1;

/// The data stage that the host expects.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub(crate) enum Data {
    None,
    In(usize),
    Out(Vec<u8>),
}

/// Why a command did not get a valid status.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub enum BotError {
    /// A transfer on an endpoint or a control transfer failed.
    Transfer(TransferError),
    /// The CSW has the wrong length, signature or tag, or reports a phase error.
    InvalidStatus(Cow<'static, str>),
    /// More data than the command asked for.
    Excess,
    /// The command took longer than its time limit.
    Deadline,
}

impl std::fmt::Display for BotError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BotError::Transfer(e) => e.fmt(f),
            BotError::InvalidStatus(what) => write!(f, "invalid command status: {what}"),
            BotError::Excess => f.write_str("the device sent more data than the command asked for"),
            BotError::Deadline => f.write_str("the command did not end within its time limit"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BotResult {
    /// A valid status; `data` is the received data, `residue` the bytes that the device reports as not processed.
    Status { passed: bool, data: Vec<u8>, residue: u32 },
    /// No valid status, but reset recovery worked.
    Recovered(BotError),
    /// Reset recovery failed as well.
    Dead(BotError),
}

#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
enum State {
    Idle,
    Command,
    DataIn,
    DataOut,
    Status,
    /// Waits for CLEAR_FEATURE on a data endpoint, then reads the status.
    Clear {
        input: bool,
    },
    Recovery {
        step: Recovery,
        why: BotError,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
enum Recovery {
    Reset,
    ClearIn,
    ClearOut,
}

#[derive(Debug, Snapshot)]
pub(crate) struct Bot {
    msc: MassStorage,
    bulk_in: Pipe,
    bulk_out: Pipe,
    timeout: Ps,
    state: State,
    control_sent: bool,
    tag: u32,
    command: Vec<u8>,
    data: Data,
    sent: usize,
    received: Vec<u8>,
    status_stalled: bool,
    deadline: Ps,
}

impl Bot {
    pub(crate) fn new(msc: MassStorage, address: u8, poll: &PollConfig, timeout: Ps, now: Ps) -> Bot {
        let retry = poll.nak_retry_us * PS_PER_US;
        let pace = Pace::Bulk { busy: retry, idle: retry, idle_after: 0 };
        let pipe =
            |e: crate::descriptors::Endpoint| Pipe::new(address, e.address, usize::from(e.max_packet), pace, now);
        Bot {
            msc,
            bulk_in: pipe(msc.bulk_in),
            bulk_out: pipe(msc.bulk_out),
            timeout,
            state: State::Idle,
            control_sent: false,
            tag: 0,
            command: Vec::new(),
            data: Data::None,
            sent: 0,
            received: Vec::new(),
            status_stalled: false,
            deadline: 0,
        }
    }

    /// Starts `cdb` (6 to 16 bytes) on logical unit `lun`; the transport must be idle.
    pub(crate) fn start(&mut self, now: Ps, lun: u8, cdb: &[u8], data: Data) {
        self.tag = self.tag.wrapping_add(1);
        let (length, flags) = match &data {
            Data::None => (0, 0),
            Data::In(length) => (*length, 0x80),
            Data::Out(bytes) => (bytes.len(), 0),
        };
        let mut cbw = Vec::with_capacity(31);
        cbw.extend(CBW_SIGNATURE.to_le_bytes());
        cbw.extend(self.tag.to_le_bytes());
        cbw.extend((length as u32).to_le_bytes());
        cbw.extend([flags, lun, cdb.len() as u8]);
        cbw.extend(cdb);
        cbw.resize(31, 0);
        self.command = cbw;
        self.data = data;
        self.sent = 0;
        self.received = Vec::new();
        self.status_stalled = false;
        self.deadline = now + self.timeout;
        self.bulk_in.restart(now);
        self.bulk_out.restart(now);
        self.state = State::Command;
    }

    pub(crate) fn wake_at(&self) -> Option<Ps> {
        match self.state {
            State::Command | State::DataIn | State::DataOut | State::Status => Some(self.deadline),
            State::Idle | State::Clear { .. } | State::Recovery { .. } => None,
        }
    }

    /// Aborts a command whose deadline has passed; returns whether it did.
    pub(crate) fn wake(&mut self, now: Ps) -> bool {
        let expired = self.wake_at().is_some_and(|at| at <= now);
        if expired {
            self.recover(BotError::Deadline);
        }
        expired
    }

    pub(crate) fn wanted(&self) -> Option<Ps> {
        match self.state {
            State::Command | State::DataOut => Some(self.bulk_out.ready_at()),
            State::DataIn | State::Status => Some(self.bulk_in.ready_at()),
            State::Idle | State::Clear { .. } | State::Recovery { .. } => None,
        }
    }

    pub(crate) fn transaction(&self) -> Option<Transaction> {
        let size = self.bulk_out.max_packet();
        let part = |bytes: &[u8]| bytes[self.sent..bytes.len().min(self.sent + size)].to_vec();
        match (&self.state, &self.data) {
            (State::Command, _) => Some(self.bulk_out.output(part(&self.command))),
            (State::DataOut, Data::Out(bytes)) => Some(self.bulk_out.output(part(bytes))),
            (State::DataIn | State::Status, _) => Some(self.bulk_in.input()),
            _ => None,
        }
    }

    /// Handles the outcome of a transaction that sent `sent` bytes.
    pub(crate) fn finish(&mut self, sent: usize, end: Ps, outcome: Outcome) -> Option<BotResult> {
        let input = matches!(self.state, State::DataIn | State::Status);
        let pipe = if input { &mut self.bulk_in } else { &mut self.bulk_out };
        match pipe.finish(end, outcome) {
            Progress::Pending => None,
            Progress::Sent => {
                self.sent += sent;
                self.after_output(end);
                None
            }
            Progress::Received(bytes) => self.after_input(end, bytes),
            Progress::Halted => {
                self.halted();
                None
            }
            Progress::Failed(e) => {
                self.recover(BotError::Transfer(e));
                None
            }
        }
    }

    fn after_output(&mut self, end: Ps) {
        let whole = match (&self.state, &self.data) {
            (State::Command, _) => self.command.len(),
            (_, Data::Out(bytes)) => bytes.len(),
            _ => 0,
        };
        if self.sent < whole {
            return;
        }
        let next = match (&self.state, &self.data) {
            (State::Command, Data::In(length)) if *length > 0 => State::DataIn,
            (State::Command, Data::Out(bytes)) if !bytes.is_empty() => State::DataOut,
            _ => State::Status,
        };
        self.sent = 0;
        self.bulk_in.restart(end);
        self.state = next;
    }

    fn after_input(&mut self, end: Ps, bytes: Vec<u8>) -> Option<BotResult> {
        if self.state == State::Status {
            return self.status(&bytes);
        }
        let Data::In(expected) = self.data else { return None };
        // A device without data may send the status at once instead of stalling.
        if self.received.is_empty() && expected != CSW_LENGTH && self.is_own_status(&bytes) {
            return self.status(&bytes);
        }
        let short = bytes.len() < self.bulk_in.max_packet();
        self.received.extend(bytes);
        if self.received.len() > expected {
            self.recover(BotError::Excess);
        } else if short || self.received.len() == expected {
            self.bulk_in.restart(end);
            self.state = State::Status;
        }
        None
    }

    fn is_own_status(&self, bytes: &[u8]) -> bool {
        bytes.len() == CSW_LENGTH
            && bytes[..4] == CSW_SIGNATURE.to_le_bytes()
            && bytes[4..8] == self.tag.to_le_bytes()
            && bytes[12] <= FAILED
    }

    fn status(&mut self, bytes: &[u8]) -> Option<BotResult> {
        let invalid = if bytes.len() != CSW_LENGTH {
            "not 13 bytes"
        } else if bytes[..4] != CSW_SIGNATURE.to_le_bytes() {
            "wrong signature"
        } else if bytes[4..8] != self.tag.to_le_bytes() {
            "wrong tag"
        } else if bytes[12] > FAILED {
            "phase error"
        } else {
            let residue = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
            self.state = State::Idle;
            let data = std::mem::take(&mut self.received);
            return Some(BotResult::Status { passed: bytes[12] == PASSED, data, residue });
        };
        self.recover(BotError::InvalidStatus(invalid.into()));
        None
    }

    fn halted(&mut self) {
        match self.state {
            State::DataIn => self.state = State::Clear { input: true },
            State::DataOut => self.state = State::Clear { input: false },
            State::Status if !self.status_stalled => {
                self.status_stalled = true;
                self.state = State::Clear { input: true };
            }
            _ => self.recover(BotError::Transfer(TransferError::Stall)),
        }
        self.control_sent = false;
    }

    fn recover(&mut self, why: BotError) {
        self.control_sent = false;
        self.state = State::Recovery { step: Recovery::Reset, why };
    }

    /// Returns the control request that the state needs, once.
    pub(crate) fn control_request(&mut self) -> Option<Request> {
        if self.control_sent {
            return None;
        }
        let request = match &self.state {
            State::Clear { input: true } | State::Recovery { step: Recovery::ClearIn, .. } => {
                Request::clear_halt(self.msc.bulk_in.address)
            }
            State::Clear { input: false } | State::Recovery { step: Recovery::ClearOut, .. } => {
                Request::clear_halt(self.msc.bulk_out.address)
            }
            State::Recovery { step: Recovery::Reset, .. } => {
                Request::new(0x21, 0xff, 0, u16::from(self.msc.interface), 0)
            }
            _ => return None,
        };
        self.control_sent = true;
        Some(request)
    }

    pub(crate) fn control_done(&mut self, end: Ps, result: Result<Vec<u8>, TransferError>) -> Option<BotResult> {
        self.control_sent = false;
        match (self.state.clone(), result) {
            (State::Clear { input }, Ok(_)) => {
                if input {
                    self.bulk_in.cleared(end)
                } else {
                    self.bulk_out.cleared(end)
                };
                self.bulk_in.restart(end);
                self.state = State::Status;
                None
            }
            (State::Clear { .. }, Err(e)) => {
                self.recover(BotError::Transfer(e));
                None
            }
            (State::Recovery { step, why }, Ok(_)) => {
                let next = match step {
                    Recovery::Reset => Recovery::ClearIn,
                    Recovery::ClearIn => {
                        self.bulk_in.cleared(end);
                        Recovery::ClearOut
                    }
                    Recovery::ClearOut => {
                        self.bulk_out.cleared(end);
                        self.state = State::Idle;
                        return Some(BotResult::Recovered(why));
                    }
                };
                self.state = State::Recovery { step: next, why };
                None
            }
            (State::Recovery { why, .. }, Err(_)) => {
                self.state = State::Idle;
                Some(BotResult::Dead(why))
            }
            _ => None,
        }
    }
}
