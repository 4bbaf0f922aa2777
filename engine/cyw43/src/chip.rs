//! The chip's pins: transfers on gSPI and what they access.

use sim::{Device, EthernetStats, Mac, Ps, Radio, RadioReport, RadioRequest, Snapshot, SpiFrame};

use crate::backplane::Backplane;
use crate::bus::{BusRegisters, Levels, interrupt};
use crate::gspi::{Edge, OUTPUT_DELAY, Wires};
use crate::host::HostQueue;
use crate::log::Log;
use crate::sdpcm::{self, Control};
use crate::time::POWER_UP;
use crate::wlan::{Gpios, Wlan};

/// The radio chip's settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address in the chip's one-time-programmable memory.
    pub mac: Mac,
    /// Levels on the chip's GPIOs, driven by the board.
    pub gpio_inputs: u32,
}

sim::left_out!([] Config);

impl Default for Config {
    fn default() -> Self {
        // The address prefix of the Pico W's maker; VBUS is on GPIO 2.
        Self { mac: [0x28, 0xcd, 0xc1, 0x00, 0x50, 0x01], gpio_inputs: 1 << 2 }
    }
}

/// The 32-bit command that starts a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub(crate) struct Command {
    pub(crate) write: bool,
    increments: bool,
    pub(crate) function: u32,
    pub(crate) address: u32,
    pub(crate) length: usize,
}

impl Command {
    fn decode(word: u32) -> Self {
        let length = (word & 0x7ff) as usize;
        Self {
            write: word >> 31 != 0,
            increments: word >> 30 & 1 != 0,
            function: word >> 28 & 3,
            address: word >> 11 & 0x1_ffff,
            length: if length == 0 { 2048 } else { length },
        }
    }
}

/// The effect of a change on the wires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// [`Cyw43439::data_wire`] may have changed.
    pub drives: bool,
    /// The host has sent 32 bits, or a bit of the answer has its time: the next event may be another one.
    pub more: bool,
}

/// The chip's action at the next clock edges, if it only shifts bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shifting {
    /// Samples this many bits at rising edges.
    In(u32),
    /// Shifts bits out, at rising or at falling edges.
    Out {
        /// At rising edges; otherwise at falling ones.
        rising: bool,
    },
}

/// The phase of a transfer.
#[derive(Snapshot)]
enum Phase {
    Command,
    Write(Command, Vec<u8>),
    /// The answer, and the index of the next byte to send.
    Read(Vec<u8>, usize),
    /// Further words are ignored until the next chip select.
    Over,
}

/// The state that exists while WL_REG_ON is high.
#[derive(Snapshot)]
struct Powered {
    since: Ps,
    bus: BusRegisters,
    backplane: Backplane,
    host: HostQueue,
    wlan: Option<Wlan>,
}

impl Powered {
    fn new(since: Ps) -> Self {
        let (bus, backplane) = (BusRegisters::new(), Backplane::new());
        Self { since, bus, backplane, host: HostQueue::default(), wlan: None }
    }

    fn levels(&self) -> Levels {
        Levels { f2_ready: self.wlan.is_some(), packet: self.host.head(), f1_interrupt: false }
    }
}

/// The radio chip with its gSPI bus, backplane and the behaviour of its firmware.
#[derive(Snapshot)]
pub struct Cyw43439 {
    config: Config,
    powered: Option<Box<Powered>>,
    selected: bool,
    wires: Wires,
    phase: Phase,
    /// Start of the transfer, its command, and its bytes on the wire.
    began: Ps,
    command: Option<Command>,
    wire_bytes: usize,
    /// Bits of the chip's answer that have been on the wire so far.
    answered: u32,
    shown: Vec<u8>,
    /// Times of its first and last bit, while the log is on.
    clocked: Option<(Ps, Ps)>,
    /// The level that the chip drives on the data wire in a transfer.
    data: bool,
    stats: EthernetStats,
    log: Log,
    unmodelled: Option<String>,
    /// Time at which the radio went silent.
    silent: Option<Ps>,
}

impl Cyw43439 {
    /// The part's name.
    pub const NAME: &'static str = "CYW43439";

    /// Returns the chip at power-up, without firmware.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            powered: None,
            selected: false,
            wires: Wires::default(),
            phase: Phase::Over,
            began: 0,
            command: None,
            wire_bytes: 0,
            answered: 0,
            shown: Vec::new(),
            clocked: None,
            data: false,
            stats: EthernetStats::default(),
            log: Log::default(),
            unmodelled: None,
            silent: None,
        }
    }

    /// Sets WL_REG_ON; low clears all state.
    pub fn set_power(&mut self, now: Ps, on: bool) {
        if on != self.powered.is_some() {
            self.powered = on.then(|| Box::new(Powered::new(now)));
            self.silent = Some(now);
            self.phase = Phase::Over;
        }
    }

    /// Handles an edge of chip select.
    pub fn select(&mut self, now: Ps, low: bool) {
        if low == self.selected {
            return;
        }
        self.selected = low;
        if low {
            self.advance(now);
            self.stats.chip_selects += 1;
            self.wires.select();
            (self.began, self.wire_bytes, self.command) = (now, 0, None);
            self.shown.clear();
            self.clocked = None;
            self.phase = match &self.powered {
                Some(powered) if now >= powered.since + POWER_UP => Phase::Command,
                _ => Phase::Over,
            };
            return;
        }
        if let Phase::Write(..) = self.phase
            && let Some(powered) = &mut self.powered
        {
            powered.bus.latch(interrupt::COMMAND_ERROR);
        }
        if let Some(command) = self.command
            && self.log.is_on()
        {
            self.log.push(self.began, now, command, self.wire_bytes, &self.shown);
            if let Some((first, last)) = self.clocked {
                self.log.clocked(first, last);
            }
        }
        self.phase = Phase::Over;
    }

    /// Returns whether chip select is low.
    pub fn is_selected(&self) -> bool {
        self.selected
    }

    /// Handles a change of the clock or of the data wire.
    pub fn wires(&mut self, now: Ps, clock: bool, data: bool) -> Step {
        if !self.selected {
            return Step::default();
        }
        let Some(powered) = &self.powered else { return Step::default() };
        let mode = powered.bus.mode();
        if self.log.is_on() && self.wires.moves(clock) {
            self.clocked = Some((self.clocked.map_or(now, |(first, _)| first), now));
        }
        if self.wires.drives() && clock && self.wires.moves(clock) {
            self.count_bits(1);
        }
        match self.wires.edge(now, clock, data) {
            Edge::Nothing => Step { drives: false, more: self.bit_due() == Some(now + OUTPUT_DELAY) },
            Edge::Word(word) => {
                self.advance(now);
                self.take_word(now, mode.swap(word));
                Step { drives: true, more: true }
            }
            bit => {
                self.put(bit);
                Step { drives: true, more: false }
            }
        }
    }

    /// Puts the next bit of the answer on the data wire.
    fn put(&mut self, bit: Edge) {
        let Some(powered) = &self.powered else { return };
        self.data = match bit {
            Edge::Data(level) => level,
            _ => {
                let mode = powered.bus.mode();
                let word = mode.swap(self.next_word());
                self.wires.send(word)
            }
        };
    }

    /// Returns the time at which a bit of the answer becomes visible in a pause of the clock.
    fn bit_due(&self) -> Option<Ps> {
        self.wires.due().filter(|_| self.selected && matches!(self.phase, Phase::Read(..)))
    }

    /// Returns the action at the next edges, or `None` if they do more than shift bits or if the log needs their times.
    pub fn shifting(&self) -> Option<Shifting> {
        if self.log.is_on() {
            return None;
        }
        self.powered.as_ref().filter(|_| self.selected)?;
        if self.wires.drives() {
            let reads = matches!(self.phase, Phase::Read(..));
            return self.wires.shows_at().filter(|_| reads).map(|rising| Shifting::Out { rising });
        }
        let words = match &self.phase {
            // Only stored until the last one arrives.
            Phase::Write(command, data) => command.length.saturating_sub(data.len()).div_ceil(4).saturating_sub(1),
            // Ignored until chip select rises.
            Phase::Over => return Some(Shifting::In(u32::MAX)),
            _ => 0,
        };
        Some(Shifting::In(32 * words as u32 + self.wires.room()))
    }

    /// Accepts bits of [`Shifting::In`], the first one in the most significant place, at most 32.
    pub fn shift_in(&mut self, now: Ps, bits: u32, count: u32) {
        let mut left = count;
        while left != 0
            && let Some(powered) = &self.powered
        {
            let mode = powered.bus.mode();
            let (word, rest) = self.wires.take(bits, left);
            left = rest;
            if let Some(word) = word {
                self.take_word(now, mode.swap(word));
            }
        }
    }

    /// Returns the next bits of [`Shifting::Out`] in the same order, at most 32.
    pub fn shift_out(&mut self, count: u32) -> u32 {
        self.count_bits(count);
        let mut bits = 0u32;
        let mut left = count;
        while left != 0
            && let Some(powered) = &self.powered
        {
            let mode = powered.bus.mode();
            let (part, given) = self.wires.give(left);
            if given == 0 {
                let word = mode.swap(self.next_word());
                self.wires.load(word);
                continue;
            }
            bits = bits.checked_shl(given).unwrap_or(0) | part;
            left -= given;
        }
        self.data = bits & 1 != 0;
        bits
    }

    /// Returns the level that the chip drives on the data wire, or `None` while the host drives it.
    pub fn data_wire(&self) -> Option<bool> {
        let powered = self.powered.as_ref()?;
        if !self.selected {
            return Some(powered.bus.interrupt_level(powered.levels()));
        }
        matches!(self.phase, Phase::Read(..)).then_some(self.data)
    }

    /// Returns the traffic since power-up.
    pub fn stats(&self) -> EthernetStats {
        self.stats
    }

    /// Returns the levels and directions of the chip's own GPIOs; GPIO 0 is the Pico W's LED.
    pub fn gpios(&self) -> Gpios {
        self.wlan().map(|wlan| wlan.gpios).unwrap_or_default()
    }

    /// Returns whether a network is joined and frames pass.
    pub fn link_up(&self) -> bool {
        self.wlan().is_some_and(Wlan::link_up)
    }

    /// Returns why the firmware that was loaded last does not run.
    pub fn refused(&self) -> Option<&str> {
        self.powered.as_ref()?.backplane.refused.as_deref()
    }

    /// Starts (with an empty log) or stops logging decoded transfers.
    pub fn set_log(&mut self, on: bool) {
        self.log.set(on);
    }

    /// Takes the transfers that ended since the last call; empty while the log is off.
    pub fn take_log(&mut self) -> Vec<SpiFrame> {
        self.log.take()
    }

    /// Takes the times of the first and last bit of each logged transfer.
    pub fn take_clocked(&mut self) -> Vec<(Ps, Ps)> {
        self.log.take_clocked()
    }

    fn wlan(&self) -> Option<&Wlan> {
        self.powered.as_ref()?.wlan.as_ref()
    }

    /// Handles 32 bits from the host.
    fn take_word(&mut self, now: Ps, word: u32) {
        self.stats.bus_bytes += 4;
        self.wire_bytes += 4;
        match &mut self.phase {
            Phase::Command => {
                let command = Command::decode(word);
                self.command = Some(command);
                if command.write {
                    self.phase = Phase::Write(command, Vec::with_capacity(command.length));
                } else {
                    let answer = self.read(now, command);
                    self.answer(now, answer);
                }
            }
            Phase::Write(command, data) => {
                data.extend(word.to_le_bytes());
                if data.len() < command.length {
                    return;
                }
                let (command, mut data) = (*command, std::mem::take(data));
                data.truncate(command.length);
                self.phase = Phase::Over;
                self.write(now, command, &data);
                self.show(&data);
                if let Some(powered) = &self.powered
                    && powered.bus.status_follows()
                {
                    let status = powered.bus.status(powered.levels()).to_le_bytes();
                    self.answer(now, status.to_vec());
                }
            }
            Phase::Read(..) | Phase::Over => {}
        }
    }

    fn show(&mut self, data: &[u8]) {
        if self.log.is_on() {
            self.shown = data.to_vec();
        }
    }

    fn answer(&mut self, now: Ps, bytes: Vec<u8>) {
        (self.data, self.answered) = (false, 0);
        let high_speed = self.powered.as_ref().is_some_and(|powered| powered.bus.mode().high_speed);
        self.wires.turn(now, high_speed);
        self.phase = Phase::Read(bytes, 0);
    }

    /// Counts bits of the chip's answer by clock edges: the first bit of an unrequested word is on the wire, too.
    fn count_bits(&mut self, bits: u32) {
        let before = self.answered.div_ceil(32);
        self.answered += bits;
        let bytes = 4 * (self.answered.div_ceil(32) - before);
        self.stats.bus_bytes += u64::from(bytes);
        self.wire_bytes += bytes as usize;
    }

    fn next_word(&mut self) -> u32 {
        let Phase::Read(bytes, next) = &mut self.phase else { return 0 };
        let rest = bytes.get(*next..).unwrap_or_default();
        let mut word = [0; 4];
        let length = rest.len().min(4);
        word[..length].copy_from_slice(&rest[..length]);
        *next += 4;
        u32::from_le_bytes(word)
    }

    /// Returns the chip's complete answer to a read command.
    fn read(&mut self, now: Ps, command: Command) -> Vec<u8> {
        let Some(powered) = &mut self.powered else { return Vec::new() };
        let (address, length) = (command.address, command.length);
        if !command.increments && command.function == 1 && length > 4 {
            self.unmodelled
                .get_or_insert(format!("CYW43439 read of {length} bytes without increment at 0x{address:05x}"));
        }
        let levels = powered.levels();
        let data = match command.function {
            0 => (0..length).map(|offset| powered.bus.read(address as usize + offset, levels)).collect(),
            1 => powered.backplane.read(now, address, length),
            2 => match powered.host.take() {
                Some(mut frame) => {
                    powered.host.advance(now);
                    frame.resize(length, 0);
                    frame
                }
                None => {
                    powered.bus.latch(interrupt::DATA_UNAVAILABLE | interrupt::READ_UNDERFLOW);
                    vec![0; length]
                }
            },
            _ => {
                self.unmodelled.get_or_insert("CYW43439 gSPI function 3".into());
                Vec::new()
            }
        };
        let delay = powered.bus.response_delay(command.function);
        let mut answer = vec![0; delay];
        answer.extend(&data);
        if powered.bus.status_follows() {
            answer.resize(answer.len().next_multiple_of(4), 0);
            answer.extend(powered.bus.status(powered.levels()).to_le_bytes());
        }
        self.show(&data);
        answer
    }

    fn write(&mut self, now: Ps, command: Command, data: &[u8]) {
        let Some(powered) = &mut self.powered else { return };
        match command.function {
            0 => {
                for (offset, &byte) in data.iter().enumerate() {
                    powered.bus.write(command.address as usize + offset, byte);
                }
            }
            1 => {
                powered.backplane.write(now, command.address, data);
                if std::mem::take(&mut powered.backplane.abort) {
                    powered.host.take();
                    powered.host.advance(now);
                }
                if powered.backplane.firmware().is_none() {
                    powered.wlan = None;
                }
            }
            2 => self.frame_of_host(now, data),
            _ => drop(self.unmodelled.get_or_insert("CYW43439 gSPI function 3".into())),
        }
    }

    fn frame_of_host(&mut self, now: Ps, data: &[u8]) {
        let Some(powered) = &mut self.powered else { return };
        let Some(wlan) = &mut powered.wlan else {
            powered.bus.latch(interrupt::WRITE_OVERFLOW);
            return;
        };
        let Some(frame) = sdpcm::decode(data) else { return };
        match frame.channel {
            sdpcm::CONTROL => {
                powered.host.took(frame.sequence, false);
                if let Some(message) = Control::decode(frame.body) {
                    wlan.control(now, &message);
                }
            }
            sdpcm::DATA => {
                let held = match sdpcm::ethernet(frame.body) {
                    Some((0, ethernet)) => wlan.transmit(now, ethernet),
                    _ => false,
                };
                self.stats.frames_out += u64::from(held);
                powered.host.took(frame.sequence, held);
                if !held {
                    powered.host.done(now);
                }
            }
            _ => {}
        }
        self.collect(now);
    }

    /// Moves the firmware's output to the host's queue.
    fn collect(&mut self, now: Ps) {
        let Some(powered) = &mut self.powered else { return };
        let powered = &mut **powered;
        if let Some(wlan) = &mut powered.wlan {
            for (at, channel, body) in wlan.take_outgoing() {
                powered.host.push(at, channel, body);
            }
            for _ in 0..wlan.take_sent() {
                powered.host.done(now);
            }
            if let Some(what) = wlan.unmodelled.take() {
                self.unmodelled.get_or_insert(what);
            }
        }
        if let Some(what) = powered.backplane.unmodelled.take() {
            self.unmodelled.get_or_insert(what);
        }
        powered.host.advance(now);
    }
}

impl Device for Cyw43439 {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn next_event(&self) -> Option<Ps> {
        let powered = self.powered.as_ref()?;
        let ready = if powered.wlan.is_none() { powered.backplane.ready_at() } else { None };
        let wlan = powered.wlan.as_ref().and_then(Wlan::next_event);
        [ready, powered.host.next_at(), wlan, self.bit_due()].into_iter().flatten().min()
    }

    fn take_unmodelled(&mut self) -> Option<String> {
        self.unmodelled.take()
    }

    fn advance(&mut self, now: Ps) {
        if self.bit_due().is_some_and(|due| due <= now) {
            let bit = self.wires.show(now);
            self.put(bit);
        }
        let Some(powered) = &mut self.powered else { return };
        if powered.wlan.is_none()
            && powered.backplane.ready_at().is_some_and(|at| at <= now)
            && let Some(firmware) = powered.backplane.firmware()
        {
            let version = firmware.version.clone();
            powered.wlan = Some(Wlan::new(self.config.mac, self.config.gpio_inputs, version));
        }
        if let Some(wlan) = &mut powered.wlan {
            wlan.advance(now);
        }
        self.collect(now);
    }
}

impl Radio for Cyw43439 {
    fn take_request(&mut self) -> Option<(Ps, RadioRequest)> {
        if let Some(at) = self.silent.take() {
            return Some((at, RadioRequest::Leave));
        }
        self.powered.as_mut()?.wlan.as_mut()?.take_request()
    }

    fn report(&mut self, now: Ps, report: RadioReport) {
        let Some(powered) = &mut self.powered else { return };
        if let Some(wlan) = &mut powered.wlan {
            self.stats.frames_in += u64::from(matches!(report, RadioReport::Frame(_)));
            wlan.report(now, report);
            self.collect(now);
        }
    }
}
