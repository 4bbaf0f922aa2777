//! UART: Arm PL011 (datasheet 4.2, Arm DDI 0183).
//!
//! Characters take the time given by clk_peri and the baud divisor. Each is passed as a byte to `World::uart_byte` when
//! its last stop bit ends and TX is on a pin; [`Uart::receive`] accepts bytes. TX carries the bits of a character while
//! a watcher follows the pin (`Sys::follow_pins`) or a program reads it; otherwise it is high, and low during a break.
//! RX is sampled in the middle of each bit if a wire or an external control is connected to the pin. IrDA mode is not
//! modelled.

use crate::wires::SerialWires;
use chip::{Peripheral, Sys, World, Write, unmodelled};
use receiver::{Character, Receiver};
use sim::{NEVER, PS_PER_S, Ps, Snapshot};
use std::collections::VecDeque;

mod receiver;

const FIFO_DEPTH: usize = 32;

mod fr {
    pub(crate) const CTS: u32 = 1 << 0;
    pub(crate) const BUSY: u32 = 1 << 3;
    pub(crate) const RXFE: u32 = 1 << 4;
    pub(crate) const TXFF: u32 = 1 << 5;
    pub(crate) const RXFF: u32 = 1 << 6;
    pub(crate) const TXFE: u32 = 1 << 7;
}

mod lcr {
    pub(crate) const BRK: u32 = 1 << 0;
    pub(crate) const PEN: u32 = 1 << 1;
    pub(crate) const EPS: u32 = 1 << 2;
    pub(crate) const STP2: u32 = 1 << 3;
    pub(crate) const FEN: u32 = 1 << 4;
    pub(crate) const SPS: u32 = 1 << 7;
}

mod cr {
    pub(crate) const UARTEN: u32 = 1 << 0;
    pub(crate) const SIREN: u32 = 1 << 1;
    pub(crate) const LBE: u32 = 1 << 7;
    pub(crate) const TXE: u32 = 1 << 8;
    pub(crate) const RXE: u32 = 1 << 9;
    pub(crate) const RTS: u32 = 1 << 11;
    pub(crate) const RTSEN: u32 = 1 << 14;
    pub(crate) const CTSEN: u32 = 1 << 15;
}

/// Bits of IMSC, RIS, MIS and ICR.
mod int {
    pub(crate) const CTSM: u32 = 1 << 1;
    pub(crate) const RX: u32 = 1 << 4;
    pub(crate) const TX: u32 = 1 << 5;
    pub(crate) const RT: u32 = 1 << 6;
    pub(crate) const FE: u32 = 1 << 7;
    pub(crate) const PE: u32 = 1 << 8;
    pub(crate) const BE: u32 = 1 << 9;
    pub(crate) const ERRORS: u32 = 0xf << 7;
    pub(crate) const OE: u32 = 1 << 10;
    pub(crate) const ALL: u32 = 0x7ff;
}

/// Error bits of an entry of the receive FIFO.
const DATA_FE: u32 = 1 << 8;
const DATA_PE: u32 = 1 << 9;
const DATA_BE: u32 = 1 << 10;
const DATA_OE: u32 = 1 << 11;
const IDS: [u32; 8] = [0x11, 0x10, 0x34, 0x00, 0x0d, 0xf0, 0x05, 0xb1];

/// Possible pins of TX; RX, CTS and RTS are the following ones.
const TX_PINS: u64 = 0x1111_1111_1111_1111;

/// Line control as latched by the last write of UARTLCR_H.
#[derive(Clone, Copy, Debug, Default, Snapshot)]
struct Line {
    /// Baud divisor in 64ths.
    divisor: u64,
    lcr_h: u32,
}

/// A character in the transmit shift register.
#[derive(Clone, Copy, Debug, Snapshot)]
struct Shift {
    byte: u8,
    /// Levels from the start bit on, the first in bit 0.
    levels: u32,
    bits: u64,
    begin: Ps,
    /// End of the last stop bit.
    end: Ps,
}

impl Shift {
    /// Returns the bit on the wire at `now`.
    fn bit(&self, now: Ps) -> u64 {
        let duration = u128::from(self.end - self.begin).max(1);
        // The last one that has started: bit k does so at begin + floor(duration * k / bits).
        let passed = (u128::from(now.saturating_sub(self.begin)) + 1) * u128::from(self.bits);
        (((passed - 1) / duration) as u64).min(self.bits - 1)
    }

    fn level(&self, now: Ps) -> bool {
        self.levels >> self.bit(now) & 1 != 0
    }

    /// Returns when the next bit starts, or the character ends.
    fn next(&self, now: Ps) -> Ps {
        let duration = u128::from(self.end - self.begin);
        self.begin + (duration * u128::from(self.bit(now) + 1) / u128::from(self.bits)) as u64
    }
}

/// A PL011 UART.
#[derive(Debug, Snapshot)]
pub struct Uart {
    wires: SerialWires,
    tx: VecDeque<u8>,
    rx: VecDeque<u32>,
    shifting: Option<Shift>,
    receiver: Receiver,
    /// Time of the receive timeout.
    timeout_at: Ps,
    rsr: u32,
    overrun: bool,
    ilpr: u32,
    ibrd: u32,
    fbrd: u32,
    line: Line,
    cr: u32,
    ifls: u32,
    imsc: u32,
    ris: u32,
    dmacr: u32,
    cts: bool,
}

impl Uart {
    /// Returns the part in its reset state, connected by `wires`.
    pub fn new(wires: SerialWires) -> Self {
        Self {
            wires,
            tx: VecDeque::new(),
            rx: VecDeque::new(),
            shifting: None,
            receiver: Receiver::default(),
            timeout_at: NEVER,
            rsr: 0,
            overrun: false,
            ilpr: 0,
            ibrd: 0,
            fbrd: 0,
            line: Line::default(),
            cr: cr::TXE | cr::RXE,
            ifls: 0x12,
            imsc: 0,
            ris: 0,
            dmacr: 0,
            cts: true,
        }
    }

    /// Receives a character with correct parity and stop bits; `sys.now()` is the end of its stop bit.
    pub fn receive(&mut self, sys: &mut Sys, byte: u8) {
        self.arrive(sys, byte.into());
        self.update(sys);
    }

    /// Returns whether characters from an external device, as opposed to levels, are received: RX is on a pin without
    /// other connections.
    pub fn hears_characters(&self, sys: &Sys) -> bool {
        let pins = self.pins(sys, 1);
        pins != 0 && pins & sys.pins.connected() == 0
    }

    /// Returns the duration of a character by the registers; [`NEVER`] while they are not set.
    pub fn character_ps(&self, sys: &Sys) -> Ps {
        self.bits_ps(sys, self.character_bits())
    }

    /// Updates the pins for a program that reads them. Returns whether TX may have been out of date.
    pub fn refresh_pins(&mut self, sys: &mut Sys) -> bool {
        let stale = self.shifting.is_some() && self.pins(sys, 0) != 0;
        if stale {
            self.drive_pins(sys, true);
        }
        stale
    }

    /// Handles a watcher that starts or stops following pins.
    pub fn reschedule(&mut self, sys: &mut Sys) {
        if self.shifting.is_some() {
            self.update(sys);
        }
    }

    /// Handles this block's event.
    pub fn event(&mut self, sys: &mut Sys, world: &mut dyn World) {
        let now = sys.now();
        if let Some(shift) = self.shifting
            && shift.end <= now
        {
            self.shifting = None;
            if self.drives_tx(sys) {
                world.uart_byte(sys, self.wires.number, shift.byte);
            }
            if self.cr & cr::LBE != 0 {
                self.arrive(sys, shift.byte.into());
            }
        }
        if self.receiver.due() <= now {
            let level = sys.pins.input() & self.pins(sys, 1) != 0;
            if let Some(character) = self.receiver.sample(now, level) {
                self.arrive_bits(sys, character);
            }
        }
        if self.timeout_at <= now {
            self.timeout_at = NEVER;
            self.ris |= int::RT;
        }
        self.update(sys);
    }

    /// Handles changed levels at the input buffers: CTS may be one of them.
    pub fn input_changed(&mut self, sys: &mut Sys) {
        let cts = self.cts_input(sys);
        if cts != self.cts {
            self.cts = cts;
            self.ris |= int::CTSM;
            self.update(sys);
        }
        let rx = self.pins(sys, 1);
        if rx & sys.pins.connected() != 0 {
            self.line_changed(sys, sys.pins.input() & rx != 0);
        }
    }

    /// Handles an external level at RX.
    fn line_changed(&mut self, sys: &mut Sys, level: bool) {
        let half_bit = self.bits_ps(sys, 1) / 2;
        let listens = self.cr & (cr::UARTEN | cr::RXE | cr::LBE) == cr::UARTEN | cr::RXE && half_bit < NEVER / 2;
        if !listens {
            self.receiver = Receiver::default();
        }
        // Start bit, data, parity and the first stop bit.
        let samples = self.character_bits() - u64::from(self.line.lcr_h & lcr::STP2 != 0);
        let begun = self.receiver.line(sys.now(), level, listens.then_some((half_bit, samples)));
        if begun {
            self.update(sys);
        }
    }

    fn arrive_bits(&mut self, sys: &Sys, character: Character) {
        let data_bits = 5 + (self.line.lcr_h >> 5 & 3);
        let mut entry = character.levels >> 1 & ((1 << data_bits) - 1);
        if character.levels == 0 {
            entry |= DATA_BE | DATA_FE;
            self.ris |= int::BE | int::FE;
        } else {
            if character.levels >> (character.bits - 1) & 1 == 0 {
                entry |= DATA_FE;
                self.ris |= int::FE;
            }
            if self.line.lcr_h & lcr::PEN != 0 && character.levels >> (1 + data_bits) & 1 != self.parity(entry) {
                entry |= DATA_PE;
                self.ris |= int::PE;
            }
        }
        self.arrive(sys, entry);
    }

    /// Returns the parity bit of a character.
    fn parity(&self, data: u32) -> u32 {
        let even = self.line.lcr_h & lcr::EPS != 0;
        let odd_ones = if self.line.lcr_h & lcr::SPS != 0 { 0 } else { data.count_ones() & 1 };
        odd_ones ^ u32::from(!even)
    }

    /// Returns the levels of a character from its start bit to its last stop bit, the first in bit 0.
    fn levels(&self, byte: u8) -> u32 {
        let data_bits = 5 + (self.line.lcr_h >> 5 & 3);
        let parity = if self.line.lcr_h & lcr::PEN == 0 { 1 } else { self.parity(byte.into()) };
        let ones = u32::MAX << (2 + data_bits);
        u32::from(byte) << 1 | parity << (1 + data_bits) | ones
    }

    fn arrive(&mut self, sys: &Sys, entry: u32) {
        if self.cr & (cr::UARTEN | cr::RXE) != cr::UARTEN | cr::RXE {
            return;
        }
        if self.rx.len() >= self.depth() {
            self.overrun = true;
            self.rsr |= 8;
            self.ris |= int::OE;
            return;
        }
        let mask = (1u32 << (5 + (self.line.lcr_h >> 5 & 3))) - 1;
        let overrun = if std::mem::take(&mut self.overrun) { DATA_OE } else { 0 };
        self.rx.push_back((entry & (mask | DATA_FE | DATA_PE | DATA_BE)) | overrun);
        if self.rx.len() >= self.rx_trigger() {
            self.ris |= int::RX;
        }
        self.restart_timeout(sys);
    }

    fn restart_timeout(&mut self, sys: &Sys) {
        self.timeout_at = if self.rx.is_empty() { NEVER } else { sys.now().saturating_add(self.bits_ps(sys, 32)) };
    }

    fn fifo_enabled(&self) -> bool {
        self.line.lcr_h & lcr::FEN != 0
    }

    fn depth(&self) -> usize {
        if self.fifo_enabled() { FIFO_DEPTH } else { 1 }
    }

    fn eighths(select: u32) -> usize {
        [4, 8, 16, 24].get(select as usize).copied().unwrap_or(28)
    }

    fn rx_trigger(&self) -> usize {
        if self.fifo_enabled() { Self::eighths(self.ifls >> 3 & 7) } else { 1 }
    }

    fn tx_trigger(&self) -> usize {
        if self.fifo_enabled() { Self::eighths(self.ifls & 7) } else { 0 }
    }

    /// Returns the duration of `bits` bit periods; [`NEVER`] without a clock or divisor.
    fn bits_ps(&self, sys: &Sys, bits: u64) -> Ps {
        let hz = sys.freq.clk_peri_hz;
        if hz == 0 || self.line.divisor < 64 {
            return NEVER;
        }
        // 16 periods of clk_peri / (divisor / 64) per bit.
        let ps = u128::from(bits * self.line.divisor) * u128::from(PS_PER_S) / u128::from(4 * hz);
        u64::try_from(ps).unwrap_or(NEVER)
    }

    fn character_bits(&self) -> u64 {
        let l = self.line.lcr_h;
        1 + 5 + u64::from(l >> 5 & 3) + u64::from(l & lcr::PEN != 0) + if l & lcr::STP2 != 0 { 2 } else { 1 }
    }

    /// Returns the pins with UART selected that carry signal `signal` (TX, RX, CTS, RTS) of this instance.
    fn pins(&self, sys: &Sys, signal: u32) -> u64 {
        self.wires.pins.selected(&sys.pins) & (TX_PINS << signal)
    }

    /// Returns whether TX is on a pin.
    pub(crate) fn drives_tx(&self, sys: &Sys) -> bool {
        self.pins(sys, 0) != 0
    }

    /// Returns the CTS input. Without a pin it is low, and nUARTCTS is active low.
    fn cts_input(&self, sys: &Sys) -> bool {
        sys.pins.input() & self.pins(sys, 2) == 0
    }

    /// Drives the pins. `bits`: TX within a character.
    fn drive_pins(&self, sys: &mut Sys, bits: bool) {
        let (mine, function) = (self.wires.pins.pins, self.wires.pins.function);
        let (tx_pins, rts_pins) = (mine & TX_PINS, mine & (TX_PINS << 3));
        let rts = match self.cr & (cr::RTSEN | cr::RTS) {
            0 => false,
            rts if rts & cr::RTSEN != 0 => self.rx.len() < self.rx_trigger(),
            _ => true,
        };
        let mut out = if self.line.lcr_h & lcr::BRK != 0 && self.cr & cr::UARTEN != 0 { 0 } else { tx_pins };
        if bits && self.shifting.is_some_and(|shift| !shift.level(sys.now())) {
            out &= !tx_pins;
        }
        if !rts {
            out |= rts_pins;
        }
        let pins = &mut sys.pins;
        let old = pins.function_out[function];
        let new = (old & !mine) | out;
        let oe = pins.function_oe[function] | tx_pins | rts_pins;
        if new != old || oe != pins.function_oe[function] {
            pins.function_out[function] = new;
            pins.function_oe[function] = oe;
            pins.refresh();
        }
    }

    /// Starts what can start, and recomputes lines, pins and the next event.
    fn update(&mut self, sys: &mut Sys) {
        let may_send =
            self.cr & (cr::UARTEN | cr::TXE) == cr::UARTEN | cr::TXE && (self.cr & cr::CTSEN == 0 || self.cts);
        if self.shifting.is_none() && may_send && self.line.lcr_h & lcr::BRK == 0 {
            let duration = self.bits_ps(sys, self.character_bits());
            if duration != NEVER
                && let Some(byte) = self.tx.pop_front()
            {
                let byte = byte & ((1u32 << (5 + (self.line.lcr_h >> 5 & 3))) - 1) as u8;
                let (levels, bits, begin) = (self.levels(byte), self.character_bits(), sys.now());
                self.shifting = Some(Shift { byte, levels, bits, begin, end: begin.saturating_add(duration) });
                if self.tx.len() == self.tx_trigger() {
                    self.ris |= int::TX;
                }
            }
        }
        let followed = self.shifting.is_some() && self.pins(sys, 0) & sys.followed_pins() != 0;
        let next = self.shifting.map_or(NEVER, |shift| if followed { shift.next(sys.now()) } else { shift.end });
        sys.schedule(self.wires.event, next.min(self.timeout_at).min(self.receiver.due()));

        let mis = self.ris & self.imsc;
        sys.set_irq(self.wires.irq, mis != 0);
        let enabled = self.cr & cr::UARTEN != 0;
        sys.set_dreq(self.wires.tx_dreq, enabled && self.dmacr & 2 != 0 && self.tx.len() < self.depth());
        let held = self.dmacr & 4 != 0 && self.ris & int::ERRORS != 0;
        sys.set_dreq(self.wires.rx_dreq, enabled && self.dmacr & 1 != 0 && !held && !self.rx.is_empty());
        self.drive_pins(sys, followed);
    }

    fn read_data(&mut self, sys: &mut Sys) -> u32 {
        let Some(entry) = self.rx.pop_front() else { return 0 };
        self.rsr = entry >> 8;
        if self.rx.len() < self.rx_trigger() {
            self.ris &= !int::RX;
        }
        if self.rx.is_empty() {
            self.ris &= !int::RT;
        }
        self.restart_timeout(sys);
        self.update(sys);
        entry
    }

    fn flags(&self) -> u32 {
        let mut flags = 0;
        let mut set = |condition: bool, flag: u32| flags |= if condition { flag } else { 0 };
        set(self.cts, fr::CTS);
        set(self.shifting.is_some() || !self.tx.is_empty(), fr::BUSY);
        set(self.rx.is_empty(), fr::RXFE);
        set(self.rx.len() >= self.depth(), fr::RXFF);
        set(self.tx.is_empty(), fr::TXFE);
        set(self.tx.len() >= self.depth(), fr::TXFF);
        flags
    }
}

impl Peripheral for Uart {
    fn name(&self) -> &'static str {
        self.wires.name
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            0x00 => self.read_data(sys),
            0x04 => self.rsr,
            0x18 => self.flags(),
            0x20 => self.ilpr,
            0x24 => self.ibrd,
            0x28 => self.fbrd,
            0x2c => self.line.lcr_h,
            0x30 => self.cr,
            0x34 => self.ifls,
            0x38 => self.imsc,
            0x3c => self.ris,
            0x40 => self.ris & self.imsc,
            0x48 => self.dmacr,
            0xfe0..=0xffc => IDS[((offset - 0xfe0) / 4) as usize],
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            0x00 => {
                if self.tx.len() < self.depth() {
                    self.tx.push_back(write.bits as u8);
                }
                if self.tx.len() > self.tx_trigger() {
                    self.ris &= !int::TX;
                }
            }
            0x04 => self.rsr = 0,
            0x20 => self.ilpr = write.apply_masked(self.ilpr, 0xff),
            0x24 => self.ibrd = write.apply_masked(self.ibrd, 0xffff),
            0x28 => self.fbrd = write.apply_masked(self.fbrd, 0x3f),
            0x2c => {
                // The one write that also latches the divisor.
                let lcr_h = write.apply_masked(self.line.lcr_h, 0xff);
                self.line = Line { divisor: u64::from(self.ibrd) * 64 + u64::from(self.fbrd), lcr_h };
                let depth = self.depth();
                self.tx.truncate(depth);
                self.rx.truncate(depth);
            }
            0x30 => {
                self.cr = write.apply_masked(self.cr, 0xff87);
                if self.cr & cr::SIREN != 0 {
                    unmodelled(sys, "UART.UARTCR (SIREN)", offset, Some(self.cr));
                }
            }
            0x34 => self.ifls = write.apply_masked(self.ifls, 0x3f),
            0x38 => self.imsc = write.apply_masked(self.imsc, int::ALL),
            0x44 => self.ris &= !write.ones(),
            0x48 => self.dmacr = write.apply_masked(self.dmacr, 7),
            _ => {}
        }
        self.cts = self.cts_input(sys);
        if self.pins(sys, 1) & sys.pins.connected() != 0 {
            self.line_changed(sys, sys.pins.input() & self.pins(sys, 1) != 0);
        }
        self.update(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.wires);
        self.cts = self.cts_input(sys);
        self.update(sys);
    }
}

#[cfg(test)]
mod tests;
