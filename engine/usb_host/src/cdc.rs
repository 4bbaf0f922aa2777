//! A CDC-ACM serial port (CDC PSTN 1.2 section 6.3): line requests and two byte streams.

use std::collections::VecDeque;

use sim::{PS_PER_MS, PS_PER_US, Ps, Snapshot};

use crate::config::{ConsoleConfig, PollConfig, ReadPolicy};
use crate::control::Request;
use crate::descriptors::CdcAcm;
use crate::pipe::{Pace, Pipe, Progress};
use crate::transaction::{Outcome, Transaction, TransferError};

const SET_LINE_CODING: u8 = 0x20;
const SET_CONTROL_LINE_STATE: u8 = 0x22;
const TO_INTERFACE: u8 = 0x21;
const DTR: u16 = 1;
const RTS: u16 = 2;
/// Most line requests that wait for the control pipe.
const MAX_PENDING: usize = 64;

/// SET_LINE_CODING's argument (CDC PSTN 1.2 table 17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub struct LineCoding {
    pub(crate) baud: u32,
    pub(crate) data_bits: u8,
    /// 0: none, 1: odd, 2: even, 3: mark, 4: space.
    pub(crate) parity: u8,
    /// 0: 1, 1: 1.5, 2: 2 stop bits.
    pub(crate) stop_bits: u8,
}

impl LineCoding {
    /// 8 data bits, no parity, 1 stop bit.
    pub const fn baud(baud: u32) -> LineCoding {
        LineCoding { baud, data_bits: 8, parity: 0, stop_bits: 0 }
    }

    fn bytes(self) -> Vec<u8> {
        let mut bytes = self.baud.to_le_bytes().to_vec();
        bytes.extend([self.stop_bits, self.parity, self.data_bits]);
        bytes
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
enum Line {
    Coding(LineCoding),
    Open,
    Close,
    ClearIn,
    ClearOut,
}

/// The endpoint of a serial port that a transaction belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub(crate) enum Channel {
    Notify,
    In,
    Out,
}

/// An event that the host must report or handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    Opened,
    Closed,
    /// The function no longer works; the port must be reset.
    Lost(TransferError),
}

#[derive(Debug, Snapshot)]
struct Function {
    acm: CdcAcm,
    notify: Option<Pipe>,
    bulk_in: Pipe,
    bulk_out: Pipe,
    in_halted: bool,
    out_halted: bool,
    open: bool,
    open_at: Option<Ps>,
    pending: VecDeque<Line>,
    running: Option<Line>,
}

/// A serial port of the device: the console or another one.
#[derive(Debug, Snapshot)]
pub struct SerialPort {
    config: ConsoleConfig,
    function: Option<Function>,
    tx: VecDeque<u8>,
    rx: VecDeque<u8>,
    received_at: Ps,
    dropped: u64,
}

impl SerialPort {
    pub(crate) fn new(config: ConsoleConfig) -> SerialPort {
        SerialPort { config, function: None, tx: VecDeque::new(), rx: VecDeque::new(), received_at: 0, dropped: 0 }
    }

    /// Attaches the function of a device that was configured at `now`.
    pub(crate) fn attach(&mut self, acm: CdcAcm, address: u8, poll: &PollConfig, now: Ps) {
        let pace = Pace::Bulk {
            busy: poll.nak_retry_us * PS_PER_US,
            idle: poll.idle_retry_us * PS_PER_US,
            idle_after: poll.idle_after_us * PS_PER_US,
        };
        let bulk =
            |e: crate::descriptors::Endpoint| Pipe::new(address, e.address, usize::from(e.max_packet), pace, now);
        self.function = Some(Function {
            acm,
            notify: acm.notify.map(|e| {
                let interval = Ps::from(e.interval.max(1)) * PS_PER_MS;
                Pipe::new(address, e.address, usize::from(e.max_packet), Pace::Interrupt { interval }, now)
            }),
            bulk_in: bulk(acm.bulk_in),
            bulk_out: bulk(acm.bulk_out),
            in_halted: false,
            out_halted: false,
            open: false,
            open_at: self.config.open_after_us.map(|us| now + us * PS_PER_US),
            pending: VecDeque::from([Line::Coding(self.config.line_coding)]),
            running: None,
        });
    }

    /// Detaches the device, which is gone or was reset: received data stays, unsent data is dropped.
    pub(crate) fn detach(&mut self) {
        self.function = None;
        self.tx.clear();
    }

    pub(crate) fn is_present(&self) -> bool {
        self.function.is_some()
    }

    /// Returns whether the host asserts DTR and RTS.
    pub fn is_open(&self) -> bool {
        self.function.as_ref().is_some_and(|f| f.open)
    }

    /// Returns the number of unread bytes overwritten in the ring.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the number of received bytes that [`Self::read`] has not taken.
    pub fn unread(&self) -> usize {
        self.rx.len()
    }

    /// Returns the number of written bytes that the device has not accepted.
    pub fn unsent(&self) -> usize {
        self.tx.len()
    }

    /// Queues bytes for the device; returns how many there was room for. Without a device, none.
    pub fn write(&mut self, data: &[u8]) -> usize {
        if !self.is_present() {
            return 0;
        }
        let room = self.config.write_limit.saturating_sub(self.tx.len());
        let taken = data.len().min(room);
        self.tx.extend(&data[..taken]);
        taken
    }

    /// Takes all received bytes.
    pub fn read(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.rx).into()
    }

    /// Returns when the last byte arrived; 0 before the first.
    pub(crate) fn received_at(&self) -> Ps {
        self.received_at
    }

    pub(crate) fn open(&mut self) -> bool {
        self.push(Line::Open)
    }

    /// Clears DTR and RTS; returns false without a device, or with too many requests waiting.
    pub fn close(&mut self) -> bool {
        self.push(Line::Close)
    }

    /// Sets the line coding; returns false without a device, or with too many requests waiting.
    pub fn set_line_coding(&mut self, coding: LineCoding) -> bool {
        self.push(Line::Coding(coding))
    }

    fn push(&mut self, line: Line) -> bool {
        let Some(f) = self.function.as_mut() else { return false };
        if f.pending.len() >= MAX_PENDING {
            return false;
        }
        // A user's request replaces the automatic opening.
        if matches!(line, Line::Open | Line::Close) {
            f.open_at = None;
        }
        f.pending.push_back(line);
        true
    }

    pub(crate) fn wake_at(&self) -> Option<Ps> {
        self.function.as_ref()?.open_at
    }

    pub(crate) fn wake(&mut self, now: Ps) {
        if let Some(f) = self.function.as_mut()
            && f.open_at.is_some_and(|at| at <= now)
        {
            f.open_at = None;
            f.pending.push_back(Line::Open);
        }
    }

    /// Takes the next line request; the caller reports its result to [`SerialPort::control_done`].
    pub(crate) fn control_request(&mut self) -> Option<Request> {
        let f = self.function.as_mut()?;
        let line = f.pending.pop_front()?;
        f.running = Some(line);
        let interface = u16::from(f.acm.control_interface);
        Some(match line {
            Line::Coding(coding) => Request::with_data(TO_INTERFACE, SET_LINE_CODING, 0, interface, coding.bytes()),
            Line::Open => Request::new(TO_INTERFACE, SET_CONTROL_LINE_STATE, DTR | RTS, interface, 0),
            Line::Close => Request::new(TO_INTERFACE, SET_CONTROL_LINE_STATE, 0, interface, 0),
            Line::ClearIn => Request::clear_halt(f.acm.bulk_in.address),
            Line::ClearOut => Request::clear_halt(f.acm.bulk_out.address),
        })
    }

    pub(crate) fn control_done(&mut self, end: Ps, result: Result<Vec<u8>, TransferError>) -> Option<Notice> {
        let f = self.function.as_mut()?;
        let line = f.running.take()?;
        match result {
            // Line requests are optional (CDC PSTN 1.2 table 4): the port works even if the device stalls them.
            Ok(_) | Err(TransferError::Stall) => {}
            Err(e) => return Some(Notice::Lost(e)),
        }
        match line {
            Line::Coding(_) => None,
            Line::Open => {
                f.open = true;
                f.bulk_in.restart(end);
                f.bulk_out.restart(end);
                Some(Notice::Opened)
            }
            Line::Close => {
                f.open = false;
                self.tx.clear();
                Some(Notice::Closed)
            }
            Line::ClearIn => {
                f.in_halted = false;
                f.bulk_in.cleared(end);
                None
            }
            Line::ClearOut => {
                f.out_halted = false;
                f.bulk_out.cleared(end);
                None
            }
        }
    }

    /// Returns the earliest time at which `channel` needs a transaction.
    pub(crate) fn wanted(&self, channel: Channel) -> Option<Ps> {
        let f = self.function.as_ref()?;
        let pipe = match channel {
            Channel::Notify => f.notify.as_ref()?,
            Channel::In => {
                let room = match self.config.read_policy {
                    ReadPolicy::BackPressure => self.rx.len() < self.config.read_limit,
                    ReadPolicy::Ring => true,
                };
                if !f.open || f.in_halted || !room {
                    return None;
                }
                &f.bulk_in
            }
            Channel::Out => {
                if !f.open || f.out_halted || self.tx.is_empty() {
                    return None;
                }
                &f.bulk_out
            }
        };
        Some(pipe.ready_at())
    }

    pub(crate) fn transaction(&self, channel: Channel) -> Option<Transaction> {
        let f = self.function.as_ref()?;
        Some(match channel {
            Channel::Notify => f.notify.as_ref()?.input(),
            Channel::In => f.bulk_in.input(),
            Channel::Out => f.bulk_out.output(self.tx.iter().take(f.bulk_out.max_packet()).copied().collect()),
        })
    }

    /// Handles the outcome of a transaction that sent `sent` bytes.
    pub(crate) fn finish(&mut self, channel: Channel, sent: usize, end: Ps, outcome: Outcome) -> Option<Notice> {
        let f = self.function.as_mut()?;
        let pipe = match channel {
            Channel::Notify => f.notify.as_mut()?,
            Channel::In => &mut f.bulk_in,
            Channel::Out => &mut f.bulk_out,
        };
        match pipe.finish(end, outcome) {
            Progress::Pending => None,
            Progress::Sent => {
                self.tx.drain(..sent.min(self.tx.len()));
                None
            }
            Progress::Received(bytes) => {
                if channel == Channel::In && !bytes.is_empty() {
                    self.received_at = end;
                    self.store(&bytes);
                }
                None
            }
            Progress::Halted => {
                match channel {
                    // Notifications are ignored.
                    Channel::Notify => f.notify = None,
                    Channel::In => {
                        f.in_halted = true;
                        f.pending.push_back(Line::ClearIn);
                    }
                    Channel::Out => {
                        f.out_halted = true;
                        f.pending.push_back(Line::ClearOut);
                    }
                }
                None
            }
            Progress::Failed(TransferError::NoAnswer) => Some(Notice::Lost(TransferError::NoAnswer)),
            Progress::Failed(_) if channel == Channel::Notify => {
                f.notify = None;
                None
            }
            Progress::Failed(e) => Some(Notice::Lost(e)),
        }
    }

    fn store(&mut self, bytes: &[u8]) {
        self.rx.extend(bytes);
        if self.config.read_policy == ReadPolicy::Ring && self.rx.len() > self.config.read_limit {
            let excess = self.rx.len() - self.config.read_limit;
            self.rx.drain(..excess);
            self.dropped += excess as u64;
        }
    }
}
