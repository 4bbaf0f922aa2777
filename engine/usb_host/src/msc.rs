//! The mass-storage driver: prepares a drive's logical units, performs block requests, and handles their sense data.
//!
//! The transport performs one command at a time. A unit keeps it until it is finished, then the units take turns.

use std::collections::{BTreeMap, VecDeque};

use sim::{PS_PER_MS, PS_PER_US, Ps, Snapshot};

use crate::bot::{Bot, BotError, BotResult, Data};
use crate::config::{PollConfig, StorageConfig};
use crate::control::Request;
use crate::descriptors::MassStorage;
use crate::scsi::{self, Inquiry, Sense};
use crate::transaction::{Outcome, Transaction, TransferError};

/// Most requests that are queued or whose completion has not been taken.
const MAX_REQUESTS: usize = 64;
/// Largest request.
const MAX_REQUEST_BYTES: u64 = 16 << 20;
/// Most repetitions of a command after an error.
const MAX_RETRIES: u32 = 3;
/// How often a drive that is becoming ready is polled, and at which interval.
const MAX_WAITS: u32 = 50;
const WAIT: Ps = 100 * PS_PER_MS;

/// Most logical units of a drive (BOT 1.0 section 3.2: GET MAX LUN answers 0 to 15).
const MAX_UNITS: u8 = 16;

/// Identifier of a block request; never reused.
pub type RequestId = u64;

/// Why a block request failed.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub enum StorageError {
    /// There is no drive, or it was removed.
    Disconnected,
    /// The logical unit has no medium.
    NoMedium,
    /// The medium cannot be written to.
    WriteProtected,
    /// The requested blocks, and the number of existing blocks.
    OutOfRange {
        /// First block.
        lba: u64,
        /// Number of blocks.
        count: u64,
        /// Blocks of the medium.
        blocks: u64,
    },
    /// The data of a write is not a whole number of blocks of this size, or a request has none.
    Unaligned {
        /// Bytes to be written.
        bytes: usize,
        /// Bytes of a block.
        block_size: u32,
    },
    /// More than 16 MiB in one request.
    TooLarge,
    /// 64 requests are waiting, or completed and not taken.
    QueueFull,
    /// The device refused the command.
    Refused(Sense),
    /// The device reported success for less than the whole command.
    Short,
    /// The bulk-only transport failed.
    Transport(BotError),
}

impl std::fmt::Display for StorageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StorageError::Disconnected => f.write_str("the drive is not connected"),
            StorageError::NoMedium => f.write_str("the drive has no medium"),
            StorageError::WriteProtected => f.write_str("the drive is write-protected"),
            StorageError::OutOfRange { lba, count, blocks } => {
                write!(f, "blocks {lba} to {} of a drive of {blocks} blocks", lba.saturating_add(*count))
            }
            StorageError::Unaligned { bytes, block_size } => {
                write!(f, "{bytes} bytes are not one or more blocks of {block_size}")
            }
            StorageError::TooLarge => f.write_str("more than 16 MiB in one request"),
            StorageError::QueueFull => f.write_str("64 requests are already waiting or not collected"),
            StorageError::Refused(s) => {
                write!(f, "the drive refused the command: sense {:x}/{:02x}/{:02x}", s.key, s.asc, s.ascq)
            }
            StorageError::Short => f.write_str("the drive processed only a part of the command"),
            StorageError::Transport(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for StorageError {}

#[derive(Debug, Snapshot)]
enum Op {
    Read { lba: u64, count: u64 },
    Write { lba: u64, data: Vec<u8> },
    Eject,
}

#[derive(Debug, Snapshot)]
struct Job {
    id: RequestId,
    op: Op,
    /// Blocks already transferred.
    done: u64,
    read: Vec<u8>,
    /// Commands of this request refused by the device.
    refusals: u32,
}

/// A drive that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveInfo {
    /// Answer to INQUIRY.
    pub inquiry: Inquiry,
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_size: u32,
    /// The medium cannot be written to.
    pub write_protected: bool,
}

/// An event that the host must report or handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    Ready {
        lun: u8,
        blocks: u64,
        block_size: u32,
        write_protected: bool,
    },
    MediumGone {
        lun: u8,
    },
    /// The transport no longer works; the port must be reset.
    Lost(BotError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
enum Step {
    MaxLun,
    /// The unit has not had a command yet.
    New,
    Inquiry,
    Probe,
    Capacity,
    Mode,
    Transfer,
    /// REQUEST SENSE after this command failed.
    Sense(Failed),
    Wait(Ps),
    Idle,
    Offline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
enum Failed {
    Inquiry,
    Probe,
    Mode,
    Transfer,
}

/// A logical unit: its medium, and its queued requests.
#[derive(Debug, Snapshot)]
struct Unit {
    step: Step,
    queue: VecDeque<Job>,
    retries: u32,
    waits: u32,
    next_poll: Option<Ps>,
    inquiry: Inquiry,
    capacity: Option<(u64, u32)>,
    write_protected: bool,
    ready: bool,
}

impl Unit {
    fn new(step: Step) -> Unit {
        Unit {
            step,
            queue: VecDeque::new(),
            retries: 0,
            waits: 0,
            next_poll: None,
            inquiry: Inquiry::default(),
            capacity: None,
            write_protected: false,
            ready: false,
        }
    }

    /// Returns whether the unit has released the transport.
    fn rests(&self) -> bool {
        matches!(self.step, Step::New | Step::Wait(_) | Step::Idle)
    }

    /// Returns when the unit needs the transport without a request.
    fn wake_at(&self) -> Option<Ps> {
        match self.step {
            Step::New => Some(0),
            Step::Wait(until) => Some(until),
            Step::Idle => self.next_poll,
            _ => None,
        }
    }

    /// Returns the unit's work at `now`.
    fn due(&self, now: Ps) -> Option<Step> {
        match self.step {
            Step::New => Some(Step::Inquiry),
            Step::Wait(until) if until <= now => Some(Step::Probe),
            Step::Idle if !self.queue.is_empty() => Some(if self.ready { Step::Transfer } else { Step::Probe }),
            Step::Idle if self.next_poll.is_some_and(|at| at <= now) => Some(Step::Probe),
            _ => None,
        }
    }

    /// Returns whether the unit waits for its turn, so that another with a long queue must not keep the transport.
    fn is_urgent(&self) -> bool {
        self.step == Step::New || (self.step == Step::Idle && !self.queue.is_empty())
    }
}

#[derive(Debug, Snapshot)]
struct Drive {
    bot: Bot,
    interface: u8,
    max_lun_sent: bool,
    units: Vec<Unit>,
    /// The unit that uses the transport, or used it last.
    active: usize,
}

impl Drive {
    fn unit(&mut self) -> &mut Unit {
        &mut self.units[self.active]
    }
}

#[derive(Debug, Snapshot)]
pub(crate) struct Storage {
    config: StorageConfig,
    drive: Option<Drive>,
    completions: BTreeMap<RequestId, Result<Vec<u8>, StorageError>>,
    last_id: RequestId,
}

impl Storage {
    pub(crate) fn new(config: StorageConfig) -> Storage {
        Storage { config, drive: None, completions: BTreeMap::new(), last_id: 0 }
    }

    /// Attaches the interface of a device that was configured at `now`.
    pub(crate) fn attach(&mut self, msc: MassStorage, address: u8, poll: &PollConfig, now: Ps) {
        let timeout = self.config.command_timeout_us * PS_PER_US;
        self.drive = Some(Drive {
            bot: Bot::new(msc, address, poll, timeout, now),
            interface: msc.interface,
            max_lun_sent: false,
            units: vec![Unit::new(Step::MaxLun)],
            active: 0,
        });
    }

    /// Detaches the device, which is gone or was reset: every waiting request fails.
    pub(crate) fn detach(&mut self) {
        self.fail_all(&StorageError::Disconnected);
        self.drive = None;
    }

    pub(crate) fn is_present(&self) -> bool {
        self.drive.is_some()
    }

    /// Returns the number of logical units, as far as known.
    pub(crate) fn units(&self) -> usize {
        self.drive.as_ref().map_or(0, |drive| drive.units.len())
    }

    pub(crate) fn info(&self, lun: u8) -> Option<DriveInfo> {
        let unit = self.unit(lun).filter(|unit| unit.ready)?;
        let (blocks, block_size) = unit.capacity?;
        Some(DriveInfo { inquiry: unit.inquiry.clone(), blocks, block_size, write_protected: unit.write_protected })
    }

    fn unit(&self, lun: u8) -> Option<&Unit> {
        self.drive.as_ref()?.units.get(usize::from(lun))
    }

    pub(crate) fn read(&mut self, lun: u8, lba: u64, count: u64) -> Result<RequestId, StorageError> {
        let size = u64::from(self.unit(lun).and_then(|unit| unit.capacity).map_or(512, |c| c.1));
        if count.saturating_mul(size) > MAX_REQUEST_BYTES {
            return Err(StorageError::TooLarge);
        }
        self.push(lun, Op::Read { lba, count })
    }

    pub(crate) fn write(&mut self, lun: u8, lba: u64, data: Vec<u8>) -> Result<RequestId, StorageError> {
        if data.len() as u64 > MAX_REQUEST_BYTES {
            return Err(StorageError::TooLarge);
        }
        self.push(lun, Op::Write { lba, data })
    }

    pub(crate) fn eject(&mut self, lun: u8) -> Result<RequestId, StorageError> {
        self.push(lun, Op::Eject)
    }

    pub(crate) fn take_completion(&mut self, id: RequestId) -> Option<Result<Vec<u8>, StorageError>> {
        self.completions.remove(&id)
    }

    fn push(&mut self, lun: u8, op: Op) -> Result<RequestId, StorageError> {
        let Some(drive) = self.drive.as_mut() else { return Err(StorageError::Disconnected) };
        let waiting: usize = drive.units.iter().map(|unit| unit.queue.len()).sum();
        let Some(unit) = drive.units.get_mut(usize::from(lun)).filter(|unit| unit.step != Step::Offline) else {
            return Err(StorageError::Disconnected);
        };
        if waiting + self.completions.len() >= MAX_REQUESTS {
            return Err(StorageError::QueueFull);
        }
        let job = Job { id: self.last_id + 1, op, done: 0, read: Vec::new(), refusals: 0 };
        let (blocks, block_size) = unit.capacity.unwrap_or((u64::from(u32::MAX), 512));
        job.check(blocks, block_size)?;
        self.last_id = job.id;
        unit.queue.push_back(job);
        Ok(self.last_id)
    }

    pub(crate) fn wake_at(&self) -> Option<Ps> {
        let drive = self.drive.as_ref()?;
        if drive.units[drive.active].rests() {
            return drive.units.iter().filter_map(Unit::wake_at).min();
        }
        drive.bot.wake_at()
    }

    /// Does the work due at `now`; returns whether a running command was aborted.
    pub(crate) fn wake(&mut self, now: Ps) -> bool {
        let Some(drive) = self.drive.as_mut() else { return false };
        if !drive.unit().rests() {
            return drive.bot.wake(now);
        }
        // The last unit that used the transport comes last.
        let count = drive.units.len();
        let mut order = (1..=count).map(|i| (drive.active + i) % count);
        let next = order.find_map(|at| Some((at, drive.units[at].due(now)?)));
        if let Some((at, step)) = next {
            drive.active = at;
            self.begin(step, now);
        }
        false
    }

    pub(crate) fn wanted(&self) -> Option<Ps> {
        self.drive.as_ref()?.bot.wanted()
    }

    pub(crate) fn transaction(&self) -> Option<Transaction> {
        self.drive.as_ref()?.bot.transaction()
    }

    pub(crate) fn finish(&mut self, sent: usize, end: Ps, outcome: Outcome) -> Option<Notice> {
        let result = self.drive.as_mut()?.bot.finish(sent, end, outcome)?;
        self.command_done(end, result)
    }

    pub(crate) fn control_request(&mut self) -> Option<Request> {
        let drive = self.drive.as_mut()?;
        if drive.unit().step == Step::MaxLun {
            if drive.max_lun_sent {
                return None;
            }
            drive.max_lun_sent = true;
            return Some(Request::new(0xa1, 0xfe, 0, u16::from(drive.interface), 1));
        }
        drive.bot.control_request()
    }

    pub(crate) fn control_done(&mut self, end: Ps, result: Result<Vec<u8>, TransferError>) -> Option<Notice> {
        let drive = self.drive.as_mut()?;
        if drive.unit().step == Step::MaxLun {
            return match result {
                // A drive with one LUN may stall GET MAX LUN (BOT 1.0 section 3.2).
                Ok(_) | Err(TransferError::Stall) => {
                    let last = result.ok().and_then(|data| data.first().copied()).filter(|&last| last < MAX_UNITS);
                    drive.units.extend((0..last.unwrap_or(0)).map(|_| Unit::new(Step::New)));
                    self.begin(Step::Inquiry, end);
                    None
                }
                Err(e) => self.lost(BotError::Transfer(e)),
            };
        }
        let result = drive.bot.control_done(end, result)?;
        self.command_done(end, result)
    }

    /// Starts the command of `step`.
    fn begin(&mut self, step: Step, now: Ps) {
        let Some(drive) = self.drive.as_mut() else { return };
        let lun = drive.active as u8;
        let unit = drive.unit();
        unit.step = step;
        let (cdb, data) = match step {
            Step::Inquiry => (scsi::six(scsi::INQUIRY, scsi::INQUIRY_LENGTH as u8), Data::In(scsi::INQUIRY_LENGTH)),
            Step::Probe => (scsi::six(scsi::TEST_UNIT_READY, 0), Data::None),
            Step::Capacity => (scsi::ten(scsi::READ_CAPACITY_10, 0, 0), Data::In(scsi::CAPACITY_LENGTH)),
            Step::Mode => (scsi::mode_sense(), Data::In(scsi::MODE_LENGTH)),
            Step::Sense(_) => (scsi::six(scsi::REQUEST_SENSE, scsi::SENSE_LENGTH as u8), Data::In(scsi::SENSE_LENGTH)),
            Step::Transfer => {
                let (blocks, size) = unit.capacity.unwrap_or((0, 512));
                let Some(job) = unit.queue.front() else {
                    return self.idle(now);
                };
                // The medium may have changed since the request was accepted.
                if let Err(e) = job.check(blocks, size) {
                    return self.complete(Err(e), now);
                }
                job.command(self.config.max_blocks_per_command.max(1), size)
            }
            Step::MaxLun | Step::New | Step::Wait(_) | Step::Idle | Step::Offline => return,
        };
        drive.bot.start(now, lun, &cdb, data);
    }

    /// Starts the next request, or waits for one.
    fn idle(&mut self, now: Ps) {
        let interval = self.config.poll_interval_us;
        let Some(drive) = self.drive.as_mut() else { return };
        let unit = drive.unit();
        unit.step = Step::Idle;
        unit.retries = 0;
        unit.waits = 0;
        unit.next_poll = interval.map(|us| now + us.max(1) * PS_PER_US);
        let goes_on = unit.ready && !unit.queue.is_empty();
        let active = drive.active;
        let is_alone = !drive.units.iter().enumerate().any(|(at, unit)| at != active && unit.is_urgent());
        if goes_on && is_alone {
            self.begin(Step::Transfer, now);
        }
    }

    fn command_done(&mut self, end: Ps, result: BotResult) -> Option<Notice> {
        let unit = self.drive.as_mut()?.unit();
        let step = unit.step;
        let (passed, data, residue) = match result {
            BotResult::Status { passed, data, residue } => (passed, data, residue),
            BotResult::Dead(why) => return self.lost(why),
            BotResult::Recovered(why) => {
                unit.retries += 1;
                if unit.retries > MAX_RETRIES {
                    return self.lost(why);
                }
                let again = if let Step::Sense(_) = step { Step::Probe } else { step };
                self.begin(again, end);
                return None;
            }
        };
        let failed = match step {
            Step::Sense(after) => {
                let sense = if passed { scsi::parse_sense(&data) } else { Sense::default() };
                return self.sensed(after, sense, end);
            }
            Step::Inquiry if passed => {
                unit.inquiry = scsi::parse_inquiry(&data);
                self.begin(Step::Probe, end);
                return None;
            }
            Step::Probe if passed && unit.ready => {
                self.idle(end);
                return None;
            }
            Step::Probe if passed => {
                self.begin(Step::Capacity, end);
                return None;
            }
            Step::Capacity if passed => match scsi::parse_capacity(&data) {
                Some(capacity) => {
                    unit.capacity = Some(capacity);
                    self.begin(Step::Mode, end);
                    return None;
                }
                None => return self.sensed(Failed::Probe, Sense::default(), end),
            },
            Step::Mode if passed => {
                unit.write_protected = scsi::parse_write_protected(&data);
                return self.ready(end);
            }
            Step::Transfer if passed => {
                self.transferred(data, residue, end);
                return None;
            }
            Step::Inquiry => Failed::Inquiry,
            Step::Probe | Step::Capacity => Failed::Probe,
            Step::Mode => Failed::Mode,
            Step::Transfer => Failed::Transfer,
            Step::MaxLun | Step::New | Step::Wait(_) | Step::Idle | Step::Offline => return None,
        };
        self.begin(Step::Sense(failed), end);
        None
    }

    fn ready(&mut self, end: Ps) -> Option<Notice> {
        let drive = self.drive.as_mut()?;
        let lun = drive.active as u8;
        let unit = drive.unit();
        unit.ready = true;
        let (blocks, block_size) = unit.capacity?;
        let write_protected = unit.write_protected;
        self.idle(end);
        Some(Notice::Ready { lun, blocks, block_size, write_protected })
    }

    /// Handles a successful part of the first request.
    fn transferred(&mut self, data: Vec<u8>, residue: u32, end: Ps) {
        let limit = u64::from(self.config.max_blocks_per_command.max(1));
        let Some(unit) = self.drive.as_mut().map(Drive::unit) else { return };
        let Some(job) = unit.queue.front_mut() else {
            return self.idle(end);
        };
        let size = unit.capacity.map_or(512, |c| c.1);
        let part = job.part(limit, size);
        let whole = match job.op {
            Op::Read { .. } => data.len() as u64 == part * u64::from(size),
            _ => true,
        };
        if !whole || residue != 0 {
            unit.retries += 1;
            if unit.retries > MAX_RETRIES {
                self.complete(Err(StorageError::Short), end);
            } else {
                self.begin(Step::Transfer, end);
            }
            return;
        }
        unit.retries = 0;
        job.read.extend(data);
        job.done += part;
        if matches!(job.op, Op::Eject) {
            unit.ready = false;
            unit.capacity = None;
        }
        if job.remaining(size) == 0 {
            let read = std::mem::take(&mut job.read);
            self.complete(Ok(read), end);
        } else {
            self.begin(Step::Transfer, end);
        }
    }

    /// Ends the first request.
    fn complete(&mut self, result: Result<Vec<u8>, StorageError>, end: Ps) {
        if let Some(job) = self.drive.as_mut().and_then(|drive| drive.unit().queue.pop_front()) {
            self.completions.insert(job.id, result);
        }
        self.idle(end);
    }

    fn fail_all(&mut self, error: &StorageError) {
        let units = self.drive.iter_mut().flat_map(|drive| &mut drive.units);
        for job in units.flat_map(|unit| unit.queue.drain(..)) {
            self.completions.insert(job.id, Err(error.clone()));
        }
    }

    fn lost(&mut self, why: BotError) -> Option<Notice> {
        self.drive.as_mut()?.units.iter_mut().for_each(|unit| unit.step = Step::Offline);
        self.fail_all(&StorageError::Transport(why.clone()));
        Some(Notice::Lost(why))
    }

    fn medium_gone(&mut self, error: &StorageError, end: Ps) -> Option<Notice> {
        let drive = self.drive.as_mut()?;
        let lun = drive.active as u8;
        let unit = drive.unit();
        for job in unit.queue.drain(..) {
            self.completions.insert(job.id, Err(error.clone()));
        }
        let was_ready = std::mem::replace(&mut unit.ready, false);
        unit.capacity = None;
        self.idle(end);
        was_ready.then_some(Notice::MediumGone { lun })
    }

    /// Decides what to do about a failed command.
    fn sensed(&mut self, after: Failed, sense: Sense, end: Ps) -> Option<Notice> {
        if after == Failed::Transfer
            && let Some(job) = self.drive.as_mut().and_then(|drive| drive.unit().queue.front_mut())
        {
            job.refusals += 1;
            if job.refusals > MAX_WAITS {
                self.complete(Err(StorageError::Refused(sense)), end);
                return None;
            }
            if sense.key == scsi::KEY_UNIT_ATTENTION {
                job.done = 0;
                job.read.clear();
            }
        }
        let unit = self.drive.as_mut()?.unit();
        match sense.key {
            scsi::KEY_NOT_READY if sense.asc == scsi::ASC_MEDIUM_NOT_PRESENT => {
                return self.medium_gone(&StorageError::NoMedium, end);
            }
            scsi::KEY_NOT_READY => {
                unit.waits += 1;
                if unit.waits > MAX_WAITS {
                    return self.medium_gone(&StorageError::Refused(sense), end);
                }
                unit.step = Step::Wait(end + WAIT);
                return None;
            }
            // Power-on, reset or medium change: knowledge of the medium is invalid.
            scsi::KEY_UNIT_ATTENTION => {
                unit.waits += 1;
                if unit.waits > MAX_WAITS {
                    return self.medium_gone(&StorageError::Refused(sense), end);
                }
                unit.ready = false;
                unit.capacity = None;
                self.begin(Step::Probe, end);
                return None;
            }
            _ => {}
        }
        match after {
            Failed::Inquiry => self.begin(Step::Probe, end),
            Failed::Mode => {
                unit.write_protected = false;
                return self.ready(end);
            }
            Failed::Probe => {
                unit.retries += 1;
                if unit.retries > MAX_RETRIES {
                    return self.medium_gone(&StorageError::Refused(sense), end);
                }
                self.begin(Step::Probe, end);
            }
            Failed::Transfer => {
                unit.retries += 1;
                match sense.key {
                    scsi::KEY_DATA_PROTECT => {
                        unit.write_protected = true;
                        self.complete(Err(StorageError::WriteProtected), end);
                    }
                    scsi::KEY_ILLEGAL_REQUEST => self.complete(Err(StorageError::Refused(sense)), end),
                    _ if unit.retries > MAX_RETRIES => self.complete(Err(StorageError::Refused(sense)), end),
                    _ => self.begin(Step::Transfer, end),
                }
            }
        }
        None
    }
}

impl Job {
    fn check(&self, blocks: u64, block_size: u32) -> Result<(), StorageError> {
        let (lba, bytes) = match &self.op {
            Op::Read { lba, count } => (*lba, (*count * u64::from(block_size)) as usize),
            Op::Write { lba, data } => (*lba, data.len()),
            Op::Eject => return Ok(()),
        };
        if bytes == 0 || bytes % block_size as usize != 0 {
            return Err(StorageError::Unaligned { bytes, block_size });
        }
        let count = bytes as u64 / u64::from(block_size);
        if lba.checked_add(count).is_none_or(|end| end > blocks) {
            return Err(StorageError::OutOfRange { lba, count, blocks });
        }
        Ok(())
    }

    /// Returns the blocks left to transfer; 1 for a command without data that has not run.
    fn remaining(&self, block_size: u32) -> u64 {
        let total = match &self.op {
            Op::Read { count, .. } => *count,
            Op::Write { data, .. } => data.len() as u64 / u64::from(block_size),
            Op::Eject => 1,
        };
        total.saturating_sub(self.done)
    }

    /// Returns the blocks that the next command transfers.
    fn part(&self, limit: u64, block_size: u32) -> u64 {
        self.remaining(block_size).min(limit)
    }

    fn command(&self, limit: u16, block_size: u32) -> (Vec<u8>, Data) {
        let part = self.part(u64::from(limit), block_size);
        let bytes = part as usize * block_size as usize;
        let ten = |opcode, lba: u64| scsi::ten(opcode, (lba + self.done) as u32, part as u16);
        match &self.op {
            Op::Read { lba, .. } => (ten(scsi::READ_10, *lba), Data::In(bytes)),
            Op::Write { lba, data } => {
                let from = self.done as usize * block_size as usize;
                (ten(scsi::WRITE_10, *lba), Data::Out(data[from..from + bytes].to_vec()))
            }
            Op::Eject => (scsi::eject(), Data::None),
        }
    }
}
