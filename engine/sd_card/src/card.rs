//! The card on its bus: selection, bytes, busy, and the clock.

use sim::snapshot::LeftOut;
use sim::{Device, Ps, Snapshot, SpiDevice, SpiFrame, SplitMix64};

use crate::kind::{Capacity, Kind};
use crate::log::Log;
use crate::medium::{BLOCK, Medium};
use crate::registers;
use crate::transfer::{self, In, Out, Transfer};
use crate::usage::{Direction, Usage};

/// Faults of a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wear {
    /// The CSD sets TMP_WRITE_PROTECT, and writes are refused.
    pub write_protected: bool,
    /// Blocks that can be written after power-up. Then no spare blocks are left, and each write gets a write error.
    pub good_writes: Option<u64>,
    /// One in this many blocks read has a wrong bit on the wire.
    pub corrupt_one_in: Option<u64>,
}

sim::left_out!([] Wear);

/// The settings of a card.
#[derive(Clone, Debug)]
pub struct CardConfig {
    /// Size and speed.
    pub kind: &'static Kind,
    /// The card's contents.
    pub medium: Medium,
    /// Seed of the drawn times.
    pub seed: u64,
    /// Defects of the card.
    pub wear: Wear,
}

/// A block being programmed: if power is lost before the end, the block keeps its old content.
#[derive(Snapshot)]
pub(crate) struct Programming {
    pub(crate) at: u64,
    pub(crate) data: Box<[u8]>,
    pub(crate) until: Ps,
}

/// An SD card in SPI mode.
#[derive(Snapshot)]
pub struct Card {
    pub(crate) kind: LeftOut<&'static Kind>,
    pub(crate) medium: Medium,
    pub(crate) blocks: u64,
    pub(crate) wear: Wear,
    pub(crate) random: SplitMix64,
    selected: bool,
    /// CMD0 arrived with chip select low.
    pub(crate) spi_mode: bool,
    pub(crate) idle: bool,
    /// The host has sent CMD8.
    pub(crate) knows_host: bool,
    /// Time of the first ACMD41.
    pub(crate) starting: Option<Ps>,
    pub(crate) checks_crc: bool,
    /// The last command was CMD55.
    pub(crate) app: bool,
    pub(crate) block_length: usize,
    /// The second byte of R2, until it is read.
    pub(crate) status: u8,
    pub(crate) erase: [Option<u64>; 2],
    /// Blocks written without errors by the last write command.
    pub(crate) well_written: u32,
    pub(crate) written: u64,
    read: u64,
    command: [u8; 6],
    taken: usize,
    response: Vec<u8>,
    responded: usize,
    pub(crate) transfer: Transfer,
    pub(crate) busy_until: Ps,
    pub(crate) programming: Option<Programming>,
    pub(crate) direction: Direction,
    last_byte: Ps,
    pub(crate) usage: Usage,
    pub(crate) log: Log,
    pub(crate) unmodelled: Option<String>,
}

impl Card {
    /// Returns a card that was just powered up. Blocks of the medium beyond the kind's address range are out of reach.
    pub fn new(config: &CardConfig) -> Self {
        let blocks = config.medium.blocks().min(registers::most_blocks(config.kind.capacity)) / 1024 * 1024;
        Self {
            kind: LeftOut(config.kind),
            medium: config.medium.clone(),
            blocks,
            wear: config.wear,
            random: SplitMix64::new(config.seed),
            selected: false,
            spi_mode: false,
            idle: true,
            knows_host: false,
            starting: None,
            checks_crc: false,
            app: false,
            block_length: BLOCK,
            status: 0,
            erase: [None; 2],
            well_written: 0,
            written: 0,
            read: 0,
            command: [0; 6],
            taken: 0,
            response: Vec::with_capacity(8),
            responded: 0,
            transfer: Transfer::None,
            busy_until: 0,
            programming: None,
            direction: Direction::Neither,
            last_byte: 0,
            usage: Usage::default(),
            log: Log::default(),
            unmodelled: None,
        }
    }

    /// Returns the use since power-up.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Adds the time during which SCK moved for the last byte.
    pub fn clocked(&mut self, time: Ps) {
        self.usage.at(self.direction).clocked += time;
    }

    /// Queues `bytes` as the next output, before anything else.
    pub(crate) fn respond(&mut self, bytes: &[u8]) {
        self.response.clear();
        self.response.extend_from_slice(bytes);
        self.responded = 0;
    }

    /// Keeps MISO low for `time`.
    pub(crate) fn be_busy(&mut self, now: Ps, time: Ps) {
        self.busy_until = now + time;
        self.usage.at(self.direction).card += time;
    }

    fn is_busy(&self, now: Ps) -> bool {
        now < self.busy_until
    }

    /// Returns the byte on MISO that ends at `now`.
    fn output(&mut self, now: Ps) -> u8 {
        if let Some(&byte) = self.response.get(self.responded) {
            self.responded += 1;
            return byte;
        }
        if self.is_busy(now) {
            return 0x00;
        }
        let Transfer::Out(out) = &mut self.transfer else { return 0xff };
        if now < out.ready {
            return 0xff;
        }
        let Some(&byte) = out.bytes.get(out.sent) else { return 0xff };
        if out.sent == 0 {
            out.first_at = now;
        }
        out.sent += 1;
        if out.amid_data() {
            let gap = now - self.last_byte;
            self.usage.at(self.direction).gaps.add(gap);
        }
        if out.sent == out.bytes.len() {
            self.block_sent(now);
        }
        byte
    }

    /// Handles the end of a block, or of an error token.
    fn block_sent(&mut self, now: Ps) {
        let Transfer::Out(out) = &mut self.transfer else { return };
        let Some(at) = out.next.filter(|_| out.bytes.len() > 1) else {
            self.transfer = Transfer::None;
            return;
        };
        let used = self.usage.at(self.direction);
        used.blocks += 1;
        let data = &out.bytes[1..out.bytes.len() - 2];
        let length = data.len() as u64;
        self.log.block(out.first_at, now, false, at / BLOCK as u64, data, "");
        if !out.many {
            self.transfer = Transfer::None;
            return;
        }
        let next = at + length;
        out.ready = now + self.kind.next_read;
        used.card += self.kind.next_read;
        out.next = Some(next);
        self.load(next);
    }

    /// Prepares the block at byte `at` for sending, or an error token instead.
    pub(crate) fn load(&mut self, at: u64) {
        let beyond = at + self.block_length as u64 > self.blocks * BLOCK as u64;
        let corrupt = !beyond && {
            self.read += 1;
            self.wear.corrupt_one_in.is_some_and(|every| self.read.is_multiple_of(every.max(1)))
        };
        let Transfer::Out(out) = &mut self.transfer else { return };
        if beyond {
            self.status |= status::OUT_OF_RANGE;
            self.usage.errors += 1;
            out.load_error(transfer::OUT_OF_RANGE);
            return;
        }
        let mut data = vec![0; self.block_length];
        self.medium.read(at, &mut data);
        out.load(&data);
        if corrupt {
            let bit = self.random.between(0, data.len() as u64 * 8 - 1) as usize;
            out.bytes[1 + bit / 8] ^= 1 << (bit % 8);
        }
    }

    fn input(&mut self, now: Ps, mosi: u8) {
        if let Transfer::In(taking) = &mut self.transfer
            && taking.open
        {
            taking.bytes.push(mosi);
            if taking.amid_data() {
                let gap = now - self.last_byte;
                self.usage.at(self.direction).gaps.add(gap);
            }
            if taking.is_whole() {
                self.block_came(now);
            }
            return;
        }
        if self.taken > 0 {
            self.command[self.taken] = mosi;
            self.taken += 1;
            if self.taken == self.command.len() {
                self.taken = 0;
                let command = self.command;
                self.carry_out(now, &command);
            }
            return;
        }
        match mosi {
            // A busy card ignores everything but CMD0.
            0x40..=0x7f if mosi == 0x40 || !self.is_busy(now) => {
                self.command[0] = mosi;
                self.taken = 1;
                self.log.begin(now);
            }
            _ if self.is_busy(now) || self.responded < self.response.len() => {}
            transfer::START | transfer::START_OF_MANY | transfer::STOP => self.token(now, mosi),
            _ => {}
        }
    }

    fn token(&mut self, now: Ps, token: u8) {
        let Transfer::In(taking) = &mut self.transfer else { return };
        match (taking.many, token) {
            (false, transfer::START) | (true, transfer::START_OF_MANY) => {
                taking.open = true;
                taking.bytes.clear();
                taking.first_at = now;
            }
            // Busy from the next byte on (N_BR is 0 or 1 byte: drivers differ in how many they skip).
            (true, transfer::STOP) => self.stop_writing(now),
            _ => {}
        }
    }

    /// Ends a write of several blocks.
    pub(crate) fn stop_writing(&mut self, now: Ps) {
        self.transfer = Transfer::None;
        let time = self.kind.write.draw(&mut self.random);
        self.be_busy(now, time);
    }

    /// Handles a complete block with its CRC.
    fn block_came(&mut self, now: Ps) {
        let Transfer::In(taking) = std::mem::replace(&mut self.transfer, Transfer::None) else { return };
        let In { next, many, first_at, .. } = taking;
        let answer = if self.checks_crc && !taking.crc_fits() {
            transfer::CRC_WRONG
        } else if let Some(error) = self.why_not_written(next) {
            self.status |= error;
            transfer::NOT_WRITTEN
        } else {
            transfer::ACCEPTED
        };
        let meaning = if answer == transfer::ACCEPTED { "" } else { "not written" };
        self.log.block(first_at, now, true, next / BLOCK as u64, &taking.bytes[..BLOCK], meaning);
        self.respond(&[answer]);
        let mut after = next;
        if answer == transfer::ACCEPTED {
            let time = if many { self.kind.next_write } else { self.kind.write.draw(&mut self.random) };
            self.be_busy(now, time);
            let data = taking.bytes[..BLOCK].into();
            self.programming = Some(Programming { at: next, data, until: self.busy_until });
            self.usage.at(self.direction).blocks += 1;
            self.written += 1;
            self.well_written += 1;
            after += BLOCK as u64;
        } else {
            self.usage.errors += 1;
        }
        if many {
            self.transfer = Transfer::In(In::new(after, true));
        }
    }

    fn why_not_written(&self, at: u64) -> Option<u8> {
        if self.wear.write_protected {
            return Some(status::WRITE_PROTECTED);
        }
        if at + BLOCK as u64 > self.blocks * BLOCK as u64 {
            return Some(status::OUT_OF_RANGE);
        }
        self.wear.good_writes.is_some_and(|good| self.written >= good).then_some(status::ERROR)
    }

    /// Starts to send a register, or the block at byte `at`.
    pub(crate) fn send(&mut self, now: Ps, at: Option<u64>, many: bool, register: &[u8]) {
        let time = if at.is_some() { self.kind.read.draw(&mut self.random) } else { crate::kind::REGISTER };
        self.usage.at(self.direction).card += time;
        self.transfer = Transfer::Out(Out::new(at, many, now + time, register));
        if let Some(at) = at {
            self.load(at);
        }
    }

    pub(crate) fn addresses_blocks(&self) -> bool {
        self.kind.capacity == Capacity::High
    }
}

/// Bits of the second byte of R2 (7.3.2.3).
pub(crate) mod status {
    pub(crate) const ERROR: u8 = 1 << 2;
    pub(crate) const WRITE_PROTECTED: u8 = 1 << 5;
    pub(crate) const ERASE_PARAMETER: u8 = 1 << 6;
    pub(crate) const OUT_OF_RANGE: u8 = 1 << 7;
}

impl Device for Card {
    fn name(&self) -> &'static str {
        "SD card"
    }

    fn next_event(&self) -> Option<Ps> {
        self.programming.as_ref().map(|programming| programming.until)
    }

    fn take_unmodelled(&mut self) -> Option<String> {
        self.unmodelled.take()
    }

    fn advance(&mut self, now: Ps) {
        if let Some(done) = self.programming.take_if(|programming| programming.until <= now) {
            self.medium.write(done.at, &done.data);
        }
    }
}

impl SpiDevice for Card {
    fn select(&mut self, now: Ps, low: bool) {
        self.advance(now);
        // Chip select discards a partial command. Everything else continues where it stopped: drivers deselect the card
        // between command, response and data, and embedded-sdmmc between any two bytes.
        if self.selected != low {
            self.taken = 0;
        }
        self.selected = low;
    }

    fn exchange(&mut self, now: Ps, mosi: u8) -> u8 {
        self.advance(now);
        if !self.selected {
            return 0xff;
        }
        let miso = self.output(now);
        self.input(now, mosi);
        self.usage.at(self.direction).bytes += 1;
        self.last_byte = now;
        miso
    }

    fn set_log(&mut self, on: bool) {
        self.log.set(on);
    }

    fn take_log(&mut self) -> Vec<SpiFrame> {
        self.log.take()
    }
}
