//! The effect of each command (7.3.1).

use sim::Ps;

use crate::card::{Card, status};
use crate::crc::crc7;
use crate::kind::{Capacity, ERASE};
use crate::log;
use crate::medium::BLOCK;
use crate::registers;
use crate::transfer::{In, Transfer};
use crate::usage::Direction;

/// Bits of R1 (7.3.2.1).
mod r1 {
    pub(crate) const IDLE: u8 = 1;
    pub(crate) const ILLEGAL: u8 = 1 << 2;
    pub(crate) const CRC: u8 = 1 << 3;
    pub(crate) const ERASE_SEQUENCE: u8 = 1 << 4;
    pub(crate) const ADDRESS: u8 = 1 << 5;
    pub(crate) const PARAMETER: u8 = 1 << 6;
}

/// Between a command and its response, N_CR: 1 to 8 bytes.
const WAIT: u8 = 0xff;
/// CMD12 is followed by a stuff byte (7.3.1.3).
const STUFF: u8 = 0xff;
const HCS: u32 = 1 << 30;

/// The response to a command.
enum Answer {
    R1(u8),
    /// R2, R3, R7.
    More(u8, Vec<u8>),
}

impl Card {
    /// Executes a complete command, whose CRC has arrived.
    pub(crate) fn carry_out(&mut self, now: Ps, bytes: &[u8; 6]) {
        let index = bytes[0] & 0x3f;
        let argument = u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
        let fits = crc7(&bytes[..5]) == bytes[5] | 1;
        if !self.spi_mode && (index != 0 || !fits) {
            return; // SD mode, which uses CMD and DAT lines
        }
        self.usage.commands += 1;
        let app = std::mem::take(&mut self.app);
        // CMD8 is always checked (4.3.13).
        let checked = self.checks_crc || index == 8;
        let answer = if checked && !fits {
            Answer::R1(r1::CRC)
        } else {
            let known = if app { self.app_command(now, index, argument) } else { None };
            let known = known.or_else(|| self.command(now, index, argument));
            known.unwrap_or(Answer::R1(r1::ILLEGAL))
        };
        let (mut first, more) = match answer {
            Answer::R1(first) => (first, Vec::new()),
            Answer::More(first, more) => (first, more),
        };
        if first != 0 {
            self.usage.errors += 1;
        }
        if self.idle {
            first |= r1::IDLE;
        }
        self.log.command(now, bytes, app, first);
        let mut response = vec![WAIT, first];
        if index == 12 && !app {
            response.insert(0, STUFF);
        }
        response.extend(more);
        self.respond(&response);
    }

    /// Executes a command. `None`: it does not exist, or not in this state.
    fn command(&mut self, now: Ps, index: u8, argument: u32) -> Option<Answer> {
        let answer = match index {
            0 => self.go_idle(),
            1 => self.start(now, argument),
            8 => self.voltage(argument),
            55 => {
                self.app = true;
                Answer::R1(0)
            }
            58 => Answer::More(0, registers::ocr(!self.idle, self.kind.capacity).to_be_bytes().to_vec()),
            59 => {
                self.checks_crc = argument & 1 != 0;
                Answer::R1(0)
            }
            _ if self.idle => return None,
            9 => {
                let csd = registers::csd(self.kind.capacity, self.blocks, self.wear.write_protected);
                self.send(now, None, false, &csd);
                Answer::R1(0)
            }
            10 => {
                self.send(now, None, false, &registers::cid(self.serial()));
                Answer::R1(0)
            }
            12 => self.stop(now),
            13 => Answer::More(0, vec![std::mem::take(&mut self.status)]),
            16 => self.set_block_length(argument),
            17 | 18 => self.begin_reading(now, argument, index == 18),
            24 | 25 => self.begin_writing(argument, index == 25),
            32 | 33 => self.erase_from_to(usize::from(index - 32), argument),
            38 => self.erase(now),
            6 | 27..=30 | 42 | 56 => self.refuse(index, false),
            _ => return None,
        };
        Some(answer)
    }

    /// Executes an application command. `None`: it does not exist, so the command of that number is meant (4.3.9).
    fn app_command(&mut self, now: Ps, index: u8, argument: u32) -> Option<Answer> {
        let answer = match index {
            41 => self.start(now, argument),
            _ if self.idle => return None,
            13 => {
                self.send(now, None, false, &registers::sd_status());
                Answer::More(0, vec![0])
            }
            22 => {
                let count = self.well_written.to_be_bytes();
                self.send(now, None, false, &count);
                Answer::R1(0)
            }
            // Number of blocks to erase in advance: only a hint.
            23 => Answer::R1(0),
            // The pull-up at pin 1, which SPI uses as chip select.
            42 => Answer::R1(0),
            51 => {
                self.send(now, None, false, &registers::scr(self.kind.capacity));
                Answer::R1(0)
            }
            18 | 25 | 26 | 38 => self.refuse(index, true),
            _ => return None,
        };
        Some(answer)
    }

    /// Reports a command that the card has but the model does not.
    fn refuse(&mut self, index: u8, app: bool) -> Answer {
        self.unmodelled.get_or_insert_with(|| format!("SD card: {}", log::name(index, app)));
        Answer::R1(r1::ILLEGAL)
    }

    fn serial(&self) -> u32 {
        self.blocks as u32
    }

    fn go_idle(&mut self) -> Answer {
        self.spi_mode = true;
        self.idle = true;
        self.knows_host = false;
        self.starting = None;
        self.checks_crc = false;
        self.block_length = BLOCK;
        self.status = 0;
        self.erase = [None; 2];
        self.transfer = Transfer::None;
        // A reset aborts programming; the block keeps its old content.
        self.programming = None;
        self.busy_until = 0;
        self.direction = Direction::Neither;
        Answer::R1(0)
    }

    /// CMD1, ACMD41 (4.2.3).
    fn start(&mut self, now: Ps, argument: u32) -> Answer {
        let since = *self.starting.get_or_insert(now);
        // A high-capacity card starts only for a host that declares support for it.
        let fits = self.kind.capacity == Capacity::Standard || (self.knows_host && argument & HCS != 0);
        if fits && now >= since + self.kind.start {
            self.idle = false;
        }
        Answer::R1(0)
    }

    /// CMD8 (4.3.13).
    fn voltage(&mut self, argument: u32) -> Answer {
        let supplied = argument >> 8 & 0xf;
        self.knows_host = supplied == 1;
        let accepted = if supplied == 1 { 1 } else { 0 };
        Answer::More(0, vec![0, 0, accepted, argument as u8])
    }

    fn stop(&mut self, now: Ps) -> Answer {
        match &self.transfer {
            Transfer::Out(out) if out.many => self.transfer = Transfer::None,
            Transfer::In(taking) if taking.many => self.stop_writing(now),
            _ => return Answer::R1(r1::ILLEGAL),
        }
        Answer::R1(0)
    }

    /// CMD16: without effect on SDHC (7.2.3).
    fn set_block_length(&mut self, argument: u32) -> Answer {
        match argument as usize {
            length @ 1..=BLOCK => {
                if !self.addresses_blocks() {
                    self.block_length = length;
                }
                Answer::R1(0)
            }
            _ => Answer::R1(r1::PARAMETER),
        }
    }

    /// Converts a data command's argument to bytes. An error is R1's.
    fn address(&self, argument: u32, length: usize) -> Result<u64, u8> {
        let at = if self.addresses_blocks() { u64::from(argument) * BLOCK as u64 } else { u64::from(argument) };
        if at >= self.blocks * BLOCK as u64 {
            return Err(r1::PARAMETER);
        }
        if at % BLOCK as u64 + length as u64 > BLOCK as u64 {
            return Err(r1::ADDRESS);
        }
        Ok(at)
    }

    fn begin_reading(&mut self, now: Ps, argument: u32, many: bool) -> Answer {
        self.transfer = Transfer::None;
        self.direction = Direction::Read;
        match self.address(argument, self.block_length) {
            Ok(at) => {
                self.send(now, Some(at), many, &[]);
                Answer::R1(0)
            }
            Err(error) => Answer::R1(error),
        }
    }

    fn begin_writing(&mut self, argument: u32, many: bool) -> Answer {
        self.transfer = Transfer::None;
        self.direction = Direction::Write;
        // Parts of blocks cannot be written (WRITE_BL_PARTIAL = 0).
        if self.block_length != BLOCK {
            return Answer::R1(r1::PARAMETER);
        }
        match self.address(argument, BLOCK) {
            Ok(at) => {
                self.well_written = 0;
                self.transfer = Transfer::In(In::new(at, many));
                Answer::R1(0)
            }
            Err(error) => Answer::R1(error),
        }
    }

    fn erase_from_to(&mut self, end: usize, argument: u32) -> Answer {
        match self.address(argument, 1) {
            Ok(at) => {
                self.erase[end] = Some(at / BLOCK as u64);
                Answer::R1(0)
            }
            Err(error) => Answer::R1(error),
        }
    }

    fn erase(&mut self, now: Ps) -> Answer {
        let [Some(first), Some(last)] = std::mem::take(&mut self.erase) else {
            return Answer::R1(r1::ERASE_SEQUENCE);
        };
        if first > last {
            self.status |= status::ERASE_PARAMETER;
            return Answer::R1(r1::PARAMETER);
        }
        if self.wear.write_protected {
            self.status |= status::WRITE_PROTECTED;
        } else {
            self.medium.erase(first, last);
        }
        self.be_busy(now, ERASE);
        Answer::R1(0)
    }
}
