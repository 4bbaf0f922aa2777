//! I2C0 and I2C1: Synopsys DW_apb_i2c (datasheet 4.3).
//!
//! Master transfers take the time of their SCL periods; a period is `HCNT + SPKLEN + 7 + LCNT + 1` cycles of clk_sys
//! (datasheet 4.3.14), a START, RESTART or STOP takes one period, and there is no clock stretching. The `World`
//! provides the devices; without one, every address is answered with NACK. There is no other master, so the slave part
//! is never addressed: its registers are only stored. SDA and SCL do not change on the pins.

use crate::wires::SerialWires;
use chip::{Peripheral, Sys, World, Write};
use sim::{NEVER, PS_PER_S, Snapshot};
use std::collections::VecDeque;

const FIFO_DEPTH: usize = 16;

mod con {
    pub(crate) const MASTER_MODE: u32 = 1 << 0;
    pub(crate) const SPEED: u32 = 3 << 1;
    pub(crate) const ADDR_10BIT_MASTER: u32 = 1 << 4;
    pub(crate) const RESTART_EN: u32 = 1 << 5;
    pub(crate) const TX_EMPTY_CTRL: u32 = 1 << 8;
    pub(crate) const RX_FIFO_FULL_HLD_CTRL: u32 = 1 << 9;
    pub(crate) const WRITABLE: u32 = 0x3ff;
}

mod tar {
    pub(crate) const GC_OR_START: u32 = 1 << 10;
    pub(crate) const SPECIAL: u32 = 1 << 11;
}

/// Bits of IC_DATA_CMD.
mod cmd {
    pub(crate) const READ: u32 = 1 << 8;
    pub(crate) const STOP: u32 = 1 << 9;
    pub(crate) const RESTART: u32 = 1 << 10;
    /// First byte after an address, in the receive FIFO.
    pub(crate) const FIRST_DATA_BYTE: u32 = 1 << 11;
}

mod int {
    pub(crate) const RX_UNDER: u32 = 1 << 0;
    pub(crate) const RX_OVER: u32 = 1 << 1;
    pub(crate) const RX_FULL: u32 = 1 << 2;
    pub(crate) const TX_OVER: u32 = 1 << 3;
    pub(crate) const TX_EMPTY: u32 = 1 << 4;
    pub(crate) const RD_REQ: u32 = 1 << 5;
    pub(crate) const TX_ABRT: u32 = 1 << 6;
    pub(crate) const RX_DONE: u32 = 1 << 7;
    pub(crate) const ACTIVITY: u32 = 1 << 8;
    pub(crate) const STOP_DET: u32 = 1 << 9;
    pub(crate) const START_DET: u32 = 1 << 10;
    pub(crate) const GEN_CALL: u32 = 1 << 11;
    pub(crate) const RESTART_DET: u32 = 1 << 12;
    pub(crate) const ALL: u32 = 0x1fff;
}

mod abort {
    pub(crate) const ADDR_7B_NOACK: u32 = 1 << 0;
    pub(crate) const ADDR1_10B_NOACK: u32 = 1 << 1;
    pub(crate) const TXDATA_NOACK: u32 = 1 << 3;
    pub(crate) const GCALL_NOACK: u32 = 1 << 4;
    pub(crate) const GCALL_READ: u32 = 1 << 5;
    pub(crate) const SBYTE_NORSTRT: u32 = 1 << 9;
    pub(crate) const READ_10B_NORSTRT: u32 = 1 << 10;
    pub(crate) const MASTER_DIS: u32 = 1 << 11;
    pub(crate) const USER: u32 = 1 << 16;
}

mod enable {
    pub(crate) const ENABLE: u32 = 1 << 0;
    pub(crate) const ABORT: u32 = 1 << 1;
    pub(crate) const TX_CMD_BLOCK: u32 = 1 << 2;
}

/// The master's activity until the next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
enum Phase {
    Idle,
    /// (RE)START and address of the command.
    Address(u32),
    Byte(u32),
    /// Holds SCL low between two bytes, waiting for a command or for space for a byte.
    Holding {
        read: bool,
    },
    Stop,
}

/// A DW_apb_i2c controller.
#[derive(Debug, Snapshot)]
pub struct I2c {
    wires: SerialWires,
    /// A device acknowledged the current address.
    selected: bool,
    phase: Phase,
    /// The next received byte follows an address.
    first_byte: bool,
    /// A byte that waits for space in the receive FIFO.
    waiting_byte: Option<(u32, u32)>,
    tx: VecDeque<u32>,
    rx: VecDeque<u32>,
    con: u32,
    tar: u32,
    sar: u32,
    /// SS_SCL_HCNT, SS_SCL_LCNT, FS_SCL_HCNT, FS_SCL_LCNT.
    counts: [u32; 4],
    intr_mask: u32,
    /// Interrupts that software clears.
    latched: u32,
    rx_tl: u32,
    tx_tl: u32,
    enable: u32,
    sda_hold: u32,
    abort_source: u32,
    slv_data_nack_only: u32,
    dma_cr: u32,
    dma_tdlr: u32,
    dma_rdlr: u32,
    sda_setup: u32,
    ack_general_call: u32,
    fs_spklen: u32,
}

impl I2c {
    /// Returns the part in its reset state, connected by `wires`.
    pub fn new(wires: SerialWires) -> Self {
        Self {
            wires,
            selected: false,
            phase: Phase::Idle,
            first_byte: false,
            waiting_byte: None,
            tx: VecDeque::new(),
            rx: VecDeque::new(),
            con: 0x65,
            tar: 0x55,
            sar: 0x55,
            counts: [0x28, 0x2f, 0x06, 0x0d],
            intr_mask: 0x8ff,
            latched: 0,
            rx_tl: 0,
            tx_tl: 0,
            enable: 0,
            sda_hold: 1,
            abort_source: 0,
            slv_data_nack_only: 0,
            dma_cr: 0,
            dma_tdlr: 0,
            dma_rdlr: 0,
            sda_setup: 0x64,
            ack_general_call: 1,
            fs_spklen: 7,
        }
    }

    /// Handles this block's event.
    pub fn event(&mut self, sys: &mut Sys, world: &mut dyn World) {
        match self.phase {
            Phase::Idle | Phase::Holding { .. } => {}
            Phase::Address(command) => self.address_sent(sys, world, command),
            Phase::Byte(command) => self.byte_done(sys, world, command),
            Phase::Stop => {
                self.phase = Phase::Idle;
                self.latched |= int::STOP_DET;
                if std::mem::take(&mut self.selected) {
                    world.i2c_stop(sys, self.wires.number);
                }
            }
        }
        self.update(sys);
    }

    /// Schedules the end of `phase` after `periods` of SCL.
    fn begin(&mut self, sys: &mut Sys, phase: Phase, periods: u64) {
        self.phase = phase;
        let standard = self.con & con::SPEED == 1 << 1;
        let (high, low) = if standard { (self.counts[0], self.counts[1]) } else { (self.counts[2], self.counts[3]) };
        let cycles = u64::from(high + self.fs_spklen + 7 + low + 1) * periods;
        let hz = sys.clock.hz();
        let ps = u128::from(cycles) * u128::from(PS_PER_S) / u128::from(hz.max(1));
        let at = sys.now().saturating_add(u64::try_from(ps).unwrap_or(NEVER));
        sys.schedule(self.wires.event, at);
    }

    /// Sends START (or RESTART) and the address for `command`, which was taken from the FIFO.
    fn send_address(&mut self, sys: &mut Sys, command: u32) {
        self.latched |= int::START_DET | int::ACTIVITY;
        self.first_byte = true;
        let read = command & cmd::READ != 0;
        let special = self.tar & tar::SPECIAL != 0;
        let start_byte = special && self.tar & tar::GC_OR_START != 0;
        if (start_byte && self.con & con::RESTART_EN == 0) || (special && !start_byte && read) {
            let source = if start_byte { abort::SBYTE_NORSTRT } else { abort::GCALL_READ };
            return self.abort(sys, source);
        }
        let ten_bit = self.con & con::ADDR_10BIT_MASTER != 0;
        if ten_bit && read && self.con & con::RESTART_EN == 0 {
            return self.abort(sys, abort::READ_10B_NORSTRT);
        }
        let mut periods = 1 + 9;
        if start_byte {
            periods += 1 + 9;
        }
        if ten_bit {
            // The second half of the address; a read also needs RESTART and the first half again.
            periods += 9 + if read { 1 + 9 } else { 0 };
        }
        self.begin(sys, Phase::Address(command), periods);
    }

    fn address_sent(&mut self, sys: &mut Sys, world: &mut dyn World, command: u32) {
        let general_call = self.tar & (tar::SPECIAL | tar::GC_OR_START) == tar::SPECIAL;
        let ten_bit = self.con & con::ADDR_10BIT_MASTER != 0;
        let address = match (general_call, ten_bit) {
            (true, _) => 0,
            (_, true) => (self.tar & 0x3ff) as u16,
            _ => (self.tar & 0x7f) as u16,
        };
        self.selected = world.i2c_start(sys, self.wires.number, address, command & cmd::READ != 0);
        if self.selected {
            self.begin(sys, Phase::Byte(command), 9);
        } else {
            let source = match (general_call, ten_bit) {
                (true, _) => abort::GCALL_NOACK,
                (_, true) => abort::ADDR1_10B_NOACK,
                _ => abort::ADDR_7B_NOACK,
            };
            self.abort(sys, source);
        }
    }

    fn byte_done(&mut self, sys: &mut Sys, world: &mut dyn World, command: u32) {
        if !self.selected {
            return self.abort(sys, abort::ADDR_7B_NOACK);
        }
        if command & cmd::READ != 0 {
            let first = if std::mem::take(&mut self.first_byte) { cmd::FIRST_DATA_BYTE } else { 0 };
            let byte = u32::from(world.i2c_read(sys, self.wires.number)) | first;
            if self.rx.len() < FIFO_DEPTH {
                self.rx.push_back(byte);
            } else if self.con & con::RX_FIFO_FULL_HLD_CTRL != 0 {
                self.waiting_byte = Some((byte, command));
                self.phase = Phase::Holding { read: true };
                return;
            } else {
                self.latched |= int::RX_OVER;
            }
        } else if !world.i2c_write(sys, self.wires.number, command as u8) {
            return self.abort(sys, abort::TXDATA_NOACK);
        }
        self.after_byte(sys, command);
    }

    fn after_byte(&mut self, sys: &mut Sys, command: u32) {
        if command & cmd::STOP != 0 {
            self.begin(sys, Phase::Stop, 1);
        } else {
            self.phase = Phase::Holding { read: command & cmd::READ != 0 };
        }
    }

    /// Aborts (TX_ABRT): the transmit FIFO is flushed and stays empty until IC_CLR_TX_ABRT is read.
    fn abort(&mut self, sys: &mut Sys, source: u32) {
        self.abort_source = source | ((self.tx.len() as u32) << 23);
        self.tx.clear();
        self.latched |= int::TX_ABRT;
        if source & abort::MASTER_DIS == 0 {
            self.begin(sys, Phase::Stop, 1);
        }
    }

    /// Continues with the next command if the bus waits for one.
    fn proceed(&mut self, sys: &mut Sys) {
        if self.enable & enable::ENABLE == 0 {
            return;
        }
        if let Some((byte, command)) = self.waiting_byte
            && self.rx.len() < FIFO_DEPTH
        {
            self.waiting_byte = None;
            self.rx.push_back(byte);
            self.after_byte(sys, command);
        }
        if self.waiting_byte.is_some() || self.enable & enable::TX_CMD_BLOCK != 0 {
            return;
        }
        let holding = match self.phase {
            Phase::Idle => None,
            Phase::Holding { read } => Some(read),
            _ => return,
        };
        let Some(command) = self.tx.pop_front() else { return };
        if self.con & con::MASTER_MODE == 0 {
            return self.abort(sys, abort::MASTER_DIS);
        }
        match holding {
            Some(was_read) if command & cmd::RESTART == 0 && was_read == (command & cmd::READ != 0) => {
                self.begin(sys, Phase::Byte(command), 9);
            }
            // A change of direction needs a new address; without RESTART it needs STOP and START, which take longer by
            // less than one period.
            _ => self.send_address(sys, command),
        }
    }

    fn raw(&self) -> u32 {
        let mut raw = self.latched;
        if self.enable & enable::ENABLE != 0 {
            let shifting = matches!(self.phase, Phase::Address(_) | Phase::Byte(_));
            if self.tx.len() <= self.tx_tl as usize && !(self.con & con::TX_EMPTY_CTRL != 0 && shifting) {
                raw |= int::TX_EMPTY;
            }
            if self.rx.len() > self.rx_tl as usize {
                raw |= int::RX_FULL;
            }
        }
        raw
    }

    fn update(&mut self, sys: &mut Sys) {
        self.proceed(sys);
        let SerialWires { irq, tx_dreq, rx_dreq, .. } = self.wires;
        sys.set_irq(irq, self.raw() & self.intr_mask != 0);
        let enabled = self.enable & enable::ENABLE != 0;
        sys.set_dreq(tx_dreq, enabled && self.dma_cr & 2 != 0 && self.tx.len() <= self.dma_tdlr as usize);
        sys.set_dreq(rx_dreq, enabled && self.dma_cr & 1 != 0 && self.rx.len() > self.dma_rdlr as usize);
    }

    fn disable(&mut self, sys: &mut Sys) {
        self.tx.clear();
        self.rx.clear();
        self.waiting_byte = None;
        self.selected = false;
        self.phase = Phase::Idle;
        self.latched &= !(int::RX_OVER | int::TX_OVER | int::RX_UNDER);
        sys.cancel(self.wires.event);
    }

    fn clear(&mut self, sys: &mut Sys, bits: u32) -> u32 {
        let was = u32::from(self.latched & bits != 0);
        self.latched &= !bits;
        if bits & int::TX_ABRT != 0 {
            self.abort_source = 0;
        }
        self.update(sys);
        was
    }

    fn status(&self) -> u32 {
        let active = self.phase != Phase::Idle;
        u32::from(active)
            | (u32::from(self.tx.len() < FIFO_DEPTH) << 1)
            | (u32::from(self.tx.is_empty()) << 2)
            | (u32::from(!self.rx.is_empty()) << 3)
            | (u32::from(self.rx.len() >= FIFO_DEPTH) << 4)
            | (u32::from(active) << 5)
    }
}

impl Peripheral for I2c {
    fn name(&self) -> &'static str {
        self.wires.name
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 => self.con,
            0x04 => self.tar,
            0x08 => self.sar,
            0x10 => {
                let byte = self.rx.pop_front();
                if byte.is_none() && self.enable & enable::ENABLE != 0 {
                    self.latched |= int::RX_UNDER;
                }
                self.update(sys);
                byte.unwrap_or(0)
            }
            0x14..=0x20 => self.counts[((offset - 0x14) / 4) as usize],
            0x2c => self.raw() & self.intr_mask,
            0x30 => self.intr_mask,
            0x34 => self.raw(),
            0x38 => self.rx_tl,
            0x3c => self.tx_tl,
            0x40 => self.clear(sys, int::ALL),
            0x44 => self.clear(sys, int::RX_UNDER),
            0x48 => self.clear(sys, int::RX_OVER),
            0x4c => self.clear(sys, int::TX_OVER),
            0x50 => self.clear(sys, int::RD_REQ),
            0x54 => self.clear(sys, int::TX_ABRT),
            0x58 => self.clear(sys, int::RX_DONE),
            0x5c => {
                // Stays set while the bus is active.
                let bits = if self.phase == Phase::Idle { int::ACTIVITY } else { 0 };
                self.clear(sys, bits)
            }
            0x60 => self.clear(sys, int::STOP_DET),
            0x64 => self.clear(sys, int::START_DET),
            0x68 => self.clear(sys, int::GEN_CALL),
            0x6c => self.enable,
            0x70 => self.status(),
            0x74 => self.tx.len() as u32,
            0x78 => self.rx.len() as u32,
            0x7c => self.sda_hold,
            0x80 => self.abort_source,
            0x84 => self.slv_data_nack_only,
            0x88 => self.dma_cr,
            0x8c => self.dma_tdlr,
            0x90 => self.dma_rdlr,
            0x94 => self.sda_setup,
            0x98 => self.ack_general_call,
            0x9c => self.enable & enable::ENABLE,
            0xa0 => self.fs_spklen,
            0xa8 => self.clear(sys, int::RESTART_DET),
            0xf8 => 0x3230_312a,
            0xfc => 0x4457_0140,
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        let disabled = self.enable & enable::ENABLE == 0;
        match offset {
            // Configuration can only be changed while disabled.
            0x00 if disabled => self.con = write.apply_masked(self.con, con::WRITABLE),
            0x04 if disabled => self.tar = write.apply_masked(self.tar, 0xfff),
            0x08 if disabled => self.sar = write.apply_masked(self.sar, 0x3ff),
            0x10 => {
                if self.latched & int::TX_ABRT != 0 || disabled {
                    // The FIFO stays flushed until then.
                } else if self.tx.len() < FIFO_DEPTH {
                    self.tx.push_back(write.bits & 0x7ff);
                } else {
                    self.latched |= int::TX_OVER;
                }
            }
            0x14..=0x20 if disabled => {
                let index = ((offset - 0x14) / 4) as usize;
                // Smaller values would leave no time for the bus logic.
                let least = if index & 1 == 0 { 6 } else { 8 };
                self.counts[index] = (write.apply(self.counts[index]) & 0xffff).max(least);
            }
            0x30 => self.intr_mask = write.apply_masked(self.intr_mask, int::ALL),
            0x38 => self.rx_tl = (write.apply(self.rx_tl) & 0xff).min(FIFO_DEPTH as u32 - 1),
            0x3c => self.tx_tl = (write.apply(self.tx_tl) & 0xff).min(FIFO_DEPTH as u32),
            0x6c => {
                let value = write.apply(self.enable) & 7;
                self.enable = value & !enable::ABORT;
                if value & enable::ENABLE == 0 {
                    self.disable(sys);
                } else if value & enable::ABORT != 0 && self.phase != Phase::Idle && self.phase != Phase::Stop {
                    self.waiting_byte = None;
                    self.abort(sys, abort::USER);
                }
            }
            0x7c if disabled => self.sda_hold = write.apply_masked(self.sda_hold, 0x00ff_ffff),
            0x84 if disabled => self.slv_data_nack_only = write.apply_masked(self.slv_data_nack_only, 1),
            0x88 => self.dma_cr = write.apply_masked(self.dma_cr, 3),
            0x8c => self.dma_tdlr = write.apply_masked(self.dma_tdlr, 15),
            0x90 => self.dma_rdlr = write.apply_masked(self.dma_rdlr, 15),
            0x94 if disabled => self.sda_setup = write.apply_masked(self.sda_setup, 0xff),
            0x98 => self.ack_general_call = write.apply_masked(self.ack_general_call, 1),
            0xa0 if disabled => self.fs_spklen = (write.apply(self.fs_spklen) & 0xff).max(1),
            _ => {}
        }
        self.update(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.wires);
        sys.cancel(self.wires.event);
        self.update(sys);
    }
}

#[cfg(test)]
mod tests;
