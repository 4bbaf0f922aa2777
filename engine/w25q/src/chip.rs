//! The chip's selection, instructions, status and times.

use sim::{PS_PER_MS, PS_PER_US, Ps, Snapshot};

use crate::Array;
use crate::instructions::{Data, Plan, plan, plan_of};
use crate::sfdp;

/// Typical times of the datasheet's AC characteristics.
const WRITE_STATUS_PS: Ps = 10 * PS_PER_MS; // tW
const PAGE_PROGRAM_PS: Ps = 400 * PS_PER_US; // tPP
const SECTOR_ERASE_PS: Ps = 45 * PS_PER_MS; // tSE, 4 KiB
const BLOCK32_ERASE_PS: Ps = 120 * PS_PER_MS; // tBE1
const BLOCK64_ERASE_PS: Ps = 150 * PS_PER_MS; // tBE2
const CHIP_ERASE_PS: Ps = 5_000 * PS_PER_MS; // tCE of the 2 MiB part
const RELEASE_POWER_DOWN_PS: Ps = 3 * PS_PER_US; // tRES1
const RESET_PS: Ps = 30 * PS_PER_US; // tRST

const MANUFACTURER: u8 = 0xef;
const MEMORY_TYPE: u8 = 0x40;
const PAGE: usize = 256;

mod sr1 {
    pub(crate) const BUSY: u8 = 0x01;
    pub(crate) const WEL: u8 = 0x02;
    pub(crate) const WRITABLE: u8 = 0xfc;
}
mod sr2 {
    pub(crate) const QE: u8 = 0x02;
    pub(crate) const CMP: u8 = 0x40;
    /// LB3..LB1: one-time programmable locks of the security registers.
    pub(crate) const LB: u8 = 0x38;
    /// CMP and SRL. QE is fixed at 1 on parts ordered as IQ.
    pub(crate) const WRITABLE: u8 = 0x41;
}
mod sr3 {
    /// Drive strength 25 %, the factory setting.
    pub(crate) const FACTORY: u8 = 0x60;
    pub(crate) const WPS: u8 = 0x04;
    pub(crate) const WRITABLE: u8 = 0xe4;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
enum Phase {
    Command,
    Address,
    Mode,
    Dummy,
    Data,
    Ignore,
}

/// The chip with its instruction decoder and status registers.
#[derive(Debug, Snapshot)]
pub struct W25q {
    /// Serial number that instruction 4Bh returns.
    pub unique_id: [u8; 8],
    selected: bool,
    phase: Phase,
    /// Bits (or dummy clocks) left in the phase.
    left: u32,
    shift: u32,
    opcode: u8,
    plan: Plan,
    address: u32,
    /// Complete data bytes in this transfer.
    count: usize,
    /// The byte on the output, and how many of its bits are left.
    out: u8,
    page: [u8; PAGE],
    /// First data bytes of a register write.
    head: [u8; 2],
    /// A clock arrived after an instruction that must end with chip select.
    overrun: bool,
    /// Instruction that the next selection continues without an opcode.
    continuous: Option<u8>,
    status: [u8; 3],
    volatile_write: bool,
    reset_enabled: bool,
    powered_down: bool,
    /// Set Burst with Wrap: length in bytes, 0 for none.
    wrap: u32,
    security: [[u8; PAGE]; 3],
    busy_until: Ps,
    /// Time until which no instruction is accepted (release from power-down, reset).
    deaf_until: Ps,
    unmodelled: Option<u8>,
}

impl Default for W25q {
    fn default() -> Self {
        Self {
            unique_id: [0xe6, 0x60, 0x58, 0x38, 0x83, 0x3a, 0x55, 0x2c],
            selected: false,
            phase: Phase::Ignore,
            left: 0,
            shift: 0,
            opcode: 0,
            plan: plan(0, 0, Data::None, 1),
            address: 0,
            count: 0,
            out: 0xff,
            page: [0xff; PAGE],
            head: [0; 2],
            overrun: false,
            continuous: None,
            status: [0, sr2::QE, sr3::FACTORY],
            volatile_write: false,
            reset_enabled: false,
            powered_down: false,
            wrap: 0,
            security: [[0xff; PAGE]; 3],
            busy_until: 0,
            deaf_until: 0,
            unmodelled: None,
        }
    }
}

impl W25q {
    /// Clears the volatile state; the non-volatile registers and the cells stay.
    fn restart(&mut self) {
        *self = Self {
            unique_id: self.unique_id,
            status: [self.status[0] & sr1::WRITABLE, self.status[1], self.status[2]],
            security: self.security,
            ..Self::default()
        };
    }

    /// Returns whether an erase or a program is in progress (BUSY of status register 1).
    pub fn busy(&self, now: Ps) -> bool {
        now < self.busy_until
    }

    /// Returns when the running program, erase or status write ends.
    pub fn busy_until(&self) -> Ps {
        self.busy_until
    }

    /// Returns whether the next selection is a read that needs no opcode.
    pub fn continuous(&self) -> bool {
        self.continuous.is_some()
    }

    /// Takes an opcode that the chip has but the model does not.
    pub fn take_unmodelled(&mut self) -> Option<u8> {
        self.unmodelled.take()
    }

    /// Handles an edge of chip select.
    pub fn select(&mut self, cells: &mut impl Array, now: Ps, low: bool) {
        if low == self.selected {
            return;
        }
        self.selected = low;
        if low {
            self.overrun = false;
            self.count = 0;
            self.shift = 0;
            match self.continuous {
                Some(opcode) => {
                    self.opcode = opcode;
                    self.plan = plan_of(opcode).unwrap_or(self.plan);
                    self.begin(Phase::Address, 24);
                }
                None => self.begin(Phase::Command, 8),
            }
        } else {
            self.finish(cells, now);
            self.phase = Phase::Ignore;
        }
    }

    fn begin(&mut self, phase: Phase, left: u32) {
        self.phase = phase;
        self.left = left;
        self.shift = 0;
    }

    /// Handles one clock. `io` holds the levels that the controller and the pull-ups put on IO0..IO3; the result adds
    /// the chip's own outputs.
    pub fn clock(&mut self, cells: &impl Array, now: Ps, io: u8) -> u8 {
        if !self.selected {
            return io;
        }
        match self.phase {
            Phase::Ignore => io,
            Phase::Command => {
                if self.take_bits(io, 1) {
                    self.decode(now, self.shift as u8);
                }
                io
            }
            Phase::Address => {
                if self.take_bits(io, self.plan.address_lines) {
                    self.address = self.shift & 0x00ff_ffff;
                    if self.plan.mode { self.begin(Phase::Mode, 8) } else { self.after_mode() }
                }
                io
            }
            Phase::Mode => {
                if self.take_bits(io, self.plan.address_lines) {
                    // M5-4 = (1,0) keeps the chip in continuous read mode.
                    self.continuous = (self.shift & 0x30 == 0x20).then_some(self.opcode);
                    self.after_mode();
                }
                io
            }
            Phase::Dummy => {
                self.left -= 1;
                if self.left == 0 {
                    self.begin(Phase::Data, 8);
                }
                io
            }
            Phase::Data => match self.plan.data {
                Data::None => {
                    self.overrun = true;
                    io
                }
                Data::Input => {
                    if self.take_bits(io, self.plan.data_lines) {
                        self.store(self.shift as u8);
                        self.begin(Phase::Data, 8);
                    }
                    io
                }
                Data::Output => self.output(cells, now, io),
            },
        }
    }

    /// Samples `lines` lines; returns true when the phase's bits are complete.
    fn take_bits(&mut self, io: u8, lines: u8) -> bool {
        let lines = u32::from(lines.max(1));
        self.shift = (self.shift << lines) | (u32::from(io) & ((1 << lines) - 1));
        self.left = self.left.saturating_sub(lines);
        self.left == 0
    }

    fn after_mode(&mut self) {
        if self.plan.dummy_clocks == 0 {
            self.begin(Phase::Data, 8);
        } else {
            self.begin(Phase::Dummy, self.plan.dummy_clocks);
        }
    }

    fn decode(&mut self, now: Ps, opcode: u8) {
        self.opcode = opcode;
        let read_status = matches!(opcode, 0x05 | 0x15 | 0x35);
        let accepted = now >= self.deaf_until
            && (!self.powered_down || opcode == 0xab)
            && (!self.busy(now) || read_status || matches!(opcode, 0x66 | 0x99));
        let quad = matches!(opcode, 0x32 | 0x6b | 0x77 | 0xeb);
        if self.reset_enabled && opcode != 0x99 && accepted {
            self.reset_enabled = false;
        }
        match plan_of(opcode) {
            Some(plan) if accepted && (!quad || self.status[1] & sr2::QE != 0) => {
                self.plan = plan;
                if matches!(opcode, 0x02 | 0x32 | 0x42) {
                    self.page.fill(0xff);
                }
                if plan.address_lines != 0 {
                    self.begin(Phase::Address, 24);
                } else {
                    self.after_mode();
                }
            }
            _ => {
                if accepted && matches!(opcode, 0x36 | 0x39 | 0x3d | 0x75 | 0x7a | 0x7e | 0x92 | 0x94 | 0x98) {
                    self.unmodelled = Some(opcode);
                }
                self.phase = Phase::Ignore;
            }
        }
    }

    fn store(&mut self, byte: u8) {
        match self.opcode {
            0x02 | 0x32 | 0x42 => self.page[(self.address as usize + self.count) % PAGE] = byte,
            _ => {
                if let Some(slot) = self.head.get_mut(self.count) {
                    *slot = byte;
                }
            }
        }
        self.count = self.count.saturating_add(1);
    }

    fn output(&mut self, cells: &impl Array, now: Ps, io: u8) -> u8 {
        if self.left == 8 {
            self.out = self.output_byte(cells, now);
            self.count = self.count.wrapping_add(1);
        }
        let lines = u32::from(self.plan.data_lines);
        self.left -= lines;
        let bits = (self.out >> self.left) & ((1 << lines) - 1);
        if self.left == 0 {
            self.left = 8;
        }
        match lines {
            // A single output is IO1.
            1 => (io & !2) | (bits << 1),
            _ => (io & !((1 << lines) - 1)) | bits,
        }
    }

    fn output_byte(&mut self, cells: &impl Array, now: Ps) -> u8 {
        let log2_size = cells.size().trailing_zeros() as u8;
        match self.opcode {
            0x05 => self.status[0] | if self.busy(now) { sr1::BUSY } else { 0 },
            0x35 => self.status[1],
            0x15 => self.status[2],
            0x9f => [MANUFACTURER, MEMORY_TYPE, log2_size][self.count % 3],
            // Device ID is one below the JEDEC capacity code (W25Q16JV: 14h and 15h).
            0xab => log2_size - 1,
            0x90 => [MANUFACTURER, log2_size - 1][(self.count + self.address as usize) % 2],
            0x4b => self.unique_id[self.count % 8],
            0x5a => self.next_address(|at| sfdp::byte(at & 0xff, cells.size())),
            0x48 => {
                let security = self.security;
                self.next_address(|at| match (at >> 12) & 0xf {
                    register @ 1..=3 => security[register as usize - 1][at as usize % PAGE],
                    _ => 0xff,
                })
            }
            0xeb if self.wrap != 0 => {
                let byte = cells.byte(self.address as usize);
                self.address = (self.address & !(self.wrap - 1)) | (self.address.wrapping_add(1) & (self.wrap - 1));
                byte
            }
            _ => self.next_address(|at| cells.byte(at as usize)),
        }
    }

    fn next_address(&mut self, byte_at: impl Fn(u32) -> u8) -> u8 {
        let byte = byte_at(self.address);
        self.address = self.address.wrapping_add(1) & 0x00ff_ffff;
        byte
    }

    /// Handles the rising edge of chip select: write instructions are executed now, if they ended on a byte boundary.
    fn finish(&mut self, cells: &mut impl Array, now: Ps) {
        if self.opcode == 0xab && matches!(self.phase, Phase::Dummy | Phase::Data) && self.powered_down {
            self.powered_down = false;
            self.deaf_until = now + RELEASE_POWER_DOWN_PS;
            return;
        }
        if self.phase != Phase::Data || self.overrun {
            return;
        }
        let whole = self.left == 8;
        match (self.plan.data, self.opcode) {
            (Data::None, opcode) => self.execute(cells, now, opcode),
            (Data::Input, 0x01 | 0x11 | 0x31) if whole && self.count != 0 => self.write_status(now),
            (Data::Input, 0x02 | 0x32) if whole && self.count != 0 => {
                let base = self.address as usize & !(PAGE - 1);
                if self.may_write(cells, base, PAGE) {
                    cells.program(base, &self.page);
                    self.start(now, PAGE_PROGRAM_PS);
                }
            }
            (Data::Input, 0x42) if whole && self.count != 0 => {
                if let Some(register) = self.security_register() {
                    for (cell, data) in self.security[register].iter_mut().zip(self.page) {
                        *cell &= data;
                    }
                    self.start(now, PAGE_PROGRAM_PS);
                }
            }
            (Data::Input, 0x77) if self.count != 0 => {
                let bits = self.head[0];
                self.wrap = if bits & 0x10 != 0 { 0 } else { 8 << ((bits >> 5) & 3) };
            }
            _ => {}
        }
    }

    /// Executes an instruction without data.
    fn execute(&mut self, cells: &mut impl Array, now: Ps, opcode: u8) {
        match opcode {
            0x06 => self.status[0] |= sr1::WEL,
            0x04 => self.status[0] &= !sr1::WEL,
            0x50 => self.volatile_write = true,
            0xb9 => self.powered_down = true,
            0x66 => self.reset_enabled = true,
            0x99 if self.reset_enabled => {
                self.restart();
                self.deaf_until = now + RESET_PS;
            }
            0x20 => self.erase(cells, now, 4 << 10, SECTOR_ERASE_PS),
            0x52 => self.erase(cells, now, 32 << 10, BLOCK32_ERASE_PS),
            0xd8 => self.erase(cells, now, 64 << 10, BLOCK64_ERASE_PS),
            0x60 | 0xc7 => {
                self.address = 0;
                self.erase(cells, now, cells.size(), CHIP_ERASE_PS);
            }
            0x44 => {
                if let Some(register) = self.security_register() {
                    self.security[register].fill(0xff);
                    self.start(now, SECTOR_ERASE_PS);
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, now: Ps, duration: Ps) {
        self.busy_until = now + duration;
        self.status[0] &= !sr1::WEL;
    }

    fn erase(&mut self, cells: &mut impl Array, now: Ps, len: usize, duration: Ps) {
        let base = self.address as usize & !(len - 1) & (cells.size() - 1);
        if self.may_write(cells, base, len) {
            cells.erase(base, len);
            self.start(now, duration);
        }
    }

    fn write_status(&mut self, now: Ps) {
        if self.status[0] & sr1::WEL == 0 && !self.volatile_write {
            return;
        }
        let first = match self.opcode {
            0x01 => 0,
            0x31 => 1,
            _ => 2,
        };
        // 01h with two bytes writes registers 1 and 2.
        for (i, &value) in self.head.iter().enumerate().take(if first == 0 { self.count.min(2) } else { 1 }) {
            let register = first + i;
            let mask = [sr1::WRITABLE, sr2::WRITABLE, sr3::WRITABLE][register];
            let locks = if register == 1 { value & sr2::LB } else { 0 };
            if register == 2 && value & sr3::WPS != 0 {
                self.unmodelled = Some(self.opcode);
            }
            self.status[register] = (self.status[register] & !mask) | (value & mask) | locks;
        }
        if !std::mem::take(&mut self.volatile_write) {
            self.start(now, WRITE_STATUS_PS);
        }
    }

    /// Returns the index of the security register that `address` selects, if writing is enabled and it is not locked.
    fn security_register(&self) -> Option<usize> {
        let register = ((self.address >> 12) & 0xf) as usize;
        let free = (1..=3).contains(&register) && self.status[1] & (0x04 << register) == 0;
        (free && self.status[0] & sr1::WEL != 0).then(|| register - 1)
    }

    /// Returns whether WEL is set and BP2..BP0, TB, SEC and CMP protect none of `len` bytes at `base`.
    fn may_write(&self, cells: &impl Array, base: usize, len: usize) -> bool {
        if self.status[0] & sr1::WEL == 0 {
            return false;
        }
        let size = cells.size();
        let level = (self.status[0] >> 2) & 7;
        let (bottom, sector) = (self.status[0] & 0x20 != 0, self.status[0] & 0x40 != 0);
        let covered = match (level, sector) {
            (0, _) => 0,
            (6 | 7, _) => size,
            (_, true) => (4usize << 10) << (level - 1).min(3),
            (_, false) => ((64usize << 10) << (level - 1)).min(size),
        };
        // The protected part is [start, end), or its complement.
        let (start, end) = if bottom { (0, covered) } else { (size - covered, size) };
        if self.status[1] & sr2::CMP == 0 {
            base + len <= start || base >= end
        } else {
            covered == size || (base >= start && base + len <= end)
        }
    }
}

#[cfg(test)]
mod tests;
