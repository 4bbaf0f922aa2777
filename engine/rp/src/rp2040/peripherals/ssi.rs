//! SSI, the synchronous serial interface to the QSPI flash: Synopsys DW_apb_ssi 4.01a (datasheet 4.10).
//!
//! Transfers take simulated time, but are performed lazily: when a register is read or written, when an interrupt or
//! DREQ depends on them, or when chip select is forced. An idle or polled SSI schedules nothing.
//!
//! XIP reads are not simulated clock by clock; `Ssi::refresh_xip` derives their cost from the registers.

use super::{Write, unmodelled};
use crate::rp2040::memory::Memory;
use crate::rp2040::wires::{dreq, event, irq};
use chip::Sys;
use cpu::Architecture;
use sim::{NEVER, Snapshot};
use std::collections::VecDeque;
use w25q::W25q;

const FIFO_DEPTH: usize = 16;
/// Cycles of clk_sys that an XIP read takes in addition to its SCK cycles: APB setup, the TX and RX FIFOs and the bus
/// response. The datasheet gives no figure. Klipper counts 320 ns of SCK cycles alone at 125 MHz and BAUDR 2 (its pull
/// request 6464); uncached loads measure "about 400 nanoseconds" in all (oberon-rtk.org, flash memory evaluation).
const XIP_OVERHEAD_CYCLES: u32 = 6;
/// Half an SCK cycle from chip select to the first edge and another half after the last.
const SELECT_SCKS: u64 = 1;

mod reg {
    pub(crate) const CTRLR0: u32 = 0x00;
    pub(crate) const CTRLR1: u32 = 0x04;
    pub(crate) const SSIENR: u32 = 0x08;
    pub(crate) const MWCR: u32 = 0x0c;
    pub(crate) const SER: u32 = 0x10;
    pub(crate) const BAUDR: u32 = 0x14;
    pub(crate) const TXFTLR: u32 = 0x18;
    pub(crate) const RXFTLR: u32 = 0x1c;
    pub(crate) const TXFLR: u32 = 0x20;
    pub(crate) const RXFLR: u32 = 0x24;
    pub(crate) const SR: u32 = 0x28;
    pub(crate) const IMR: u32 = 0x2c;
    pub(crate) const ISR: u32 = 0x30;
    pub(crate) const RISR: u32 = 0x34;
    pub(crate) const TXOICR: u32 = 0x38;
    pub(crate) const RXOICR: u32 = 0x3c;
    pub(crate) const RXUICR: u32 = 0x40;
    pub(crate) const MSTICR: u32 = 0x44;
    pub(crate) const ICR: u32 = 0x48;
    pub(crate) const DMACR: u32 = 0x4c;
    pub(crate) const DMATDLR: u32 = 0x50;
    pub(crate) const DMARDLR: u32 = 0x54;
    pub(crate) const IDR: u32 = 0x58;
    pub(crate) const SSI_VERSION_ID: u32 = 0x5c;
    pub(crate) const DR0: u32 = 0x60;
    pub(crate) const DR35: u32 = 0xec;
    pub(crate) const RX_SAMPLE_DLY: u32 = 0xf0;
    pub(crate) const SPI_CTRLR0: u32 = 0xf4;
    pub(crate) const TXD_DRIVE_EDGE: u32 = 0xf8;
}

mod ctrlr0 {
    pub(crate) const MASK: u32 = 0x017f_ffff;
    pub(crate) const SRL: u32 = 1 << 11;
    pub(crate) const FRF: u32 = 3 << 4;
}
mod spi_ctrlr0 {
    pub(crate) const MASK: u32 = 0xff07_fb3f;
    pub(crate) const RESET: u32 = 0x0300_0000;
    /// Double data rate and read strobe: the flash supports neither.
    pub(crate) const DDR: u32 = 0x0007_0000;
}
mod sr {
    pub(crate) const BUSY: u32 = 0x01;
    pub(crate) const TFNF: u32 = 0x02;
    pub(crate) const TFE: u32 = 0x04;
    pub(crate) const RFNE: u32 = 0x08;
    pub(crate) const RFF: u32 = 0x10;
}
/// Bits of IMR, ISR and RISR.
mod int {
    pub(crate) const TXE: u32 = 0x01;
    pub(crate) const TXO: u32 = 0x02;
    pub(crate) const RXU: u32 = 0x04;
    pub(crate) const RXO: u32 = 0x08;
    pub(crate) const RXF: u32 = 0x10;
    pub(crate) const MST: u32 = 0x20;
    pub(crate) const ALL: u32 = 0x3f;
}

/// CTRLR0.TMOD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tmod {
    TxAndRx,
    TxOnly,
    RxOnly,
    EepromRead,
}

/// The content of the shift register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
enum Frame {
    /// One data frame out and in.
    Exchange { data: u32 },
    /// One data frame in.
    Receive,
    /// Instruction and address of an enhanced (dual or quad) transfer, with its wait cycles.
    Head { instruction: u32, address: u64 },
    /// One data frame of an enhanced write.
    Send { data: u32 },
}

/// The controller of the flash chip, with its registers and FIFOs.
#[derive(Debug, Snapshot)]
pub struct Ssi {
    /// The flash chip.
    pub flash: W25q,
    ctrlr0: u32,
    ctrlr1: u32,
    ssienr: u32,
    mwcr: u32,
    ser: u32,
    baudr: u32,
    txftlr: u32,
    rxftlr: u32,
    imr: u32,
    /// Latched TXO, RXU and RXO.
    latched: u32,
    dmacr: u32,
    dmatdlr: u32,
    dmardlr: u32,
    rx_sample_dly: u32,
    spi_ctrlr0: u32,
    txd_drive_edge: u32,
    tx: VecDeque<u32>,
    rx: VecDeque<u32>,
    /// Frame in the shift register and the cycle of clk_sys at which it ends.
    frame: Option<(Frame, u64)>,
    /// Data frames left to receive in an RX-only or EEPROM-read transfer.
    to_receive: u32,
    /// The transfer's instruction and address are sent; data frames follow.
    enhanced_data: bool,
    /// The SSI holds chip select low.
    selecting: bool,
    ss_override: Option<bool>,
    /// CTRLR0, SPI_CTRLR0 and BAUDR for which the XIP cache's costs were computed, so that polling does not compute
    /// them again.
    priced: Option<(u32, u32, u32)>,
}

impl Default for Ssi {
    fn default() -> Self {
        Self {
            flash: W25q::default(),
            ctrlr0: 0,
            ctrlr1: 0,
            ssienr: 0,
            mwcr: 0,
            ser: 0,
            baudr: 0,
            txftlr: 0,
            rxftlr: 0,
            imr: 0,
            latched: 0,
            dmacr: 0,
            dmatdlr: 0,
            dmardlr: 0,
            rx_sample_dly: 0,
            spi_ctrlr0: spi_ctrlr0::RESET,
            txd_drive_edge: 0,
            tx: VecDeque::with_capacity(FIFO_DEPTH),
            rx: VecDeque::with_capacity(FIFO_DEPTH),
            frame: None,
            to_receive: 0,
            enhanced_data: false,
            selecting: false,
            ss_override: None,
            priced: None,
        }
    }
}

impl Ssi {
    pub(crate) fn read(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>, offset: u32) -> u32 {
        self.catch_up(sys, mem);
        match offset {
            reg::CTRLR0 => self.ctrlr0,
            reg::CTRLR1 => self.ctrlr1,
            reg::SSIENR => self.ssienr,
            reg::MWCR => self.mwcr,
            reg::SER => self.ser,
            reg::BAUDR => self.baudr,
            reg::TXFTLR => self.txftlr,
            reg::RXFTLR => self.rxftlr,
            reg::TXFLR => self.tx.len() as u32,
            reg::RXFLR => self.rx.len() as u32,
            reg::SR => self.status(),
            reg::IMR => self.imr,
            reg::ISR => self.raw_interrupts() & self.imr,
            reg::RISR => self.raw_interrupts(),
            reg::TXOICR => self.clear_interrupts(sys, int::TXO),
            reg::RXOICR => self.clear_interrupts(sys, int::RXO),
            reg::RXUICR => self.clear_interrupts(sys, int::RXU),
            reg::MSTICR => self.clear_interrupts(sys, int::MST),
            reg::ICR => self.clear_interrupts(sys, int::TXO | int::RXU | int::RXO | int::MST),
            reg::DMACR => self.dmacr,
            reg::DMATDLR => self.dmatdlr,
            reg::DMARDLR => self.dmardlr,
            reg::IDR => 0x5153_5049,
            reg::SSI_VERSION_ID => 0x3430_312a,
            reg::DR0..=reg::DR35 => {
                let word = self.rx.pop_front();
                if word.is_none() {
                    self.latched |= int::RXU;
                }
                self.refresh_lines(sys);
                word.unwrap_or(0)
            }
            reg::RX_SAMPLE_DLY => self.rx_sample_dly,
            reg::SPI_CTRLR0 => self.spi_ctrlr0,
            reg::TXD_DRIVE_EDGE => self.txd_drive_edge,
            _ => 0,
        }
    }

    pub(crate) fn write(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>, offset: u32, write: Write) {
        self.catch_up(sys, mem);
        let enabled = self.ssienr != 0;
        match offset {
            // The SSI is not on the APB: it has no atomic aliases (datasheet 2.1.2), and a write through one is a plain
            // write.
            reg::DR0..=reg::DR35 => self.push(write.bits),
            reg::SSIENR => self.enable(sys, mem, write.bits & 1),
            reg::SER => self.ser = write.bits & 1,
            reg::TXFTLR => self.txftlr = write.bits & 0xff,
            reg::RXFTLR => self.rxftlr = write.bits & 0xff,
            reg::IMR => self.imr = write.bits & int::ALL,
            reg::DMACR => self.dmacr = write.bits & 3,
            reg::DMATDLR => self.dmatdlr = write.bits & 0xff,
            reg::DMARDLR => self.dmardlr = write.bits & 0xff,
            reg::TXD_DRIVE_EDGE => self.txd_drive_edge = write.bits & 0xff,
            // Other registers cannot be written while the SSI is enabled.
            reg::CTRLR0 if !enabled => self.ctrlr0 = write.bits & ctrlr0::MASK,
            reg::CTRLR1 if !enabled => self.ctrlr1 = write.bits & 0xffff,
            reg::MWCR if !enabled => self.mwcr = write.bits & 7,
            // The LSB is not implemented: SCK divides by an even number.
            reg::BAUDR if !enabled => self.baudr = write.bits & 0xfffe,
            reg::RX_SAMPLE_DLY if !enabled => self.rx_sample_dly = write.bits & 0xff,
            reg::SPI_CTRLR0 if !enabled => self.spi_ctrlr0 = write.bits & spi_ctrlr0::MASK,
            _ => {}
        }
        self.start_next(sys, mem, cycle(sys));
        self.refresh_xip(sys, mem);
        self.refresh_lines(sys);
    }

    fn enable(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>, enable: u32) {
        self.ssienr = enable;
        if enable == 0 {
            // Disabling aborts the transfer and clears the FIFOs.
            self.tx.clear();
            self.rx.clear();
            self.frame = None;
            self.to_receive = 0;
            self.enhanced_data = false;
            self.set_selecting(sys, mem, cycle(sys), false);
        } else if self.ctrlr0 & (ctrlr0::SRL | ctrlr0::FRF) != 0 {
            unmodelled(sys, "SSI.CTRLR0.SRL/FRF", reg::CTRLR0, Some(self.ctrlr0));
        } else if self.spi_ctrlr0 & spi_ctrlr0::DDR != 0 {
            unmodelled(sys, "SSI.SPI_CTRLR0 double data rate", reg::SPI_CTRLR0, Some(self.spi_ctrlr0));
        }
    }

    fn push(&mut self, word: u32) {
        if self.ssienr == 0 {
            return;
        }
        if self.tx.len() == FIFO_DEPTH {
            self.latched |= int::TXO;
        } else {
            self.tx.push_back(word);
        }
    }

    /// Handles `event::SSI`: the end of a frame that a DREQ or interrupt waits for, or the flash became ready.
    pub(crate) fn event(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>) {
        self.catch_up(sys, mem);
        self.refresh_xip(sys, mem);
        self.refresh_lines(sys);
    }

    /// Handles a change of the flash's chip select by IO_QSPI's override of the SS pin (`None`: the SSI drives it).
    pub(crate) fn set_ss_override(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>, level: Option<bool>) {
        self.catch_up(sys, mem);
        self.ss_override = level;
        self.drive_select(sys, mem, cycle(sys));
        self.refresh_xip(sys, mem);
        self.refresh_lines(sys);
    }

    /// Resets the registers and the XIP cache, but not the flash chip, which has no reset pin.
    pub(crate) fn reset(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>) {
        self.catch_up(sys, mem);
        self.enable(sys, mem, 0);
        let flash = std::mem::take(&mut self.flash);
        *self = Self { flash, ss_override: self.ss_override, ..Self::default() };
        mem.xip.reset();
        self.refresh_xip(sys, mem);
        sys.cancel(event::SSI);
        self.refresh_lines(sys);
    }

    // Transfers

    fn tmod(&self) -> Tmod {
        match (self.ctrlr0 >> 8) & 3 {
            0 => Tmod::TxAndRx,
            1 => Tmod::TxOnly,
            2 => Tmod::RxOnly,
            _ => Tmod::EepromRead,
        }
    }

    /// Returns the data lines of the enhanced format; 1: standard SPI.
    fn lanes(&self) -> u32 {
        match (self.ctrlr0 >> 21) & 3 {
            0 => 1,
            1 => 2,
            _ => 4,
        }
    }

    fn frame_bits(&self) -> u32 {
        ((self.ctrlr0 >> 16) & 0x1f) + 1
    }

    fn instruction_bits(&self) -> u32 {
        [0, 4, 8, 16][((self.spi_ctrlr0 >> 8) & 3) as usize]
    }

    fn address_bits(&self) -> u32 {
        ((self.spi_ctrlr0 >> 2) & 0xf) * 4
    }

    fn wait_cycles(&self) -> u32 {
        (self.spi_ctrlr0 >> 11) & 0x1f
    }

    /// Returns the lines that carry the instruction and the address.
    fn head_lanes(&self) -> (u32, u32) {
        match self.spi_ctrlr0 & 3 {
            0 => (1, 1),
            1 => (1, self.lanes()),
            _ => (self.lanes(), self.lanes()),
        }
    }

    fn receives(&self) -> bool {
        matches!(self.tmod(), Tmod::RxOnly | Tmod::EepromRead)
    }

    /// Returns the SCK cycles of an enhanced transfer before its data.
    fn head_scks(&self) -> u32 {
        let (instruction_lanes, address_lanes) = self.head_lanes();
        let wait = if self.receives() { self.wait_cycles() } else { 0 };
        self.instruction_bits().div_ceil(instruction_lanes) + self.address_bits().div_ceil(address_lanes) + wait
    }

    /// Performs the transfers up to now.
    fn catch_up(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>) {
        let now = cycle(sys);
        let mut finished = false;
        while let Some((frame, end)) = self.frame {
            if end > now {
                break;
            }
            self.frame = None;
            self.finish_frame(sys, mem, frame, end);
            self.start_next(sys, mem, end);
            finished = true;
        }
        if !finished {
            return;
        }
        self.refresh_xip(sys, mem);
        if let Some(opcode) = self.flash.take_unmodelled() {
            sys.unmodelled(format!("flash chip instruction 0x{opcode:02x}"));
        }
    }

    /// Starts the next frame at cycle `at` if the shift register is free and there is one; releases chip select at the
    /// end of the transfer.
    fn start_next(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>, at: u64) {
        if self.frame.is_some() || self.ssienr == 0 {
            return;
        }
        if self.ser == 0 || self.baudr == 0 {
            self.set_selecting(sys, mem, at, false);
            return;
        }
        let Some(frame) = self.next_frame() else {
            self.enhanced_data = false;
            self.set_selecting(sys, mem, at, false);
            return;
        };
        let mut scks = match frame {
            Frame::Exchange { .. } => u64::from(self.frame_bits()),
            Frame::Receive | Frame::Send { .. } => u64::from(self.frame_bits().div_ceil(self.lanes())),
            Frame::Head { .. } => u64::from(self.head_scks()),
        };
        if !self.selecting {
            scks += SELECT_SCKS;
            self.set_selecting(sys, mem, at, true);
        }
        self.frame = Some((frame, at + scks * u64::from(self.baudr)));
    }

    fn next_frame(&mut self) -> Option<Frame> {
        if self.to_receive != 0 {
            self.to_receive -= 1;
            return Some(Frame::Receive);
        }
        let frames = (self.ctrlr1 & 0xffff) + 1;
        if self.lanes() == 1 {
            let data = self.tx.pop_front()?;
            if self.tmod() == Tmod::RxOnly {
                // The word written starts the transfer and is not sent.
                self.to_receive = frames - 1;
                return Some(Frame::Receive);
            }
            return Some(Frame::Exchange { data });
        }
        if self.enhanced_data {
            return self.tx.pop_front().map(|data| Frame::Send { data });
        }
        let has_instruction = self.instruction_bits() != 0;
        let address_words = self.address_bits().div_ceil(32) as usize;
        if self.tx.is_empty() || self.tx.len() < usize::from(has_instruction) + address_words {
            return None;
        }
        let instruction = if has_instruction { self.tx.pop_front()? } else { 0 };
        let mut address = 0;
        for _ in 0..address_words {
            address = (address << 32) | u64::from(self.tx.pop_front()?);
        }
        if self.receives() {
            self.to_receive = frames;
        } else {
            self.enhanced_data = true;
        }
        Some(Frame::Head { instruction, address })
    }

    fn finish_frame(&mut self, sys: &mut Sys, mem: &mut Memory<impl Architecture>, frame: Frame, end: u64) {
        let now = sys.clock.ps_at(end);
        let bits = self.frame_bits();
        let lanes = self.lanes();
        match frame {
            Frame::Exchange { data } => {
                let read = self.shift_out(mem, now, 1, data.into(), bits);
                match self.tmod() {
                    Tmod::TxAndRx => self.receive(read as u32),
                    // The control frame is sent; the data frames follow it.
                    Tmod::EepromRead if self.tx.is_empty() => self.to_receive = (self.ctrlr1 & 0xffff) + 1,
                    _ => {}
                }
            }
            Frame::Receive => {
                let read = if lanes == 1 {
                    self.shift_out(mem, now, 1, 0, bits)
                } else {
                    self.shift_in(mem, now, lanes, bits)
                };
                self.receive(read as u32);
            }
            Frame::Send { data } => {
                self.shift_out(mem, now, lanes, data.into(), bits);
            }
            Frame::Head { instruction, address } => {
                let (instruction_lanes, address_lanes) = self.head_lanes();
                self.shift_out(mem, now, instruction_lanes, instruction.into(), self.instruction_bits());
                self.shift_out(mem, now, address_lanes, address, self.address_bits());
                if self.receives() {
                    for _ in 0..self.wait_cycles() {
                        self.flash.clock(mem, now, 0xf);
                    }
                }
            }
        }
    }

    fn receive(&mut self, word: u32) {
        if self.rx.len() == FIFO_DEPTH {
            self.latched |= int::RXO;
        } else {
            self.rx.push_back(word);
        }
    }

    /// Shifts out the low `bits` of `data`, MSB first; the result contains the bits read on IO1 (or on all lines).
    /// Undriven lines are pulled high.
    fn shift_out(&mut self, mem: &Memory<impl Architecture>, now: u64, lanes: u32, data: u64, bits: u32) -> u64 {
        let mask = (1u64 << lanes) - 1;
        let mut read = 0;
        let mut left = bits;
        while left != 0 {
            left = left.saturating_sub(lanes);
            let out = ((data >> left) & mask) as u8 | (0xf & !(mask as u8));
            let io = u64::from(self.flash.clock(mem, now, out));
            read = (read << lanes) | if lanes == 1 { (io >> 1) & 1 } else { io & mask };
        }
        read
    }

    fn shift_in(&mut self, mem: &Memory<impl Architecture>, now: u64, lanes: u32, bits: u32) -> u64 {
        self.shift_out(mem, now, lanes, u64::MAX, bits)
    }

    fn set_selecting(&mut self, sys: &Sys, mem: &mut Memory<impl Architecture>, at: u64, selecting: bool) {
        self.selecting = selecting;
        self.drive_select(sys, mem, at);
    }

    fn drive_select(&mut self, sys: &Sys, mem: &mut Memory<impl Architecture>, at: u64) {
        let high = self.ss_override.unwrap_or(!self.selecting);
        self.flash.select(mem, sys.clock.ps_at(at), !high);
    }

    // Status, interrupts, DREQs

    /// Returns what the register at `offset` reads, and the cycle up to which it does, unless a write or an event comes
    /// before. `None`: it is not the status.
    pub(crate) fn polled(&self, offset: u32) -> Option<(u32, u64)> {
        (offset == reg::SR).then(|| (self.status(), self.frame.map_or(u64::MAX, |(_, end)| end)))
    }

    fn status(&self) -> u32 {
        let mut value = 0;
        if self.frame.is_some() || (!self.tx.is_empty() && self.ser != 0 && self.baudr != 0) {
            value |= sr::BUSY;
        }
        if self.tx.len() < FIFO_DEPTH {
            value |= sr::TFNF;
        }
        if self.tx.is_empty() {
            value |= sr::TFE;
        }
        if !self.rx.is_empty() {
            value |= sr::RFNE;
        }
        if self.rx.len() == FIFO_DEPTH {
            value |= sr::RFF;
        }
        // TXE and DCOL report errors of slave and multi-master operation: always 0 here.
        value
    }

    fn raw_interrupts(&self) -> u32 {
        let mut raw = self.latched;
        if self.ssienr != 0 && self.tx.len() <= self.txftlr as usize {
            raw |= int::TXE;
        }
        if self.rx.len() > self.rxftlr as usize {
            raw |= int::RXF;
        }
        raw
    }

    /// Handles a read of a clear-on-read register: returns whether one of `mask` was active.
    fn clear_interrupts(&mut self, sys: &mut Sys, mask: u32) -> u32 {
        let active = self.latched & mask != 0;
        self.latched &= !mask;
        self.refresh_lines(sys);
        u32::from(active)
    }

    fn refresh_lines(&mut self, sys: &mut Sys) {
        sys.set_irq(irq::XIP, self.raw_interrupts() & self.imr != 0);
        let enabled = self.ssienr != 0;
        sys.set_dreq(dreq::XIP_SSITX, enabled && self.dmacr & 2 != 0 && self.tx.len() <= self.dmatdlr as usize);
        sys.set_dreq(dreq::XIP_SSIRX, enabled && self.dmacr & 1 != 0 && self.rx.len() > self.dmardlr as usize);
        let watched = self.dmacr != 0 || self.imr != 0;
        let frame_end = match self.frame {
            Some((_, end)) if watched => sys.clock.ps_at(end),
            _ => NEVER,
        };
        let ready = if self.xip_format() && self.flash.busy(sys.now()) { self.flash.busy_until() } else { NEVER };
        let due = frame_end.min(ready);
        if sys.due(event::SSI) != due {
            sys.schedule(event::SSI, due);
        }
    }

    // XIP

    /// Returns whether the registers describe a transfer that XIP reads can use (datasheet 4.10.8: EEPROM-read or
    /// receive-only frames of 32 bits), and it fits the state of the flash chip.
    fn xip_format(&self) -> bool {
        let continuous = self.instruction_bits() == 0;
        self.ssienr != 0
            && self.ser != 0
            && self.baudr != 0
            && self.receives()
            && self.frame_bits() == 32
            && self.ss_override.is_none()
            && self.flash.continuous() == continuous
    }

    /// Recomputes the cost of an XIP read and whether the flash can answer one.
    ///
    /// A read is one transfer: instruction, address and mode bits, wait cycles and 32 data bits, each over its lines,
    /// at BAUDR cycles of clk_sys per SCK (datasheet 4.10.4). In the standard format the instruction and the address
    /// use one line as well (boot2's 03h configuration: 8 + 24 + 32 SCKs).
    fn refresh_xip(&mut self, sys: &Sys, mem: &mut Memory<impl Architecture>) {
        mem.xip.offline = !self.xip_format() || self.flash.busy(sys.now());
        let format = (self.ctrlr0, self.spi_ctrlr0, self.baudr);
        if self.priced == Some(format) {
            return;
        }
        self.priced = Some(format);
        let scks = self.head_scks() + 32 / self.lanes() + SELECT_SCKS as u32;
        let cycles = scks.saturating_mul(self.baudr).saturating_add(XIP_OVERHEAD_CYCLES);
        (mem.xip.miss_cycles, mem.xip.sck_cycles) = (cycles, self.baudr);
        mem.xip.uncached_cycles = cycles;
    }
}

fn cycle(sys: &Sys) -> u64 {
    sys.now_cycle()
}

#[cfg(test)]
mod tests;
