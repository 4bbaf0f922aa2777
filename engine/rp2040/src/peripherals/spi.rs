//! SPI0 and SPI1: ARM PrimeCell SSP (PL022) in master mode (datasheet 4.4; ARM DDI 0194).
//!
//! Frames are timed by their edges in half periods of SCK, from the fall of SSPFSSOUT (datasheet 4.4.3.8 to 4.4.3.14):
//!
//! | format | first edge | last edge | SSPFSSOUT high | earliest next frame |
//! |---|---|---|---|---|
//! | Motorola, SPH = 0 | 2 | 2 n + 1 | 2 n + 2 | 2 n + 3 |
//! | Motorola, SPH = 1 | 1 | 2 n | 2 n + 2 | 2 n |
//! | TI | 2 | 2 n + 2 | (pulse) | 2 n |
//! | Microwire | 2 | 2 n + 19 | 2 n + 20 | 2 n + 20 |
//!
//! With SPH = 0 SSPFSSOUT is pulsed high between back-to-back frames, which costs 1.5 periods of SCK. The datasheet's
//! figure gives no number, but pico-examples issue 285 measures a pause of "about 2 clk width" between 8-bit frames in
//! mode 0 and none in mode 1, and pico-sdk issue 292 one of 30 ns at 62.5 MHz. The free-running phase of the prescaler,
//! which delays a frame after a pause by up to one bit, is not modelled. Slave mode is not modelled.
//!
//! Complete frames are passed to `World::spi_frame`. In Motorola's format SCK and TX have edges while a watcher follows
//! the pins (`Sys::follow_pins`) or a program reads them, and RX is sampled bit by bit if a wire or an external control
//! is connected to its pin.

use super::{Peripheral, Write, unmodelled};
use crate::pins::function;
use crate::sys::{EventId, Sys, dreq, irq};
use crate::trace::{Record, kind};
use crate::world::World;
use sim::{NEVER, PS_PER_S, Ps};
use std::collections::VecDeque;

const FIFO_DEPTH: usize = 8;
/// TX and RX interrupts: half full or less, half full or more.
const FIFO_HALF: usize = 4;
const TIMEOUT_BITS: u64 = 32;

mod reg {
    pub const CR0: u32 = 0x00;
    pub const CR1: u32 = 0x04;
    pub const DR: u32 = 0x08;
    pub const SR: u32 = 0x0c;
    pub const CPSR: u32 = 0x10;
    pub const IMSC: u32 = 0x14;
    pub const RIS: u32 = 0x18;
    pub const MIS: u32 = 0x1c;
    pub const ICR: u32 = 0x20;
    pub const DMACR: u32 = 0x24;
    pub const PERIPHID0: u32 = 0xfe0;
}
mod cr0 {
    pub const SPH: u32 = 1 << 7;
    pub const SPO: u32 = 1 << 6;
}
mod cr1 {
    pub const LBM: u32 = 1;
    pub const SSE: u32 = 2;
    pub const MS: u32 = 4;
}
mod sr {
    pub const TFE: u32 = 1;
    pub const TNF: u32 = 2;
    pub const RNE: u32 = 4;
    pub const RFF: u32 = 8;
    pub const BSY: u32 = 16;
}
mod int {
    pub const ROR: u32 = 1;
    pub const RT: u32 = 2;
    pub const RX: u32 = 4;
    pub const TX: u32 = 8;
}
mod dmacr {
    pub const RXDMAE: u32 = 1;
    pub const TXDMAE: u32 = 2;
}
const IDENTIFICATION: [u32; 8] = [0x22, 0x10, 0x34, 0x00, 0x0d, 0xf0, 0x05, 0xb1];

/// Pins of SPI0 and SPI1 in function SPI, by signal: RX is n mod 4 = 0, CSn 1, SCK 2, TX 3 (datasheet 1.4.3).
const SPI_PINS: [u32; 2] = [0x00ff_00ff, 0x3f00_ff00];
const RX_PINS: u32 = 0x1111_1111;
const CS_PINS: u32 = 0x2222_2222;
const SCK_PINS: u32 = 0x4444_4444;
const TX_PINS: u32 = 0x8888_8888;

/// CR0.FRF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Motorola { sph: bool },
    Ti,
    Microwire,
}

/// Edges of a frame in half periods of SCK after its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edges {
    last: u64,
    fss_high: u64,
    next: u64,
}

fn edges(format: Format, bits: u64) -> Edges {
    match format {
        Format::Motorola { sph: false } => Edges { last: 2 * bits + 1, fss_high: 2 * bits + 2, next: 2 * bits + 3 },
        Format::Motorola { sph: true } => Edges { last: 2 * bits, fss_high: 2 * bits + 2, next: 2 * bits },
        Format::Ti => Edges { last: 2 * bits + 2, fss_high: 2 * bits + 2, next: 2 * bits },
        // 8 control bits, one idle period, the data.
        Format::Microwire => Edges { last: 2 * bits + 19, fss_high: 2 * bits + 20, next: 2 * bits + 20 },
    }
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    data: u16,
    bits: u8,
    begin: Ps,
    last_edge: Ps,
    fss_high: Ps,
    /// Earliest start of the next frame.
    next: Ps,
    /// Half periods of SCK to the last edge.
    halves: u64,
    bitwise: Option<Bitwise>,
}

/// The edges of a frame in Motorola's format.
#[derive(Clone, Copy, Debug)]
struct Bitwise {
    sph: bool,
    /// Half periods of SCK to the last edge.
    halves: u64,
    /// Edges already handled, and the bits sampled at them.
    done: u64,
    miso: u16,
}

impl Frame {
    /// Returns the time of edge `edge` (1 to 2 `bits`) of SCK.
    fn edge_at(&self, bitwise: Bitwise, edge: u64) -> Ps {
        let before = bitwise.halves - 2 * u64::from(self.bits) + edge;
        let duration = u128::from(self.last_edge - self.begin);
        self.begin + (duration * u128::from(before) / u128::from(bitwise.halves)) as u64
    }

    /// Returns the edges of SCK so far, and the level of TX; `None` before the frame starts. `idle`: the level of TX
    /// before it.
    fn pins(&self, bitwise: Bitwise, now: Ps, idle: bool) -> Option<(u64, bool)> {
        if now < self.begin {
            return None;
        }
        let edges =
            (1..=2 * u64::from(self.bits)).take_while(|&edge| self.edge_at(bitwise, edge) <= now).count() as u64;
        // With SPH the first edge outputs the first bit, otherwise the start of the frame does.
        let bit = if bitwise.sph { edges.div_ceil(2).checked_sub(1) } else { Some(edges / 2) };
        let level = match bit {
            Some(bit) => self.data >> (u64::from(self.bits) - 1).saturating_sub(bit) & 1 != 0,
            None => idle,
        };
        Some((edges, level))
    }
}

#[derive(Debug)]
pub struct Spi {
    index: usize,
    cr0: u32,
    cr1: u32,
    cpsr: u32,
    imsc: u32,
    dmacr: u32,
    overrun: bool,
    tx: VecDeque<u16>,
    rx: VecDeque<u16>,
    frame: Option<Frame>,
    /// End of the last frame on the wire.
    busy_until: Ps,
    next_start: Ps,
    /// Time when an unread receive FIFO raises the timeout.
    timeout_at: Ps,
    timed_out: bool,
    fss_low: bool,
    tx_level: bool,
}

impl Spi {
    pub fn new(index: usize) -> Self {
        Self {
            index,
            cr0: 0,
            cr1: 0,
            cpsr: 0,
            imsc: 0,
            dmacr: 0,
            overrun: false,
            tx: VecDeque::with_capacity(FIFO_DEPTH),
            rx: VecDeque::with_capacity(FIFO_DEPTH),
            frame: None,
            busy_until: 0,
            next_start: 0,
            timeout_at: NEVER,
            timed_out: false,
            fss_low: false,
            tx_level: false,
        }
    }

    fn event_id(&self) -> EventId {
        [EventId::Spi0, EventId::Spi1][self.index]
    }

    fn bits(&self) -> u32 {
        (self.cr0 & 0xf) + 1
    }

    fn format(&self) -> Option<Format> {
        match (self.cr0 >> 4) & 3 {
            0 => Some(Format::Motorola { sph: self.cr0 & cr0::SPH != 0 }),
            1 => Some(Format::Ti),
            2 => Some(Format::Microwire),
            _ => None,
        }
    }

    /// Returns the time of `count` half periods of SCK: CPSDVSR * (1 + SCR) / 2 cycles of clk_peri each. `None`: SCK is
    /// stopped.
    fn halves(&self, sys: &Sys, count: u64) -> Option<Ps> {
        let cycles = u64::from(self.cpsr / 2) * u64::from(((self.cr0 >> 8) & 0xff) + 1);
        if cycles == 0 || sys.freq.clk_peri_hz == 0 {
            return None;
        }
        // At most 127 * 256 cycles and 64 half periods: fits 64 bits.
        Some(count * cycles * PS_PER_S / sys.freq.clk_peri_hz / sys.spi_speed)
    }

    /// Returns the programmed frequency of SCK in Hz; 0 while it is stopped.
    pub fn sck_hz(&self, sys: &Sys) -> u64 {
        match u64::from(self.cpsr) * u64::from(((self.cr0 >> 8) & 0xff) + 1) {
            0 => 0,
            divisor => sys.freq.clk_peri_hz * sys.spi_speed / divisor,
        }
    }

    /// Returns whether a frame is in the shift register, or about to be.
    pub fn shifting(&self) -> bool {
        self.frame.is_some()
    }

    /// Starts the next frame if the shift register is free.
    fn start(&mut self, sys: &mut Sys) {
        if self.frame.is_some() || self.cr1 & cr1::SSE == 0 || self.cr1 & cr1::MS != 0 || self.tx.is_empty() {
            return;
        }
        let Some(format) = self.format() else {
            unmodelled(sys, "SPI.SSPCR0.FRF", reg::CR0, Some(self.cr0));
            return;
        };
        let bits = self.bits();
        let edges = edges(format, u64::from(bits));
        let (Some(last), Some(fss_high), Some(next)) =
            (self.halves(sys, edges.last), self.halves(sys, edges.fss_high), self.halves(sys, edges.next))
        else {
            return;
        };
        let Some(word) = self.tx.pop_front() else { return };
        let begin = sys.now().max(self.next_start);
        let bits = if format == Format::Microwire { 8 } else { bits };
        let bitwise = match format {
            Format::Motorola { sph } => Some(Bitwise { sph, halves: edges.last, done: 0, miso: 0 }),
            _ => None,
        };
        self.frame = Some(Frame {
            data: (u32::from(word) & ((1 << bits) - 1)) as u16,
            bits: bits as u8,
            begin,
            last_edge: begin + last,
            fss_high: begin + fss_high,
            next: begin + next,
            halves: edges.last,
            bitwise,
        });
        self.timeout_at = NEVER;
        self.update_fss(sys);
        if self.is_followed(sys) {
            self.drive(sys, true);
        }
    }

    /// Updates SSPFSSOUT: low during a frame and until it is due to rise, unless the next frame has started by then.
    fn update_fss(&mut self, sys: &mut Sys) {
        let now = sys.now();
        let low = match self.frame {
            Some(frame) => now >= frame.begin || frame.begin <= self.busy_until || now < self.busy_until,
            None => now < self.busy_until,
        };
        if self.fss_low != low {
            self.fss_low = low;
            if self.drives_chip_select(sys) {
                self.drive(sys, self.is_followed(sys));
            }
        }
    }

    /// Returns whether each bit on SCK, TX or a wire at RX is observed.
    fn is_followed(&self, sys: &Sys) -> bool {
        let mine = sys.pins.function_mask[function::SPI] & SPI_PINS[self.index];
        mine & (SCK_PINS | TX_PINS | RX_PINS) & sys.followed_pins() != 0
    }

    /// Updates the pins for a program that reads them. Returns whether they may have been out of date.
    pub fn refresh_pins(&mut self, sys: &mut Sys) -> bool {
        let mine = sys.pins.function_mask[function::SPI] & SPI_PINS[self.index] & (SCK_PINS | TX_PINS);
        let stale = self.frame.is_some() && mine != 0;
        if stale {
            self.drive(sys, true);
        }
        stale
    }

    /// Handles a watcher that starts or stops following pins.
    pub fn reschedule(&mut self, sys: &mut Sys) {
        if self.frame.is_some() {
            self.refresh(sys);
        }
    }

    /// Handles the edges up to now: samples RX, and sets the levels of SCK and TX.
    fn follow(&mut self, sys: &mut Sys) {
        if !self.is_followed(sys) {
            return;
        }
        let high = self.rx_level(sys);
        let now = sys.now();
        if let Some(frame) = &mut self.frame
            && let Some(mut bitwise) = frame.bitwise
            && let Some((edges, _)) = frame.pins(bitwise, now, false)
        {
            while bitwise.done < edges {
                bitwise.done += 1;
                // Odd edges are the leading ones: with SPH the trailing ones sample.
                if (bitwise.done % 2 == 0) == bitwise.sph {
                    bitwise.miso = bitwise.miso << 1 | u16::from(high);
                }
            }
            frame.bitwise = Some(bitwise);
        }
        self.drive(sys, true);
    }

    fn rx_level(&self, sys: &Sys) -> bool {
        sys.pins.input() & sys.pins.function_mask[function::SPI] & SPI_PINS[self.index] & RX_PINS != 0
    }

    /// Handles this controller's event: last edge of a frame, end of the transfer, or receive timeout.
    pub fn event(&mut self, sys: &mut Sys, world: &mut impl World) {
        let now = sys.now();
        self.follow(sys);
        if let Some(frame) = self.frame
            && frame.last_edge <= now
        {
            self.frame = None;
            self.finish(sys, world, frame);
            self.start(sys);
        }
        self.update_fss(sys);
        if self.timeout_at <= now {
            self.timeout_at = NEVER;
            self.timed_out = !self.rx.is_empty();
        }
        self.refresh(sys);
    }

    /// Handles the last edge of `frame`.
    fn finish(&mut self, sys: &mut Sys, world: &mut impl World, frame: Frame) {
        let mine = sys.pins.function_mask[function::SPI] & SPI_PINS[self.index];
        self.busy_until = frame.fss_high;
        self.next_start = frame.next;
        sys.spi_shifted = (frame.last_edge - frame.begin, frame.halves);
        if let Some(recorder) = sys.recorder() {
            recorder.shifted(frame.begin, frame.last_edge);
        }
        let from_wire = (mine & RX_PINS & sys.pins.connected() != 0).then(|| match frame.bitwise {
            Some(bitwise) if bitwise.done == 2 * u64::from(frame.bits) => bitwise.miso,
            // Only an external control is connected, which holds a constant level.
            _ if self.rx_level(sys) => u16::MAX,
            _ => 0,
        });
        self.tx_level = frame.data & 1 != 0;
        self.drive(sys, false);
        // Without SCK on a pin no device sees the frame; without RX on a pin the input is low.
        let mut miso = if mine & SCK_PINS != 0 { world.spi_frame(sys, self.index, frame.data, frame.bits) } else { 0 };
        if mine & RX_PINS == 0 {
            miso = 0;
        }
        miso = from_wire.unwrap_or(miso);
        if self.cr1 & cr1::LBM != 0 {
            miso = frame.data;
        }
        miso &= ((1u32 << self.bits()) - 1) as u16;
        if sys.trace.wants(kind::SPI) {
            sys.trace.push(sys.now(), Record::Spi { spi: self.index as u8, mosi: frame.data, miso });
        }
        if sys.trace.wants(kind::WIRE) {
            self.trace_wires(sys, &frame, miso);
        }
        if self.rx.len() == FIFO_DEPTH {
            self.overrun = true;
        } else {
            self.rx.push_back(miso);
        }
        self.timed_out = false;
        self.restart_timeout(sys);
    }

    #[cold]
    fn trace_wires(&self, sys: &mut Sys, frame: &Frame, miso: u16) {
        let Some(Format::Motorola { sph }) = self.format() else { return };
        let (first, last) = if sph { (1, 2 * u64::from(frame.bits)) } else { (2, 2 * u64::from(frame.bits) + 1) };
        let first = frame.begin + (frame.last_edge - frame.begin) * first / last;
        let polarity = self.cr0 & cr0::SPO != 0;
        let Frame { bits, data: mosi, begin, last_edge, .. } = *frame;
        let record = Record::Wire { spi: self.index as u8, bits, mosi, miso, begin, first, polarity, phase: sph };
        sys.trace.push(last_edge, record);
    }

    fn restart_timeout(&mut self, sys: &Sys) {
        self.timeout_at = match self.halves(sys, 2 * TIMEOUT_BITS) {
            Some(duration) if !self.rx.is_empty() && self.frame.is_none() => sys.now().max(self.busy_until) + duration,
            _ => NEVER,
        };
    }

    fn drives_chip_select(&self, sys: &Sys) -> bool {
        sys.pins.function_mask[function::SPI] & SPI_PINS[self.index] & CS_PINS != 0
    }

    /// Sets the levels of the pins between frames: SCK idles at SPO, TX keeps its last bit. `bits`: levels within a
    /// frame.
    fn drive(&self, sys: &mut Sys, bits: bool) {
        let mine = SPI_PINS[self.index];
        let mut out = 0;
        if !self.fss_low {
            out |= CS_PINS;
        }
        let mut sck = self.cr0 & cr0::SPO != 0 && self.cr0 & 0x30 == 0;
        let mut tx = self.tx_level;
        if bits
            && let Some(frame) = self.frame
            && let Some(bitwise) = frame.bitwise
            && let Some((edges, level)) = frame.pins(bitwise, sys.now(), tx)
        {
            sck ^= edges % 2 != 0;
            tx = level;
        }
        if sck {
            out |= SCK_PINS;
        }
        if tx {
            out |= TX_PINS;
        }
        let pins = &mut sys.pins;
        let new = (pins.function_out[function::SPI] & !mine) | (out & mine);
        let oe = pins.function_oe[function::SPI] | (mine & (CS_PINS | SCK_PINS | TX_PINS));
        if new != pins.function_out[function::SPI] || oe != pins.function_oe[function::SPI] {
            pins.function_out[function::SPI] = new;
            pins.function_oe[function::SPI] = oe;
            pins.refresh();
        }
    }

    fn busy(&self, now: Ps) -> bool {
        self.frame.is_some() || !self.tx.is_empty() || now < self.busy_until
    }

    fn raw_interrupts(&self, sys: &Sys) -> u32 {
        let mut raw = 0;
        if self.overrun {
            raw |= int::ROR;
        }
        if !self.rx.is_empty() && (self.timed_out || self.timeout_at <= sys.now()) {
            raw |= int::RT;
        }
        if self.rx.len() >= FIFO_HALF {
            raw |= int::RX;
        }
        if self.tx.len() <= FIFO_HALF {
            raw |= int::TX;
        }
        raw
    }

    fn refresh(&mut self, sys: &mut Sys) {
        let (tx_dreq, rx_dreq, line) =
            [(dreq::SPI0_TX, dreq::SPI0_RX, irq::SPI0), (dreq::SPI1_TX, dreq::SPI1_RX, irq::SPI1)][self.index];
        sys.set_irq(line, self.raw_interrupts(sys) & self.imsc != 0);
        sys.set_dreq(tx_dreq, self.dmacr & dmacr::TXDMAE != 0 && self.tx.len() < FIFO_DEPTH);
        sys.set_dreq(rx_dreq, self.dmacr & dmacr::RXDMAE != 0 && !self.rx.is_empty());
        let mut due = self.frame.map_or(NEVER, |frame| frame.last_edge);
        if self.drives_chip_select(sys) {
            let now = sys.now();
            for edge in [self.busy_until, self.frame.map_or(NEVER, |frame| frame.begin)] {
                if edge > now {
                    due = due.min(edge);
                }
            }
        }
        if self.imsc & int::RT != 0 {
            due = due.min(self.timeout_at);
        }
        if let Some(frame) = self.frame
            && let Some(bitwise) = frame.bitwise
            && self.is_followed(sys)
        {
            let now = sys.now();
            due = due.min(match frame.pins(bitwise, now, false) {
                None => frame.begin,
                Some((edges, _)) => frame.edge_at(bitwise, (edges + 1).min(2 * u64::from(frame.bits))),
            });
        }
        if sys.due(self.event_id()) != due {
            sys.schedule(self.event_id(), due);
        }
    }
}

impl Peripheral for Spi {
    fn name(&self) -> &'static str {
        ["SPI0", "SPI1"][self.index]
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        match offset {
            reg::CR0 => self.cr0,
            reg::CR1 => self.cr1,
            // An empty FIFO reads 0 here; the chip gives an undefined value.
            reg::DR => {
                let word = self.rx.pop_front().unwrap_or(0);
                self.timed_out = false;
                self.restart_timeout(sys);
                self.refresh(sys);
                word.into()
            }
            reg::SR => {
                let mut value = 0;
                for (set, bit) in [
                    (self.tx.is_empty(), sr::TFE),
                    (self.tx.len() < FIFO_DEPTH, sr::TNF),
                    (!self.rx.is_empty(), sr::RNE),
                    (self.rx.len() == FIFO_DEPTH, sr::RFF),
                    (self.busy(sys.now()), sr::BSY),
                ] {
                    if set {
                        value |= bit;
                    }
                }
                value
            }
            reg::CPSR => self.cpsr,
            reg::IMSC => self.imsc,
            reg::RIS => self.raw_interrupts(sys),
            reg::MIS => self.raw_interrupts(sys) & self.imsc,
            reg::DMACR => self.dmacr,
            reg::PERIPHID0.. => IDENTIFICATION[((offset - reg::PERIPHID0) / 4 % 8) as usize],
            _ => 0,
        }
    }

    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        match offset {
            reg::CR0 => {
                self.cr0 = write.apply(self.cr0) & 0xffff;
                self.drive(sys, self.is_followed(sys));
            }
            reg::CR1 => {
                self.cr1 = write.apply(self.cr1) & 0xf;
                if self.cr1 & (cr1::MS | cr1::SSE) == cr1::MS | cr1::SSE {
                    unmodelled(sys, "SPI slave mode", offset, Some(write.bits));
                }
                self.drive(sys, self.is_followed(sys));
            }
            // A write to a full FIFO is lost.
            reg::DR if self.tx.len() < FIFO_DEPTH => self.tx.push_back(write.bits as u16),
            reg::CPSR => self.cpsr = write.apply(self.cpsr) & 0xfe,
            reg::IMSC => self.imsc = write.apply(self.imsc) & 0xf,
            reg::ICR => {
                if write.bits & int::ROR != 0 {
                    self.overrun = false;
                }
                if write.bits & int::RT != 0 {
                    self.timed_out = false;
                    self.timeout_at = NEVER;
                }
            }
            reg::DMACR => self.dmacr = write.apply(self.dmacr) & 3,
            _ => {}
        }
        self.start(sys);
        self.refresh(sys);
    }

    fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.index);
        self.drive(sys, false);
        self.refresh(sys);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Alias;
    use super::*;

    /// Answers every frame with its complement.
    #[derive(Default)]
    struct Recorder {
        /// Time of the last edge, controller, MOSI, bits.
        frames: Vec<(Ps, usize, u16, u8)>,
    }

    impl World for Recorder {
        fn spi_frame(&mut self, sys: &mut Sys, spi: usize, mosi: u16, bits: u8) -> u16 {
            self.frames.push((sys.now(), spi, mosi, bits));
            !mosi
        }
    }

    const HZ: u64 = 125_000_000;

    struct Bench {
        spi: Spi,
        sys: Sys,
        world: Recorder,
    }

    impl Bench {
        /// SPI0 on GPIO16, 18 and 19 at clk_peri / 4 with 8-bit frames.
        fn new(mode: u32) -> Self {
            let mut sys = Sys::new(HZ);
            sys.freq.clk_peri_hz = HZ;
            sys.pins.function_mask[function::SPI] = 0x000d_0000;
            let mut b = Self { spi: Spi::new(0), sys, world: Recorder::default() };
            b.w(reg::CPSR, 4);
            b.w(reg::CR0, 7 | (mode << 6));
            b.w(reg::CR1, cr1::SSE);
            b
        }

        fn w(&mut self, offset: u32, value: u32) {
            self.spi.write(&mut self.sys, offset, Write::normal(value));
        }

        fn r(&mut self, offset: u32) -> u32 {
            self.spi.read(&mut self.sys, offset)
        }

        fn run(&mut self, until: Ps) {
            while let Some(id) = self.sys.take_event(until) {
                assert_eq!(id, EventId::Spi0);
                self.spi.event(&mut self.sys, &mut self.world);
            }
            self.sys.cycle = self.sys.clock.cycle_at(until);
        }
    }

    /// One period of SCK in the benches: 4 cycles of 8 ns.
    const SCK: Ps = 32_000;

    #[test]
    fn reset_values() {
        let mut spi = Spi::new(1);
        let mut sys = Sys::new(HZ);
        for offset in (0..0x1000).step_by(4) {
            let expected = match offset {
                reg::SR => 3,
                reg::RIS => 8,
                reg::PERIPHID0.. => IDENTIFICATION[(offset as usize - 0xfe0) / 4],
                _ => 0,
            };
            assert_eq!(spi.read(&mut sys, offset), expected, "{offset:#x}");
        }
    }

    #[test]
    fn frames_have_the_timing_of_their_format() {
        // (mode as SPH << 1 | SPO, last edge, distance of frames) in half periods.
        for (mode, last, period) in [(0, 17, 19), (1, 17, 19), (2, 16, 16), (3, 16, 16)] {
            let mut b = Bench::new(mode);
            for byte in [0xa5, 0x5a, 0x00] {
                b.w(reg::DR, byte);
            }
            b.run(1_000_000_000);
            let at: Vec<Ps> = b.world.frames.iter().map(|f| f.0).collect();
            let half = SCK / 2;
            assert_eq!(at, [last * half, (period + last) * half, (2 * period + last) * half], "mode {mode}");
            assert_eq!(b.world.frames.iter().map(|f| f.2).collect::<Vec<_>>(), [0xa5, 0x5a, 0]);
        }
    }

    #[test]
    fn the_rate_is_clk_peri_over_cpsdvsr_and_scr() {
        let mut b = Bench::new(0);
        b.sys.freq.clk_peri_hz = 48_000_000;
        b.w(reg::CPSR, 25);
        assert_eq!(b.r(reg::CPSR), 24);
        b.w(reg::CR0, 15 | (4 << 8));
        b.w(reg::DR, 0x1_1234);
        b.run(1_000_000_000);
        // 33 half periods of 24 * 5 / 2 cycles of 48 MHz.
        assert_eq!(b.world.frames, [(33 * 60 * 1_000_000_000_000 / 48_000_000, 0, 0x1234, 16)]);
    }

    #[test]
    fn busy_lasts_until_the_chip_select_rises() {
        let mut b = Bench::new(0);
        b.w(reg::DR, 1);
        assert_eq!(b.r(reg::SR), sr::TFE | sr::TNF | sr::BSY);
        b.run(17 * SCK / 2);
        assert_eq!(b.r(reg::SR), sr::TFE | sr::TNF | sr::RNE | sr::BSY);
        b.run(18 * SCK / 2);
        assert_eq!(b.r(reg::SR), sr::TFE | sr::TNF | sr::RNE);
        assert_eq!(b.sys.next_due(), NEVER);
    }

    #[test]
    fn reads_return_the_worlds_answer_or_loop_back() {
        let mut b = Bench::new(0);
        b.w(reg::DR, 0x12);
        b.run(SCK * 100);
        assert_eq!(b.r(reg::DR), 0xed, "the recorder returns the complement");
        b.w(reg::CR1, cr1::SSE | cr1::LBM);
        b.w(reg::DR, 0x34);
        b.run(SCK * 200);
        assert_eq!(b.r(reg::DR), 0x34);
        assert_eq!(b.r(reg::DR), 0);
        b.w(reg::CR1, cr1::SSE);
        b.sys.pins.function_mask[function::SPI] = 0;
        b.w(reg::DR, 0x56);
        b.run(SCK * 300);
        assert_eq!((b.r(reg::DR), b.world.frames.len()), (0, 2), "no pin, no frame");
    }

    #[test]
    fn fifos_hold_eight_and_overrun() {
        let mut b = Bench::new(2);
        b.w(reg::CR1, 0);
        for byte in 0..10 {
            b.w(reg::DR, byte);
        }
        assert_eq!(b.r(reg::SR), sr::BSY);
        b.w(reg::CR1, cr1::SSE | cr1::LBM);
        assert_eq!(b.r(reg::SR) & sr::TNF, sr::TNF, "one is in the shift register");
        b.w(reg::DR, 0x77);
        b.run(SCK * 200);
        assert_eq!(b.r(reg::SR), sr::TFE | sr::TNF | sr::RNE | sr::RFF);
        assert_eq!(b.r(reg::RIS), int::ROR | int::RX | int::TX | int::RT);
        b.w(reg::ICR, int::ROR);
        assert_eq!(b.r(reg::RIS) & int::ROR, 0);
        assert_eq!((0..8).map(|_| b.r(reg::DR)).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn interrupts_follow_fifo_levels() {
        let mut b = Bench::new(0);
        b.w(reg::IMSC, int::TX | int::RX);
        let line = |b: &Bench| b.sys.irq_level() & (1 << irq::SPI0) != 0;
        assert!(line(&b));
        for _ in 0..6 {
            b.w(reg::DR, 1);
        }
        assert_eq!((b.r(reg::MIS), line(&b)), (0, false), "five wait");
        let frame = 19 * SCK / 2;
        b.run(17 * SCK / 2);
        assert_eq!(b.r(reg::MIS), int::TX);
        b.run(3 * frame + 17 * SCK / 2);
        assert_eq!(b.r(reg::MIS), int::TX | int::RX);
    }

    #[test]
    fn a_receive_timeout_comes_after_32_bits_without_a_read() {
        let mut b = Bench::new(0);
        b.w(reg::IMSC, int::RT);
        b.w(reg::DR, 1);
        b.w(reg::DR, 2);
        let idle = (19 + 18) * SCK / 2;
        b.run(idle + 32 * SCK - 1_000);
        b.sys.cycle -= 1;
        assert_eq!(b.r(reg::MIS), 0);
        b.run(idle + 32 * SCK);
        assert_eq!((b.r(reg::MIS), b.sys.irq_level() >> irq::SPI0 & 1), (int::RT, 1));
        b.w(reg::ICR, int::RT);
        assert_eq!((b.r(reg::MIS), b.sys.irq_level() >> irq::SPI0 & 1), (0, 0));
        b.r(reg::DR);
        assert_eq!(b.sys.due(EventId::Spi0), b.sys.now() + 32 * SCK);
        b.r(reg::DR);
        assert_eq!(b.sys.due(EventId::Spi0), NEVER);
    }

    #[test]
    fn dreqs_follow_the_fifos() {
        let mut b = Bench::new(0);
        assert_eq!(b.sys.dreq_level(), 0);
        b.w(reg::DMACR, 3);
        assert_eq!(b.sys.dreq_level(), 1 << dreq::SPI0_TX);
        for _ in 0..9 {
            b.w(reg::DR, 1);
        }
        assert_eq!(b.sys.dreq_level(), 0);
        b.run(17 * SCK / 2);
        assert_eq!(b.sys.dreq_level(), (1 << dreq::SPI0_TX) | (1 << dreq::SPI0_RX));
        b.r(reg::DR);
        assert_eq!(b.sys.dreq_level(), 1 << dreq::SPI0_TX);
    }

    #[test]
    fn the_hardware_chip_select_pulses_per_frame_only_with_sph_0() {
        for (mode, expected_falls, expected_rises) in [(0, &[0, 19, 38][..], &[18, 37, 56][..]), (2, &[0], &[50])] {
            let mut b = Bench::new(mode);
            b.sys.pins.function_mask[function::SPI] |= 1 << 17;
            b.sys.pins.refresh();
            assert_eq!(b.sys.pins.level() >> 17 & 1, 1);
            for _ in 0..3 {
                b.w(reg::DR, 1);
            }
            let half = SCK / 2;
            let mut falls = vec![0];
            let mut rises = vec![];
            let mut low = true;
            while let Some(_id) = b.sys.take_event(NEVER - 1) {
                b.spi.event(&mut b.sys, &mut b.world);
                let now_low = b.sys.pins.level() >> 17 & 1 == 0;
                if now_low != low {
                    if now_low { &mut falls } else { &mut rises }.push(b.sys.now() / half);
                }
                low = now_low;
            }
            assert_eq!((falls, rises), (expected_falls.to_vec(), expected_rises.to_vec()), "mode {mode}");
        }
    }

    #[test]
    fn clock_polarity_shows_on_the_idle_pin() {
        let mut b = Bench::new(1);
        assert_eq!(b.sys.pins.level() >> 18 & 1, 1);
        b.w(reg::CR0, 7);
        b.sys.pins.refresh();
        assert_eq!(b.sys.pins.level() >> 18 & 1, 0);
    }

    #[test]
    fn other_formats_are_timed() {
        for (frf, at) in [(1, 18), (2, 35)] {
            let mut b = Bench::new(0);
            b.w(reg::CR0, 7 | (frf << 4));
            b.w(reg::DR, 0xc3);
            b.run(1_000_000_000);
            assert_eq!(b.world.frames, [(at * SCK / 2, 0, 0xc3, 8)]);
        }
        let mut b = Bench::new(0);
        b.w(reg::CR0, 7 | (3 << 4));
        b.w(reg::DR, 1);
        assert!(b.sys.unmodelled.is_some());
        let mut b = Bench::new(0);
        b.w(reg::CR1, cr1::SSE | cr1::MS);
        assert!(b.sys.unmodelled.is_some());
    }

    #[test]
    fn frames_are_traced() {
        let mut b = Bench::new(0);
        b.sys.trace.start(kind::SPI, 4);
        b.w(reg::DR, 0x0f);
        b.run(1_000_000_000);
        assert_eq!(b.sys.trace.take().0, [(17 * SCK / 2, Record::Spi { spi: 0, mosi: 0x0f, miso: 0xf0 })]);
    }

    #[test]
    fn random_use_never_panics() {
        let mut b = Bench::new(0);
        let mut x = 0x2545_f491_4f6c_dd1du64;
        for _ in 0..200_000 {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            let value = (x >> 32) as u32;
            match x % 8 {
                0..3 => {
                    let alias = [Alias::Normal, Alias::Xor, Alias::Set, Alias::Clear][(x >> 20) as usize % 4];
                    b.spi.write(&mut b.sys, (x >> 8) as u32 & 0x3c, Write { bits: value, alias });
                }
                3..5 => b.w(reg::DR, value),
                5 => {
                    b.r((x >> 8) as u32 & 0xffc);
                }
                6 => b.sys.freq.clk_peri_hz = [0, 1, 48_000_000, 125_000_000][value as usize % 4],
                _ => {
                    let until = b.sys.now() + u64::from(value);
                    b.run(until);
                }
            }
        }
    }
}
