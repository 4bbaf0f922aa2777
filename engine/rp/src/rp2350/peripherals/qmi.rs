//! QMI, the interface to the QSPI memories (datasheet 12.14).
//!
//! Direct mode takes simulated time, but is performed lazily: when a register is read or written, or when an override
//! forces chip select. Uncached accesses, and all to the second chip select, are clocked into the memory bit by bit;
//! misses of the cache in flash are not, and have their cost from the registers (`Qmi::refresh_xip`). Without a memory at
//! the second chip select the lines are pulled up.
//!
//! A miss of the line after the one filled last continues that transfer, if COOLDOWN is not 0: in flash however long ago
//! it was, in the second window within COOLDOWN, PAGEBREAK and MAX_SELECT. Double transfer rate is not modelled.

use super::{Write, unmodelled};
use crate::rp2350::memory::Memory;
use crate::rp2350::wires::{dreq, event};
use aps6404l::Aps6404l;
use chip::Sys;
use cpu::Architecture;
use sim::{NEVER, Snapshot};
use std::collections::VecDeque;
use w25q::W25q;

const FIFO_DEPTH: usize = 4;
/// Bits of a cache line.
const LINE_BITS: u32 = 64;
/// Bytes of a page, the unit of address translation.
const PAGE: u32 = 1 << 12;
/// Bytes of the XIP space that a register translates.
const PANE: u32 = 1 << 22;
/// GPIO function of the second chip select.
const CS1N_FUNCTION: usize = 9;

mod reg {
    pub(super) const DIRECT_CSR: u32 = 0x00;
    pub(super) const DIRECT_TX: u32 = 0x04;
    pub(super) const DIRECT_RX: u32 = 0x08;
    pub(super) const M0_TIMING: u32 = 0x0c;
    pub(super) const M1_WCMD: u32 = 0x30;
    pub(super) const ATRANS0: u32 = 0x34;
    pub(super) const ATRANS7: u32 = 0x50;
}
mod csr {
    pub(super) const EN: u32 = 1 << 0;
    pub(super) const BUSY: u32 = 1 << 1;
    pub(super) const ASSERT_CS0N: u32 = 1 << 2;
    pub(super) const ASSERT_CS1N: u32 = 1 << 3;
    pub(super) const AUTO_CS0N: u32 = 1 << 6;
    pub(super) const AUTO_CS1N: u32 = 1 << 7;
    pub(super) const TXFULL: u32 = 1 << 10;
    pub(super) const TXEMPTY: u32 = 1 << 11;
    pub(super) const RXEMPTY: u32 = 1 << 16;
    pub(super) const RXFULL: u32 = 1 << 17;
    /// RXDELAY, CLKDIV, AUTO, ASSERT and EN.
    pub(super) const WRITABLE: u32 = 0xffc0_00cd;
    pub(super) const RESET: u32 = 0x0180_0000;
}
mod tx {
    pub(super) const NOPUSH: u32 = 1 << 20;
    pub(super) const OE: u32 = 1 << 19;
    pub(super) const DWIDTH: u32 = 1 << 18;
}
/// Registers of a memory window, by index: TIMING, RFMT, RCMD, WFMT, WCMD.
mod window {
    pub(super) const RFMT: usize = 1;
    pub(super) const WFMT: usize = 3;
    pub(super) const COUNT: usize = 5;
    pub(super) const MASKS: [u32; COUNT] = [0xf3ff_f7ff, 0x1007_d3ff, 0xffff, 0x1007_d3ff, 0xffff];
    pub(super) const RESET: [u32; COUNT] = [0x4000_0004, 0x1000, 0xa003, 0x1000, 0xa002];
}
const DTR: u32 = 1 << 28;
const ATRANS_MASK: u32 = 0x07ff_0fff;

/// Returns the reset value of an ATRANS register: no translation.
fn untranslated(index: usize) -> u32 {
    0x0400_0000 | (index as u32 & 3) << 10
}

/// A memory at the second chip select.
#[derive(Debug, Snapshot)]
struct Second {
    chip: Aps6404l,
    /// The GPIO that selects it.
    csn: u32,
}

/// The last transfer of the second window.
#[derive(Clone, Copy, Debug, Snapshot)]
struct Transfer {
    writes: bool,
    /// Address after it.
    next: u32,
    /// Cycles in which chip select fell, and in which it ended.
    start: u64,
    end: u64,
}

#[derive(Debug, Snapshot)]
pub struct Qmi {
    pub flash: W25q,
    second: Option<Second>,
    last: Option<Transfer>,
    csr: u32,
    windows: [[u32; window::COUNT]; 2],
    atrans: [u32; 8],
    tx: VecDeque<u32>,
    rx: VecDeque<u32>,
    /// Record in the shift register, and the cycle of clk_sys at which it ends.
    frame: Option<(u32, u64)>,
    ss_override: Option<bool>,
}

impl Default for Qmi {
    fn default() -> Self {
        Self {
            flash: W25q::default(),
            second: None,
            last: None,
            csr: csr::RESET,
            windows: [window::RESET; 2],
            atrans: std::array::from_fn(untranslated),
            tx: VecDeque::with_capacity(FIFO_DEPTH),
            rx: VecDeque::with_capacity(FIFO_DEPTH),
            frame: None,
            ss_override: None,
        }
    }
}

/// A phase of a transfer: bits, and lines that carry them.
#[derive(Clone, Copy, Debug)]
struct Phase {
    bits: u32,
    lanes: u32,
}

impl Phase {
    fn scks(self) -> u32 {
        self.bits.div_ceil(self.lanes)
    }
}

/// Returns the lines of a two-bit width.
fn lanes(width: u32) -> u32 {
    1 << (width & 3).min(2)
}

/// A transfer's format: prefix, address, suffix, dummy and the width of the data.
#[derive(Clone, Copy, Debug)]
struct Format {
    phases: [Phase; 4],
    data_lanes: u32,
}

impl Format {
    fn of(rfmt: u32) -> Self {
        let phase = |bits: u32, width: u32| Phase { bits, lanes: lanes(rfmt >> width) };
        let prefix = if rfmt >> 12 & 1 != 0 { 8 } else { 0 };
        // 0: none, 2: 8 bits.
        let suffix = (rfmt >> 14 & 3) * 4;
        let dummy = (rfmt >> 16 & 7) * 4;
        let phases = [phase(prefix, 0), phase(24, 2), phase(suffix, 4), phase(dummy, 6)];
        Self { phases, data_lanes: lanes(rfmt >> 8) }
    }

    fn head_scks(self) -> u32 {
        self.phases.iter().map(|phase| phase.scks()).sum()
    }
}

/// Returns a divider of which 0 means 256.
fn divider(field: u32) -> u32 {
    match field & 0xff {
        0 => 256,
        n => n,
    }
}

fn cycle(sys: &Sys) -> u64 {
    sys.now_cycle()
}

impl Qmi {
    pub fn read(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>, offset: u32) -> u32 {
        self.catch_up(sys, mem);
        match offset {
            reg::DIRECT_CSR => self.status(),
            reg::DIRECT_RX => {
                let word = self.rx.pop_front().unwrap_or(0);
                self.start_next(sys, mem, cycle(sys));
                self.refresh_lines(sys);
                word
            }
            reg::M0_TIMING..=reg::M1_WCMD => {
                let index = ((offset - reg::M0_TIMING) / 4) as usize;
                self.windows[index / window::COUNT][index % window::COUNT]
            }
            reg::ATRANS0..=reg::ATRANS7 => self.atrans[((offset - reg::ATRANS0) / 4) as usize],
            _ => 0,
        }
    }

    pub fn write(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>, offset: u32, write: Write) {
        self.catch_up(sys, mem);
        match offset {
            reg::DIRECT_CSR => {
                self.csr = write.apply_masked(self.csr, csr::WRITABLE);
                if self.csr & csr::EN != 0 {
                    mem.xip.deselect();
                } else {
                    self.tx.clear();
                    self.rx.clear();
                    self.frame = None;
                }
            }
            reg::DIRECT_TX if self.tx.len() < FIFO_DEPTH => self.tx.push_back(write.bits),
            reg::M0_TIMING..=reg::M1_WCMD => {
                let index = ((offset - reg::M0_TIMING) / 4) as usize;
                let (number, which) = (index / window::COUNT, index % window::COUNT);
                let register = &mut self.windows[number][which];
                *register = write.apply_masked(*register, window::MASKS[which]);
                if matches!(which, window::RFMT | window::WFMT) && *register & DTR != 0 {
                    unmodelled(sys, "QMI: double transfer rate", offset, Some(*register));
                }
                mem.xip.deselect();
                (self.last, mem.xip.next_miss_cycles) = (None, None);
            }
            reg::ATRANS0..=reg::ATRANS7 => {
                let index = ((offset - reg::ATRANS0) / 4) as usize;
                let old = self.atrans;
                self.atrans[index] = write.apply_masked(old[index], ATRANS_MASK);
                if index < 4 && self.atrans != old {
                    // The cores fetch their next instruction from the new place.
                    sys.attention |= self.show_flash(mem);
                }
            }
            _ => {}
        }
        self.start_next(sys, mem, cycle(sys));
        self.drive_select(sys, mem, cycle(sys));
        self.refresh_xip(sys, mem);
        self.refresh_lines(sys);
    }

    /// Handles `event::QMI`: the flash became ready, or a record ended that DMA waits for.
    pub fn event(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>) {
        self.catch_up(sys, mem);
        self.refresh_xip(sys, mem);
        self.refresh_lines(sys);
    }

    /// Handles a change of the flash's chip select by IO_QSPI's override of the SS pin (`None`: QMI drives it).
    pub fn set_ss_override(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>, level: Option<bool>) {
        self.catch_up(sys, mem);
        self.ss_override = level;
        self.drive_select(sys, mem, cycle(sys));
        self.refresh_xip(sys, mem);
        self.refresh_lines(sys);
    }

    /// Resets the registers, but not the memories, which have no reset pins.
    pub fn reset(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>) {
        self.catch_up(sys, mem);
        let old = std::mem::take(self);
        *self = Self { flash: old.flash, second: old.second, ss_override: old.ss_override, ..Self::default() };
        if old.atrans != self.atrans {
            self.show_flash(mem);
        }
        mem.xip.deselect();
        self.drive_select(sys, mem, cycle(sys));
        self.refresh_xip(sys, mem);
        sys.cancel(event::QMI);
        self.refresh_lines(sys);
    }

    // Direct mode

    /// Performs the transfers up to now.
    fn catch_up(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>) {
        let now = cycle(sys);
        let mut finished = false;
        while let Some((record, end)) = self.frame
            && end <= now
        {
            self.frame = None;
            self.finish(sys, mem, record, end);
            self.start_next(sys, mem, end);
            finished = true;
        }
        if finished {
            self.refresh_xip(sys, mem);
        }
        if let Some(opcode) = self.flash.take_unmodelled() {
            sys.unmodelled(format!("flash chip instruction 0x{opcode:02x}"));
        }
    }

    /// Starts the next record at cycle `at` if the shift register is free, there is one, and its data have room.
    fn start_next(&mut self, sys: &Sys, mem: &mut Memory<impl Architecture>, at: u64) {
        if self.frame.is_some() || self.csr & csr::EN == 0 || self.rx.len() == FIFO_DEPTH {
            return;
        }
        if let Some(record) = self.tx.pop_front() {
            let scks = record_bits(record) / lanes(record >> 16);
            self.frame = Some((record, at + u64::from(scks * divider(self.csr >> 22))));
        }
        self.drive_select(sys, mem, at);
    }

    fn finish(&mut self, sys: &Sys, mem: &Memory<impl Architecture>, record: u32, end: u64) {
        let now = sys.clock.ps_at(end);
        let width = lanes(record >> 16);
        let bytes = record_bits(record) / 8;
        // Without OE, or on the line that carries data in, the pads are pulled up.
        let drives = width == 1 || record & tx::OE != 0;
        let mut read = 0;
        for byte in 0..bytes {
            let data = if drives { record >> (8 * byte) & 0xff } else { 0xff };
            read |= u32::from(self.shift(mem, now, width, data as u8)) << (8 * byte);
        }
        if record & tx::NOPUSH == 0 {
            self.rx.push_back(read);
        }
    }

    /// Shifts a byte out and in, most significant bit first.
    fn shift(&mut self, mem: &Memory<impl Architecture>, now: u64, lanes: u32, data: u8) -> u8 {
        let mask = (1u8 << lanes) - 1;
        let mut read = 0u32;
        for step in (0..8 / lanes).rev() {
            let out = (data >> (step * lanes) & mask) | (0xf & !mask);
            let io = self.shift_clock(mem, now, out);
            read = read << lanes | u32::from(if lanes == 1 { io >> 1 & 1 } else { io & mask });
        }
        read as u8
    }

    /// Gives the memories one clock.
    fn shift_clock(&mut self, mem: &Memory<impl Architecture>, now: sim::Ps, out: u8) -> u8 {
        let io = self.flash.clock(mem, now, out);
        self.second.as_mut().map_or(io, |second| second.chip.clock(io))
    }

    /// Returns what the register at `offset` reads, and the cycle up to which it does, unless a write or an event comes
    /// before. `None`: it is not the status.
    pub(crate) fn polled(&self, offset: u32) -> Option<(u32, u64)> {
        (offset == reg::DIRECT_CSR).then(|| (self.status(), self.frame.map_or(u64::MAX, |(_, end)| end)))
    }

    fn busy(&self) -> bool {
        self.frame.is_some() || !self.tx.is_empty()
    }

    fn status(&self) -> u32 {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        self.csr
            | flag(self.busy(), csr::BUSY)
            | flag(self.tx.len() == FIFO_DEPTH, csr::TXFULL)
            | flag(self.tx.is_empty(), csr::TXEMPTY)
            | (self.tx.len() as u32) << 12
            | flag(self.rx.is_empty(), csr::RXEMPTY)
            | flag(self.rx.len() == FIFO_DEPTH, csr::RXFULL)
            | (self.rx.len() as u32) << 18
    }

    fn drive_select(&mut self, sys: &Sys, mem: &mut Memory<impl Architecture>, at: u64) {
        let by_qmi = self.csr & csr::ASSERT_CS0N != 0 || self.csr & csr::AUTO_CS0N != 0 && self.busy();
        let high = self.ss_override.unwrap_or(!by_qmi);
        self.flash.select(mem, sys.clock.ps_at(at), !high);
        let second = self.csr & csr::ASSERT_CS1N != 0 || self.csr & csr::AUTO_CS1N != 0 && self.busy();
        self.select_second(sys, second);
    }

    /// Drives CS1N, which reaches the memory if that function is selected for its pin.
    fn select_second(&mut self, sys: &Sys, low: bool) {
        if let Some(second) = &mut self.second {
            second.chip.select(low && sys.pins.is_selected(second.csn, CS1N_FUNCTION));
        }
    }

    fn refresh_lines(&mut self, sys: &mut Sys) {
        let enabled = self.csr & csr::EN != 0;
        sys.set_dreq(dreq::XIP_QMITX, enabled && self.tx.len() < FIFO_DEPTH);
        sys.set_dreq(dreq::XIP_QMIRX, enabled && !self.rx.is_empty());
        let watched = sys.watched_dreqs() & (1 << dreq::XIP_QMITX | 1 << dreq::XIP_QMIRX) != 0;
        let frame_end = match self.frame {
            Some((_, end)) if watched => sys.clock.ps_at(end),
            _ => NEVER,
        };
        let ready = if self.flash.busy(sys.now()) { self.flash.busy_until() } else { NEVER };
        let due = frame_end.min(ready);
        if sys.due(event::QMI) != due {
            sys.schedule(event::QMI, due);
        }
    }

    // Memory windows

    /// Returns whether direct mode keeps the windows from the flash.
    pub fn is_direct(&self) -> bool {
        self.csr & csr::EN != 0
    }

    /// Connects the APS6404L whose chip select is GPIO `csn`.
    pub fn connect_psram(&mut self, csn: u32) {
        self.second = Some(Second { chip: Aps6404l::default(), csn });
    }

    /// Returns the address in its memory of an offset in the XIP space. `None`: nothing is mapped there.
    pub fn physical(&self, offset: u32) -> Option<u32> {
        let register = self.atrans[((offset / PANE) & 7) as usize];
        let within = offset % PANE;
        (within / PAGE < register >> 16).then_some(((register & 0xfff) * PAGE + within) & 0x00ff_ffff)
    }

    fn show_flash(&self, mem: &mut Memory<impl Architecture>) -> bool {
        let pane = |register: u32| ((register & 0xfff) * PAGE, (register >> 16).min(PANE / PAGE) * PAGE);
        mem.show_flash(std::array::from_fn(|index| pane(self.atrans[index])))
    }

    /// Reads at a physical address without the cache, up to a line's bytes; returns the cycles that it takes.
    pub fn read_memory(
        &mut self,
        sys: &mut Sys,
        mem: &mut Memory<impl Architecture>,
        second: bool,
        address: u32,
        data: &mut [u8],
    ) -> u32 {
        let [timing, rfmt, rcmd, ..] = self.windows[usize::from(second)];
        let format = Format::of(rfmt);
        let now = self.begin(sys, mem, second, format, rcmd, address);
        for byte in data.iter_mut() {
            *byte = self.shift(mem, now, format.data_lanes, 0xff);
        }
        self.end(sys, mem);
        let data_scks = 8 * data.len() as u32 / format.data_lanes;
        if second {
            self.second_cycles(sys, mem, false, address, data_scks, data.len() as u32)
        } else {
            (format.head_scks() + data_scks) * divider(timing)
        }
    }

    /// Writes at a physical address of the second memory; returns the cycles that it takes.
    pub fn write_memory(
        &mut self,
        sys: &mut Sys,
        mem: &mut Memory<impl Architecture>,
        address: u32,
        data: &[u8],
    ) -> u32 {
        let [_, _, _, wfmt, wcmd] = self.windows[1];
        let format = Format::of(wfmt);
        let now = self.begin(sys, mem, true, format, wcmd, address);
        for &byte in data {
            self.shift(mem, now, format.data_lanes, byte);
        }
        self.end(sys, mem);
        let data_scks = 8 * data.len() as u32 / format.data_lanes;
        self.second_cycles(sys, mem, true, address, data_scks, data.len() as u32)
    }

    /// Clocks a transfer's phases before the data.
    fn begin(
        &mut self,
        sys: &mut Sys,
        mem: &mut Memory<impl Architecture>,
        second: bool,
        format: Format,
        command: u32,
        address: u32,
    ) -> sim::Ps {
        self.catch_up(sys, mem);
        if mem.xip.deselect() || !second {
            self.last = None;
        }
        let now = sys.clock.ps_at(cycle(sys));
        if second {
            self.select_second(sys, true);
        } else if self.ss_override.is_none() && self.csr & csr::ASSERT_CS0N == 0 {
            self.flash.select(mem, now, true);
        }
        let values = [command & 0xff, address, command >> 8, 0];
        for (phase, value) in format.phases.into_iter().zip(values) {
            for byte in (0..phase.bits / 8).rev() {
                self.shift(mem, now, phase.lanes, (value >> (8 * byte)) as u8);
            }
            // Half a byte of dummy bits.
            if phase.bits % 8 != 0 {
                (0..4 / phase.lanes).for_each(|_| _ = self.shift_clock(mem, now, 0xf));
            }
        }
        now
    }

    fn end(&mut self, sys: &Sys, mem: &mut Memory<impl Architecture>) {
        self.drive_select(sys, mem, cycle(sys));
        self.refresh_xip(sys, mem);
    }

    /// Returns the cycles of a transfer of the second window that starts now.
    fn second_cycles(
        &mut self,
        sys: &Sys,
        mem: &mut Memory<impl Architecture>,
        writes: bool,
        address: u32,
        data_scks: u32,
        bytes: u32,
    ) -> u32 {
        let [timing, rfmt, _, wfmt, _] = self.windows[1];
        let format = Format::of(if writes { wfmt } else { rfmt });
        let clkdiv = divider(timing);
        let half = u64::from(clkdiv.div_ceil(2));
        let cooldown = 64 * u64::from(timing >> 30);
        let page_bits = [24, 8, 10, 12][(timing >> 28 & 3) as usize];
        let most = 64 * u64::from(timing >> 17 & 0x3f);
        // Several transfers of one access follow each other.
        let now = self.last.map_or(0, |last| last.end).max(cycle(sys));
        let broken =
            |last: &Transfer| last.next.trailing_zeros() >= page_bits || most != 0 && last.end >= last.start + most;
        let high_at = |last: &Transfer| last.end + half + if broken(last) { 0 } else { cooldown };
        let open = |last: &Transfer| cooldown != 0 && !broken(last) && now < high_at(last);
        let follows = self.last.filter(|last| open(last) && last.writes == writes && last.next == address);
        let wait = match &self.last {
            None => u64::from(self.first_release()),
            Some(_) if follows.is_some() => 0,
            Some(last) if open(last) => u64::from(release(timing)),
            Some(last) => (high_at(last) + half + u64::from(timing >> 12 & 0x1f)).saturating_sub(now),
        };
        let head = if follows.is_some() { 0 } else { format.head_scks() * clkdiv + (timing >> 25 & 1) };
        let cycles = wait as u32 + head + data_scks * clkdiv;
        let (next, end) = (address + bytes, now + u64::from(cycles));
        self.last = Some(Transfer { writes, next, start: follows.map_or(now + wait, |last| last.start), end });
        let released = if cooldown == 0 { 0 } else { release(timing) };
        mem.xip.next_miss_cycles = Some(mem.xip.miss_cycles - self.first_release() + released);
        cycles
    }

    /// Returns the cycles that a transfer of flash waits for the end of the last.
    fn first_release(&self) -> u32 {
        let timing = self.windows[0][0];
        if timing >> 30 == 0 { 0 } else { release(timing) }
    }

    /// Returns whether the first window's format is one that the flash answers in its present mode. A prefix is an
    /// instruction, which a flash in continuous read mode does not take.
    fn reads(&self) -> bool {
        let rfmt = self.windows[0][window::RFMT];
        let prefixed = rfmt >> 12 & 1 != 0;
        !self.is_direct()
            && self.csr & csr::ASSERT_CS0N == 0
            && self.ss_override.is_none()
            && self.flash.continuous() != prefixed
    }

    /// Recomputes the costs of a miss, and whether the flash can answer one.
    fn refresh_xip(&mut self, sys: &Sys, mem: &mut Memory<impl Architecture>) {
        mem.xip.offline = !self.reads() || self.flash.busy(sys.now());
        let [timing, rfmt, ..] = self.windows[0];
        let format = Format::of(rfmt);
        let clkdiv = divider(timing);
        let data = LINE_BITS / format.data_lanes * clkdiv;
        let cooldown = timing >> 30;
        // A transfer that the last one's chip select is still low for must end that first.
        let change = self.first_release();
        let setup = timing >> 25 & 1;
        mem.xip.whole_lines = true;
        mem.xip.sck_cycles = clkdiv;
        mem.xip.miss_cycles = change + setup + format.head_scks() * clkdiv + data;
        mem.xip.uncached_cycles = change + setup + (format.head_scks() + 32 / format.data_lanes) * clkdiv;
        mem.xip.next_line_cycles = (cooldown != 0).then_some(data);
        let [timing, _, _, wfmt, _] = self.windows[1];
        let format = Format::of(wfmt);
        let scks = format.head_scks() + LINE_BITS / format.data_lanes;
        mem.xip.write_back_cycles = release(timing) + (timing >> 25 & 1) + scks * divider(timing);
    }
}

/// Returns the least cycles from the last clock of a transfer to the first of the next, with chip select high between.
fn release(timing: u32) -> u32 {
    let (hold, deselected) = (1 + (timing >> 23 & 3), timing >> 12 & 0x1f);
    hold + divider(timing).div_ceil(2) + deselected
}

fn record_bits(record: u32) -> u32 {
    if record & tx::DWIDTH != 0 { 16 } else { 8 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chip::Alias;

    fn bench() -> (Qmi, Sys, Memory) {
        let mut mem = Memory::new(&[], 2 << 20);
        mem.flash_write(0, &[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
        (Qmi::default(), crate::rp2350::wires::sys(150_000_000), mem)
    }

    #[test]
    fn direct_mode_reads_the_flashs_number_in_its_time() {
        let (mut qmi, mut sys, mut mem) = bench();
        assert_eq!(qmi.read(&mut sys, &mut mem, 0), 0x0181_0800);
        qmi.write(&mut sys, &mut mem, 0, Write { bits: csr::EN | csr::ASSERT_CS0N, alias: Alias::Set });
        qmi.write(&mut sys, &mut mem, 4, Write::normal(0x9f | tx::NOPUSH));
        qmi.write(&mut sys, &mut mem, 4, Write::normal(tx::DWIDTH));
        qmi.write(&mut sys, &mut mem, 4, Write::normal(0));
        // Two records wait while the first is sent; 8 + 16 + 8 clocks of 6 cycles.
        assert_eq!(qmi.read(&mut sys, &mut mem, 0) & 0x7fff, 0x2000 | csr::EN | csr::BUSY | csr::ASSERT_CS0N);
        sys.cycle = 32 * 6 - 1;
        assert_ne!(qmi.read(&mut sys, &mut mem, 0) & csr::BUSY, 0);
        sys.cycle += 1;
        assert_eq!(qmi.read(&mut sys, &mut mem, 0) & (csr::BUSY | 7 << 18), 2 << 18);
        assert_eq!([8, 8, 8].map(|at| qmi.read(&mut sys, &mut mem, at)), [0x40ef, 0x15, 0]);
        assert!(mem.xip.offline, "direct mode keeps the window from the flash");
        qmi.write(&mut sys, &mut mem, 0, Write { bits: csr::EN | csr::ASSERT_CS0N, alias: Alias::Clear });
        assert!(!mem.xip.offline);
    }

    #[test]
    fn a_full_receive_fifo_pauses_the_transfer() {
        let (mut qmi, mut sys, mut mem) = bench();
        qmi.write(&mut sys, &mut mem, 0, Write { bits: csr::EN | csr::AUTO_CS0N, alias: Alias::Set });
        for _ in 0..4 {
            qmi.write(&mut sys, &mut mem, 4, Write::normal(0));
        }
        sys.cycle = 1000;
        qmi.read(&mut sys, &mut mem, 0);
        qmi.write(&mut sys, &mut mem, 4, Write::normal(0));
        sys.cycle = 2000;
        let status = qmi.read(&mut sys, &mut mem, 0);
        assert_eq!(status & (csr::BUSY | csr::RXFULL | 7 << 12), csr::BUSY | csr::RXFULL | 1 << 12);
        qmi.read(&mut sys, &mut mem, reg::DIRECT_RX);
        sys.cycle = 2048;
        assert_eq!(qmi.read(&mut sys, &mut mem, 0) & (csr::BUSY | csr::RXFULL), csr::RXFULL);
    }

    /// Reads a word of flash without the cache; returns it and the cycles that it takes.
    fn read(qmi: &mut Qmi, sys: &mut Sys, mem: &mut Memory, address: u32) -> (u32, u32) {
        let mut data = [0; 4];
        let cycles = qmi.read_memory(sys, mem, false, address, &mut data);
        (u32::from_le_bytes(data), cycles)
    }

    #[test]
    fn an_uncached_read_is_clocked_through_the_flash() {
        let (mut qmi, mut sys, mut mem) = bench();
        // 03h: 8 + 24 + 32 clocks of 4 cycles.
        assert_eq!(read(&mut qmi, &mut sys, &mut mem, 2), (0x6655_4433, 64 * 4));
        // EBh with mode bits that make the next read continue without an instruction.
        qmi.write(&mut sys, &mut mem, 0x10, Write::normal(0x000_492a8));
        qmi.write(&mut sys, &mut mem, 0x14, Write::normal(0xa0eb));
        assert_eq!(read(&mut qmi, &mut sys, &mut mem, 0).0, 0x4433_2211);
        assert!(mem.xip.offline);
        qmi.write(&mut sys, &mut mem, 0x10, Write { bits: 1 << 12, alias: Alias::Clear });
        assert!(!mem.xip.offline);
        assert_eq!(read(&mut qmi, &mut sys, &mut mem, 4).0, 0x8877_6655);
    }

    #[test]
    fn a_miss_costs_what_the_registers_say() {
        let (mut qmi, mut sys, mut mem) = bench();
        qmi.write(&mut sys, &mut mem, 0x0c, Write::normal(0x6000_7203));
        qmi.write(&mut sys, &mut mem, 0x10, Write::normal(0x0004_92a8));
        qmi.write(&mut sys, &mut mem, 0x14, Write::normal(0x00eb));
        // 8 + 6 + 2 + 4 + 16 clocks of 3 cycles, after the end of the transfer before: 1 + 2 + 7 cycles.
        assert_eq!(mem.xip.access_word(0x100), 36 * 3 + 10);
        assert_eq!((mem.xip.access_word(0x104), mem.xip.access_word(0x108)), (0, 16 * 3));
        assert_eq!(mem.xip.access_word(0x200), 36 * 3 + 10);
    }
}
