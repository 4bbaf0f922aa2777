//! The root port: attach, reset, frames, and the order of transactions on the bus.
//!
//! Within a frame the host controller sends SOF, then everything that is ready: interrupt, control, and bulk in turn. A
//! transaction starts only if its longest form ends before the next SOF. The device sees a packet when it has received
//! it (`timing`), and results of a transaction have the time of its end. The pull-up is checked with every event and at
//! least every `port_poll_us`. Work queued through the API starts at the next event, and so at most that much later.

use std::collections::VecDeque;

use sim::{PS_PER_MS, PS_PER_US, Ps, Snapshot, UsbBus};

use crate::cdc::{self, Channel, LineCoding, SerialPort};
use crate::config::HostConfig;
use crate::control::{ControlPipe, Finished, Owner, Request};
use crate::enumeration::{Device, Enumeration, Progress, ROUND_PAUSE, ROUNDS, Scheme};
use crate::msc::{self, DriveInfo, RequestId, Storage, StorageError};
use crate::timing;
use crate::transaction::{Outcome, Token, Transaction};

/// Events kept for `take_events`; older ones are dropped.
const MAX_EVENTS: usize = 1024;
/// Attempts to enumerate a device before the port is ignored until the device detaches. Halfway the port is switched off
/// and on, and the scheme changes (hub_port_connect in Linux's drivers/usb/core/hub.c: PORT_INIT_TRIES, use_new_scheme).
const ATTEMPTS: u8 = 4;
/// How long the port is off, and then on before its reset: twice hub_power_on_good_delay and once, at least 100 ms each.
/// The device keeps its supply, as on most PCs: their ports say that they switch it and do not (README of uhubctl).
const POWER_CYCLE: Ps = 300 * PS_PER_MS;
/// Port resets after errors within one attachment, unless the device worked this long in between.
const MAX_LOSSES: u8 = 3;
const LOSS_MEMORY: Ps = 10_000 * PS_PER_MS;
/// Transport failures within one attachment after which mass storage is ignored.
const MAX_STORAGE_LOSSES: u8 = 2;

/// The state of the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub enum Port {
    /// No pull-up.
    Detached,
    /// A pull-up is seen, but not for long enough.
    Debouncing,
    /// Switched off, because the device does not enumerate.
    Unpowered,
    /// SE0 is driven, or the recovery time runs.
    Resetting,
    /// The device is being enumerated.
    Enumerating,
    /// The device is in use.
    Configured,
    /// Given up until the device detaches.
    Failed,
}

/// An event on the port.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub enum Event {
    /// A pull-up appeared.
    Attached,
    /// The pull-up is gone.
    Detached,
    /// Enumeration succeeded.
    Configured {
        /// As [`HostState::generation`].
        generation: u64,
        /// idVendor.
        vid: u16,
        /// idProduct.
        pid: u16,
    },
    /// The port is switched off and on because the device does not enumerate.
    PowerCycled {
        /// The last failure.
        reason: String,
    },
    /// Enumeration failed for good: the host waits until the device detaches.
    EnumerationFailed {
        /// The last failure.
        reason: String,
    },
    /// The port is reset because the device stopped working.
    PortReset {
        /// The failed transfer.
        reason: String,
    },
    /// The console's DTR and RTS are set.
    ConsoleOpened,
    /// The console's DTR and RTS are cleared.
    ConsoleClosed,
    /// A serial port beyond the console, by its index on the device: 1 is the second.
    SerialOpened(usize),
    /// Counterpart of [`Self::SerialOpened`], with the same index.
    SerialClosed(usize),
    /// A logical unit has a medium.
    StorageReady {
        /// The logical unit.
        lun: u8,
        /// Number of blocks.
        blocks: u64,
        /// Bytes of a block.
        block_size: u32,
        /// The medium cannot be written to.
        write_protected: bool,
    },
    /// A logical unit's medium was removed.
    MediumGone {
        /// The logical unit.
        lun: u8,
    },
}

/// An event and its simulated time.
#[derive(Clone, Debug, PartialEq, Eq, Snapshot)]
pub struct TimedEvent {
    /// Simulated time.
    pub at: Ps,
    /// The event.
    pub event: Event,
}

/// A snapshot of the host's state.
#[derive(Clone, Debug)]
pub struct HostState {
    /// The port's state.
    pub port: Port,
    /// A pull-up is present.
    pub attached: bool,
    /// The device is in use.
    pub configured: bool,
    /// Why the device could not be enumerated so far; `None` once it is, and before the first failure.
    pub trouble: Option<String>,
    /// Increases by one each time a device is configured.
    pub generation: u64,
    /// The configured device: ids, strings, interfaces.
    pub device: Option<Device>,
    /// The device's serial ports, including the console.
    pub serial_ports: usize,
    /// The device has a serial port.
    pub console_present: bool,
    /// The first serial port is open.
    pub console_open: bool,
    /// Bytes for `console_read`, and bytes of `console_write` that the device has not accepted yet.
    pub console_unread: usize,
    /// Bytes written to the console that the device has not accepted.
    pub console_unsent: usize,
    /// Bytes lost by a full ring.
    pub console_dropped: u64,
    /// The device has a drive.
    pub storage_present: bool,
    /// The drive's first logical unit, while its medium is ready.
    pub storage: Option<DriveInfo>,
    /// All its logical units, including the first.
    pub units: Vec<Option<DriveInfo>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
enum Source {
    Control,
    /// An endpoint of a serial port; the console has index 0.
    Serial(usize, Channel),
    Storage,
}

#[derive(Debug, Snapshot)]
struct InFlight {
    source: Source,
    transaction: Transaction,
    start: Ps,
    seen_at: Ps,
}

/// The PC's USB host with one port, and its drivers.
#[derive(Debug, Snapshot)]
pub struct UsbHost {
    config: HostConfig,
    port: Port,
    /// End of the port's debounce or reset.
    until: Ps,
    next: Ps,
    next_sof: Ps,
    frame: u16,
    bus_free: Ps,
    in_flight: Option<InFlight>,
    /// The bulk endpoints, and the index of the one served first.
    bulk: Vec<Source>,
    turn: usize,
    control: ControlPipe,
    enumeration: Option<Enumeration>,
    attempts: u8,
    /// Resets of this attempt that brought no first descriptor.
    rounds: u8,
    trouble: Option<String>,
    losses: u8,
    storage_losses: u8,
    last_address: u8,
    configured_at: Ps,
    generation: u64,
    device: Option<Device>,
    /// The console and all further ports that a device has had so far: received data survives a detached device.
    serial: Vec<SerialPort>,
    storage: Storage,
    events: VecDeque<TimedEvent>,
}

/// Returns the bulk endpoints of a device with this many serial ports, in order of their turns. The console's are
/// always included.
fn bulk_sources(ports: usize) -> Vec<Source> {
    let both = |place| [Source::Serial(place, Channel::In), Source::Serial(place, Channel::Out)];
    both(0).into_iter().chain([Source::Storage]).chain((1..ports).flat_map(both)).collect()
}

impl UsbHost {
    /// Creates a powered port at time 0.
    pub fn new(config: HostConfig) -> UsbHost {
        let control = ControlPipe::new(config.poll.nak_retry_us * PS_PER_US, config.control_timeout_us * PS_PER_US);
        let serial = vec![SerialPort::new(config.console.clone())];
        let storage = Storage::new(config.storage.clone());
        UsbHost {
            config,
            port: Port::Detached,
            until: 0,
            next: 0,
            next_sof: 0,
            frame: 0,
            bus_free: 0,
            in_flight: None,
            bulk: bulk_sources(1),
            turn: 0,
            control,
            enumeration: None,
            attempts: 0,
            rounds: 0,
            trouble: None,
            losses: 0,
            storage_losses: 0,
            last_address: 0,
            configured_at: 0,
            generation: 0,
            device: None,
            serial,
            storage,
            events: VecDeque::new(),
        }
    }

    /// Returns the earliest time at which [`UsbHost::advance`] has work; later than the last `advance`.
    pub fn next_event(&self) -> Option<Ps> {
        Some(self.next)
    }

    /// Does everything due up to and including `now`.
    pub fn advance(&mut self, now: Ps, bus: &mut dyn UsbBus) {
        while self.next <= now {
            let t = self.next;
            self.step(t, bus);
            self.next = self.plan(t).max(t + 1);
        }
    }

    /// Returns a snapshot of the state.
    pub fn state(&self) -> HostState {
        HostState {
            port: self.port,
            attached: self.port != Port::Detached,
            configured: self.port == Port::Configured,
            trouble: self.trouble.clone(),
            generation: self.generation,
            device: self.device.clone(),
            serial_ports: self.serial.iter().filter(|port| port.is_present()).count(),
            console_present: self.serial[0].is_present(),
            console_open: self.serial[0].is_open(),
            console_unread: self.serial[0].unread(),
            console_unsent: self.serial[0].unsent(),
            console_dropped: self.serial[0].dropped(),
            storage_present: self.storage.is_present(),
            storage: self.storage.info(0),
            units: (0..self.storage.units()).map(|lun| self.storage.info(lun as u8)).collect(),
        }
    }

    /// Returns the state of the port, without the cost of [`UsbHost::state`].
    pub fn port(&self) -> Port {
        self.port
    }

    /// Returns how often a device has been configured.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns whether [`UsbHost::take_events`] has events.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns the number of bytes waiting for [`UsbHost::console_read`].
    pub fn console_unread(&self) -> usize {
        self.serial[0].unread()
    }

    /// Returns the blocks of a logical unit, 0 if it or its medium is absent.
    pub fn drive_blocks(&self, lun: u8) -> u64 {
        self.storage.info(lun).map_or(0, |info| info.blocks)
    }

    /// Takes the events since the last call, oldest first; of more than 1024 the oldest are lost.
    pub fn take_events(&mut self) -> Vec<TimedEvent> {
        std::mem::take(&mut self.events).into()
    }

    /// Queues bytes for the device; returns how many were accepted (0 without a console). They are sent once the
    /// console is open.
    pub fn console_write(&mut self, data: &[u8]) -> usize {
        self.serial[0].write(data)
    }

    /// Takes all data received from the device.
    pub fn console_read(&mut self) -> Vec<u8> {
        self.serial[0].read()
    }

    /// Returns when the last byte arrived from the device; 0 before the first.
    pub fn console_received_at(&self) -> Ps {
        self.serial[0].received_at()
    }

    /// Sets DTR and RTS and starts reading; false without a console or with 64 requests waiting.
    pub fn console_open(&mut self) -> bool {
        self.serial[0].open()
    }

    /// Clears DTR and RTS, stops reading and drops unsent bytes.
    pub fn console_close(&mut self) -> bool {
        self.serial[0].close()
    }

    /// Sends SET_LINE_CODING; 1200 baud before a close is the "1200-baud touch".
    pub fn set_line_coding(&mut self, coding: LineCoding) -> bool {
        self.serial[0].set_line_coding(coding)
    }

    /// Returns a serial port by its index on the device, the console at 0; `None` beyond the most that a device has
    /// had.
    pub fn serial(&mut self, place: usize) -> Option<&mut SerialPort> {
        self.serial.get_mut(place)
    }

    /// Queues a read of `count` blocks from block `lba` of logical unit `lun`; the completion holds the bytes.
    pub fn request_read(&mut self, lun: u8, lba: u64, count: u64) -> Result<RequestId, StorageError> {
        self.storage.read(lun, lba, count)
    }

    /// Queues a write of whole blocks from block `lba` on.
    pub fn request_write(&mut self, lun: u8, lba: u64, data: Vec<u8>) -> Result<RequestId, StorageError> {
        self.storage.write(lun, lba, data)
    }

    /// Queues START STOP UNIT with LOEJ: the medium is ejected.
    pub fn request_eject(&mut self, lun: u8) -> Result<RequestId, StorageError> {
        self.storage.eject(lun)
    }

    /// Takes the result of a request, once; `None` while it is running or after it was taken.
    pub fn take_completion(&mut self, id: RequestId) -> Option<Result<Vec<u8>, StorageError>> {
        self.storage.take_completion(id)
    }

    fn note(&mut self, at: Ps, event: Event) {
        if self.events.len() >= MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(TimedEvent { at, event });
    }

    fn step(&mut self, t: Ps, bus: &mut dyn UsbBus) {
        if !bus.pulled_up() {
            if self.port != Port::Detached {
                self.forget_device();
                self.port = Port::Detached;
                self.note(t, Event::Detached);
            }
            return;
        }
        match self.port {
            Port::Detached => {
                self.port = Port::Debouncing;
                self.until = t + self.config.debounce_us * PS_PER_US;
                self.attempts = 0;
                self.rounds = 0;
                self.losses = 0;
                self.storage_losses = 0;
                self.note(t, Event::Attached);
            }
            Port::Debouncing | Port::Unpowered if t >= self.until => self.begin_reset(t, bus),
            Port::Resetting if t >= self.until => {
                self.port = Port::Enumerating;
                self.next_sof = t;
                self.bus_free = t;
                self.last_address = self.last_address % 127 + 1;
                let pause = if self.rounds > 0 { ROUND_PAUSE } else { 0 };
                let ready_at = t + self.config.reset_recovery_us * PS_PER_US + pause;
                let recovery = self.config.address_recovery_us * PS_PER_US;
                let gap = self.config.request_gap_us * PS_PER_US;
                let scheme = if self.attempts < ATTEMPTS / 2 { Scheme::Descriptor } else { Scheme::Address };
                self.enumeration = Some(Enumeration::new(scheme, self.last_address, ready_at, recovery, gap));
                self.run(t, bus);
            }
            Port::Debouncing | Port::Unpowered | Port::Resetting | Port::Failed => {}
            Port::Enumerating | Port::Configured => self.run(t, bus),
        }
    }

    fn forget_device(&mut self) {
        self.in_flight = None;
        self.enumeration = None;
        self.device = None;
        self.control.reset();
        self.serial.iter_mut().for_each(SerialPort::detach);
        self.storage.detach();
    }

    fn begin_reset(&mut self, t: Ps, bus: &mut dyn UsbBus) {
        self.forget_device();
        self.port = Port::Resetting;
        self.until = t + self.config.reset_us * PS_PER_US;
        bus.reset();
    }

    /// Serves an enabled port: finishes a transaction, sends SOF, serves the drivers.
    fn run(&mut self, t: Ps, bus: &mut dyn UsbBus) {
        if self.next_sof == t {
            bus.sof(self.frame);
            self.frame = (self.frame + 1) & 0x7ff;
            self.next_sof = t + PS_PER_MS;
            self.bus_free = t + timing::sof();
        }
        let mut problem = None;
        if self.in_flight.as_ref().is_some_and(|f| f.seen_at <= t)
            && let Some(flight) = self.in_flight.take()
        {
            let (outcome, time) = flight.transaction.run(bus);
            self.bus_free = flight.start + time;
            if let Some(at) = self.bulk.iter().position(|&s| s == flight.source) {
                self.turn = (at + 1) % self.bulk.len();
            }
            problem = self.deliver(&flight, outcome);
        }
        let problem = problem.or_else(|| self.serve(t));
        match problem {
            None => {}
            Some(Problem::NoDescriptor(reason)) if self.rounds + 1 < ROUNDS => {
                self.rounds += 1;
                self.trouble = Some(reason);
                self.begin_reset(t, bus);
            }
            Some(Problem::NoDescriptor(reason) | Problem::Enumeration(reason)) => {
                self.attempts += 1;
                self.rounds = 0;
                self.trouble = Some(reason.clone());
                if self.attempts == ATTEMPTS {
                    self.give_up(t, Event::EnumerationFailed { reason });
                } else if self.attempts == ATTEMPTS / 2 {
                    self.forget_device();
                    self.port = Port::Unpowered;
                    self.until = t + POWER_CYCLE;
                    self.note(t, Event::PowerCycled { reason });
                } else {
                    self.begin_reset(t, bus);
                }
            }
            Some(Problem::Lost(reason)) => {
                if t.saturating_sub(self.configured_at) > LOSS_MEMORY {
                    self.losses = 0;
                }
                self.losses += 1;
                if self.losses <= MAX_LOSSES {
                    self.attempts = 0;
                    self.rounds = 0;
                    self.note(t, Event::PortReset { reason });
                    self.begin_reset(t, bus);
                } else {
                    self.give_up(t, Event::EnumerationFailed { reason });
                }
            }
        }
    }

    fn give_up(&mut self, t: Ps, event: Event) {
        self.forget_device();
        self.port = Port::Failed;
        self.note(t, event);
    }

    /// Passes a transaction's outcome to its driver.
    fn deliver(&mut self, flight: &InFlight, outcome: Outcome) -> Option<Problem> {
        let end = self.bus_free;
        let sent = match &flight.transaction.token {
            Token::Out { data, .. } => data.len(),
            Token::Setup(_) | Token::In { .. } => 0,
        };
        match flight.source {
            Source::Control => {
                let finished = self.control.finish(end, outcome)?;
                self.control_finished(end, finished)
            }
            Source::Storage => {
                let notice = self.storage.finish(sent, end, outcome)?;
                self.storage_notice(end, notice)
            }
            Source::Serial(place, channel) => {
                let notice = self.serial[place].finish(channel, sent, end, outcome)?;
                self.serial_notice(end, place, notice)
            }
        }
    }

    fn control_finished(&mut self, end: Ps, (owner, result): Finished) -> Option<Problem> {
        match owner {
            Owner::Serial(place) => {
                let notice = self.serial[place].control_done(end, result)?;
                self.serial_notice(end, place, notice)
            }
            Owner::Storage => {
                let notice = self.storage.control_done(end, result)?;
                self.storage_notice(end, notice)
            }
            Owner::Enumeration => match self.enumeration.as_mut()?.finished(end, result) {
                Progress::MaxPacket(size) => {
                    self.control.max_packet = usize::from(size);
                    None
                }
                Progress::Addressed => {
                    self.control.address = self.last_address;
                    None
                }
                Progress::More => None,
                Progress::NoDescriptor(reason) => Some(Problem::NoDescriptor(reason)),
                Progress::Failed(reason) => Some(Problem::Enumeration(reason)),
                Progress::Configured(device) => {
                    self.configured(end, *device);
                    None
                }
            },
        }
    }

    fn configured(&mut self, end: Ps, device: Device) {
        self.enumeration = None;
        self.port = Port::Configured;
        self.attempts = 0;
        self.rounds = 0;
        self.trouble = None;
        self.generation += 1;
        self.configured_at = end;
        let ports = device.configuration.serial_ports();
        for (place, acm) in ports.iter().enumerate() {
            if place == self.serial.len() {
                self.serial.push(SerialPort::new(self.config.console.clone()));
            }
            self.serial[place].attach(*acm, device.address, &self.config.poll, end);
        }
        self.use_bulk(bulk_sources(ports.len()));
        if self.config.storage.enabled
            && self.storage_losses < MAX_STORAGE_LOSSES
            && let Some(msc) = device.configuration.storage()
        {
            self.storage.attach(msc, device.address, &self.config.poll, end);
        }
        let (vid, pid) = (device.descriptor.vid, device.descriptor.pid);
        self.device = Some(device);
        self.note(end, Event::Configured { generation: self.generation, vid, pid });
    }

    fn serial_notice(&mut self, end: Ps, place: usize, notice: cdc::Notice) -> Option<Problem> {
        match (notice, place) {
            (cdc::Notice::Opened, 0) => self.note(end, Event::ConsoleOpened),
            (cdc::Notice::Closed, 0) => self.note(end, Event::ConsoleClosed),
            (cdc::Notice::Lost(e), 0) => return Some(Problem::Lost(format!("console: {e}"))),
            (cdc::Notice::Opened, _) => self.note(end, Event::SerialOpened(place)),
            (cdc::Notice::Closed, _) => self.note(end, Event::SerialClosed(place)),
            (cdc::Notice::Lost(e), _) => return Some(Problem::Lost(format!("serial port {}: {e}", place + 1))),
        }
        None
    }

    fn storage_notice(&mut self, end: Ps, notice: msc::Notice) -> Option<Problem> {
        match notice {
            msc::Notice::Ready { lun, blocks, block_size, write_protected } => {
                self.note(end, Event::StorageReady { lun, blocks, block_size, write_protected });
            }
            msc::Notice::MediumGone { lun } => self.note(end, Event::MediumGone { lun }),
            msc::Notice::Lost(e) => {
                self.storage_losses = self.storage_losses.saturating_add(1);
                return Some(Problem::Lost(format!("mass storage: {e}")));
            }
        }
        None
    }

    /// Runs the drivers' timers and starts the next control transfer.
    fn serve(&mut self, t: Ps) -> Option<Problem> {
        self.serial.iter_mut().for_each(|port| port.wake(t));
        if self.storage.wake(t) {
            self.abandon(Source::Storage);
        }
        if let Some(finished) = self.control.expire(t) {
            self.abandon(Source::Control);
            let problem = self.control_finished(t, finished);
            if problem.is_some() {
                return problem;
            }
        }
        if self.control.is_idle() {
            let now = self.bus_free.max(t);
            if let Some(enumeration) = &self.enumeration {
                self.control.start(Owner::Enumeration, enumeration.request(), enumeration.ready_at().max(t));
            } else if let Some((place, request)) = self.serial_request() {
                self.control.start(Owner::Serial(place), request, now);
            } else if let Some(request) = self.storage.control_request() {
                self.control.start(Owner::Storage, request, now);
            }
        }
        None
    }

    fn serial_request(&mut self) -> Option<(usize, Request)> {
        self.serial.iter_mut().enumerate().find_map(|(place, port)| Some((place, port.control_request()?)))
    }

    /// Sets the bulk endpoints; the current turn is kept, if possible.
    fn use_bulk(&mut self, bulk: Vec<Source>) {
        self.turn = if bulk.len() == self.bulk.len() { self.turn } else { 0 };
        self.bulk = bulk;
    }

    fn abandon(&mut self, source: Source) {
        if self.in_flight.as_ref().is_some_and(|f| f.source == source) {
            self.in_flight = None;
        }
    }

    fn wanted(&self, source: Source) -> Option<Ps> {
        match source {
            Source::Control => self.control.ready_at(),
            Source::Serial(place, channel) => self.serial[place].wanted(channel),
            Source::Storage => self.storage.wanted(),
        }
    }

    fn transaction(&self, source: Source) -> Option<Transaction> {
        match source {
            Source::Control => self.control.transaction(),
            Source::Serial(place, channel) => self.serial[place].transaction(channel),
            Source::Storage => self.storage.transaction(),
        }
    }

    /// Chooses the next transaction and returns the time of the next event.
    fn plan(&mut self, t: Ps) -> Ps {
        let poll = t + self.config.port_poll_us.max(1) * PS_PER_US;
        match self.port {
            Port::Detached | Port::Failed => return poll,
            Port::Debouncing | Port::Unpowered | Port::Resetting => return self.until.min(poll),
            Port::Enumerating | Port::Configured => {}
        }
        // A transaction that has started is completed; one that has not may be replaced by another that became ready.
        if self.in_flight.as_ref().is_some_and(|f| f.start > t) {
            self.in_flight = None;
        }
        if self.in_flight.is_none() {
            self.choose(t);
        }
        let timers = [self.storage.wake_at(), self.control.deadline()];
        let timers = self.serial.iter().map(SerialPort::wake_at).chain(timers);
        let timer = timers.flatten().min().map(|at| at.max(t + 1));
        let seen_at = self.in_flight.as_ref().map(|f| f.seen_at);
        [timer, seen_at].into_iter().flatten().fold(self.next_sof.min(poll), Ps::min)
    }

    fn choose(&mut self, t: Ps) {
        let free = self.bus_free.max(t);
        let bulk = (0..self.bulk.len()).map(|i| self.bulk[(self.turn + i) % self.bulk.len()]);
        let chosen = (0..self.serial.len())
            .map(|place| Source::Serial(place, Channel::Notify))
            .chain([Source::Control])
            .chain(bulk)
            .filter_map(|source| Some((self.wanted(source)?.max(free), source)))
            .reduce(|best, other| if other.0 < best.0 { other } else { best });
        let Some((start, source)) = chosen else { return };
        let Some(transaction) = self.transaction(source) else {
            return;
        };
        if start + transaction.longest() > self.next_sof {
            return;
        }
        let seen_at = start + transaction.seen_after();
        self.in_flight = Some(InFlight { source, transaction, start, seen_at });
    }
}

#[derive(Debug)]
enum Problem {
    /// No first descriptor after this reset, for this reason.
    NoDescriptor(String),
    /// Enumeration failed for this reason.
    Enumeration(String),
    /// A driver lost its device for this reason.
    Lost(String),
}
