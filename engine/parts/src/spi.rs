//! SPI: ARM PrimeCell SSP (PL022) in master mode (datasheet 4.4; ARM DDI 0194).
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

use crate::wires::SerialWires;
use chip::trace::{Record, kind};
use chip::{Peripheral, Sys, World, Write, unmodelled};
use sim::snapshot::LeftOut;
use sim::{NEVER, PS_PER_S, Ps, Snapshot};
use std::collections::VecDeque;

const FIFO_DEPTH: usize = 8;
/// TX and RX interrupts: half full or less, half full or more.
const FIFO_HALF: usize = 4;
const TIMEOUT_BITS: u64 = 32;

mod reg {
    pub(crate) const CR0: u32 = 0x00;
    pub(crate) const CR1: u32 = 0x04;
    pub(crate) const DR: u32 = 0x08;
    pub(crate) const SR: u32 = 0x0c;
    pub(crate) const CPSR: u32 = 0x10;
    pub(crate) const IMSC: u32 = 0x14;
    pub(crate) const RIS: u32 = 0x18;
    pub(crate) const MIS: u32 = 0x1c;
    pub(crate) const ICR: u32 = 0x20;
    pub(crate) const DMACR: u32 = 0x24;
    pub(crate) const PERIPHID0: u32 = 0xfe0;
}
mod cr0 {
    pub(crate) const SPH: u32 = 1 << 7;
    pub(crate) const SPO: u32 = 1 << 6;
}
mod cr1 {
    pub(crate) const LBM: u32 = 1;
    pub(crate) const SSE: u32 = 2;
    pub(crate) const MS: u32 = 4;
}
mod sr {
    pub(crate) const TFE: u32 = 1;
    pub(crate) const TNF: u32 = 2;
    pub(crate) const RNE: u32 = 4;
    pub(crate) const RFF: u32 = 8;
    pub(crate) const BSY: u32 = 16;
}
mod int {
    pub(crate) const ROR: u32 = 1;
    pub(crate) const RT: u32 = 2;
    pub(crate) const RX: u32 = 4;
    pub(crate) const TX: u32 = 8;
}
mod dmacr {
    pub(crate) const RXDMAE: u32 = 1;
    pub(crate) const TXDMAE: u32 = 2;
}
const IDENTIFICATION: [u32; 8] = [0x22, 0x10, 0x34, 0x00, 0x0d, 0xf0, 0x05, 0xb1];

/// Pins by signal: RX is n mod 4 = 0, CSn 1, SCK 2, TX 3.
const RX_PINS: u64 = 0x1111_1111_1111_1111;
const CS_PINS: u64 = RX_PINS << 1;
const SCK_PINS: u64 = RX_PINS << 2;
const TX_PINS: u64 = RX_PINS << 3;

/// CR0.FRF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
enum Format {
    Motorola { sph: bool },
    Ti,
    Microwire,
}

/// Edges of a frame after its start, in half periods of SCK or in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
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

/// What CR0, CPSR, clk_peri and [`Sys::spi_speed`] lead to: computed again when one of them has changed.
#[derive(Clone, Copy, Debug)]
struct Durations {
    of: (u32, u32, u64, u64),
    frame: Option<Edges>,
    timeout: Option<Ps>,
}

#[derive(Clone, Copy, Debug, Snapshot)]
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
#[derive(Clone, Copy, Debug, Snapshot)]
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

/// A PL022 controller.
#[derive(Debug, Snapshot)]
pub struct Spi {
    wires: SerialWires,
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
    durations: LeftOut<Durations>,
}

impl Spi {
    /// Returns the part in its reset state, connected by `wires`.
    pub fn new(wires: SerialWires) -> Self {
        Self {
            wires,
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
            durations: LeftOut(Durations { of: (0, 0, 0, 0), frame: None, timeout: None }),
        }
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

    fn durations(&mut self, sys: &Sys) -> Durations {
        let of = (self.cr0, self.cpsr, sys.freq.clk_peri_hz, sys.spi_speed);
        if self.durations.of != of {
            let time = |halves| self.halves(sys, halves);
            let frame = self.format().and_then(|format| {
                let edges = edges(format, self.bits().into());
                Some(Edges { last: time(edges.last)?, fss_high: time(edges.fss_high)?, next: time(edges.next)? })
            });
            self.durations = LeftOut(Durations { of, frame, timeout: time(2 * TIMEOUT_BITS) });
        }
        *self.durations
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
        let halves = edges(format, bits.into()).last;
        let Some(Edges { last, fss_high, next }) = self.durations(sys).frame else { return };
        let Some(word) = self.tx.pop_front() else { return };
        let begin = sys.now().max(self.next_start);
        let bits = if format == Format::Microwire { 8 } else { bits };
        let bitwise = match format {
            Format::Motorola { sph } => Some(Bitwise { sph, halves, done: 0, miso: 0 }),
            _ => None,
        };
        self.frame = Some(Frame {
            data: (u32::from(word) & ((1 << bits) - 1)) as u16,
            bits: bits as u8,
            begin,
            last_edge: begin + last,
            fss_high: begin + fss_high,
            next: begin + next,
            halves,
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
        let mine = self.wires.pins.selected(&sys.pins);
        mine & (SCK_PINS | TX_PINS | RX_PINS) & sys.followed_pins() != 0
    }

    /// Updates the pins for a program that reads them. Returns whether they may have been out of date.
    pub fn refresh_pins(&mut self, sys: &mut Sys) -> bool {
        let mine = self.wires.pins.selected(&sys.pins) & (SCK_PINS | TX_PINS);
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
        sys.pins.input() & self.wires.pins.selected(&sys.pins) & RX_PINS != 0
    }

    /// Handles this controller's event: last edge of a frame, end of the transfer, or receive timeout.
    pub fn event(&mut self, sys: &mut Sys, world: &mut dyn World) {
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
    fn finish(&mut self, sys: &mut Sys, world: &mut dyn World, frame: Frame) {
        let mine = self.wires.pins.selected(&sys.pins);
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
        let mut miso =
            if mine & SCK_PINS != 0 { world.spi_frame(sys, self.wires.number, frame.data, frame.bits) } else { 0 };
        if mine & RX_PINS == 0 {
            miso = 0;
        }
        miso = from_wire.unwrap_or(miso);
        if self.cr1 & cr1::LBM != 0 {
            miso = frame.data;
        }
        miso &= ((1u32 << self.bits()) - 1) as u16;
        if sys.trace.wants(kind::SPI) {
            sys.trace.push(sys.now(), Record::Spi { spi: self.wires.number as u8, mosi: frame.data, miso });
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
        let record =
            Record::Wire { spi: self.wires.number as u8, bits, mosi, miso, begin, first, polarity, phase: sph };
        sys.trace.push(last_edge, record);
    }

    fn restart_timeout(&mut self, sys: &Sys) {
        self.timeout_at = match self.durations(sys).timeout {
            Some(duration) if !self.rx.is_empty() && self.frame.is_none() => sys.now().max(self.busy_until) + duration,
            _ => NEVER,
        };
    }

    fn drives_chip_select(&self, sys: &Sys) -> bool {
        self.wires.pins.selected(&sys.pins) & CS_PINS != 0
    }

    /// Sets the levels of the pins between frames: SCK idles at SPO, TX keeps its last bit. `bits`: levels within a
    /// frame.
    fn drive(&self, sys: &mut Sys, bits: bool) {
        let (mine, function) = (self.wires.pins.pins, self.wires.pins.function);
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
        let new = (pins.function_out[function] & !mine) | (out & mine);
        let oe = pins.function_oe[function] | (mine & (CS_PINS | SCK_PINS | TX_PINS));
        if new != pins.function_out[function] || oe != pins.function_oe[function] {
            pins.function_out[function] = new;
            pins.function_oe[function] = oe;
            pins.refresh();
        }
    }

    /// Returns what the register at `address` reads now, and up to which cycle unless an event comes before, if programs
    /// poll it.
    pub fn polled(&self, sys: &Sys, address: u32, now: impl FnOnce() -> Ps) -> Option<(u32, u64)> {
        if address & 0xfff != reg::SR {
            return None;
        }
        // The end of a frame is an event, but not that of its chip select.
        let ends = if self.transfers() { NEVER } else { self.busy_until };
        let busy = ends == NEVER || now() < ends;
        let until = if busy && ends != NEVER { sys.clock.cycle_at(ends) } else { u64::MAX };
        Some((self.status(busy), until))
    }

    fn status(&self, busy: bool) -> u32 {
        let flags = [
            (self.tx.is_empty(), sr::TFE),
            (self.tx.len() < FIFO_DEPTH, sr::TNF),
            (!self.rx.is_empty(), sr::RNE),
            (self.rx.len() == FIFO_DEPTH, sr::RFF),
            (busy, sr::BSY),
        ];
        flags.into_iter().fold(0, |value, (set, bit)| if set { value | bit } else { value })
    }

    fn busy(&self, now: Ps) -> bool {
        self.transfers() || now < self.busy_until
    }

    /// Returns whether a frame is on the wire, or about to be.
    fn transfers(&self) -> bool {
        self.frame.is_some() || !self.tx.is_empty()
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
        let SerialWires { irq, tx_dreq, rx_dreq, .. } = self.wires;
        sys.set_irq(irq, self.raw_interrupts(sys) & self.imsc != 0);
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
        // An access can come late in its instruction, after a fetch that waited: the edges until then are yet to come.
        let pending = sys.due(self.wires.event);
        if pending <= sys.now() {
            due = due.min(pending);
        }
        if pending != due {
            sys.schedule(self.wires.event, due);
        }
    }
}

impl Peripheral for Spi {
    fn name(&self) -> &'static str {
        self.wires.name
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
            reg::SR => self.status(self.busy(sys.now())),
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
        *self = Self::new(self.wires);
        self.drive(sys, false);
        self.refresh(sys);
    }
}

#[cfg(test)]
mod tests;
