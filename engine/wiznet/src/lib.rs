//! WIZnet's Ethernet chips with hardwired TCP/IP: the sockets, protocols, memories and timers of the family, and in
//! `chip` the differences of each chip. Written to the W5500 datasheet 1.0.9, whose sections are named throughout.
//!
//! The chip's inputs are those on a board: chip select edges, SPI bytes, the RSTn pin and complete Ethernet frames,
//! each with its simulated time. Time only moves through these calls; equal calls give equal results.
//!
//! The chip's delays are modelled only where the datasheet gives a figure (`time.rs`): RSTn and PLL lock, INTLEVEL,
//! RTR/RCR, PTIMER, Sn_KPALVTR, and where captures show one: `Config::tcp_answer`. The PHY's negotiation takes
//! `Config::phy_link_delay`. Commands, checksums and copies to and from the MAC take no time.
//!
//! Read VERSIONR, register 0x0039, at 10 MHz:
//!
//! ```
//! use sim::{PS_PER_MS, PS_PER_NS, SpiDevice};
//! use wiznet::{Config, W5500};
//!
//! let mut chip = W5500::new(Config::default());
//! let mut now = 10 * PS_PER_MS;
//! chip.select(now, true);
//! let answers = [0x00, 0x39, 0x00, 0x00].map(|mosi| {
//!     now += 800 * PS_PER_NS;
//!     chip.exchange(now, mosi)
//! });
//! chip.select(now, false);
//! assert_eq!(answers[3], 0x04);
//! ```

#![warn(missing_docs, unreachable_pub)]

mod arp;
pub mod chip;
mod common;
mod frame_log;
mod icmp;
mod igmp;
mod interrupt;
mod ip;
mod macraw;
mod map;
mod memory;
mod names;
mod pppoe;
mod registers;
mod reset;
mod socket;
mod tcp;
mod time;
mod udp;
mod wire;

use std::collections::VecDeque;

use sim::snapshot::LeftOut;
use sim::{Device, EthernetChip, EthernetStats, Lanes, Ps, Snapshot, SpiDevice, SpiFrame};

use chip::{Model, Phy};
use common::Common;
use frame_log::FrameLog;
use interrupt::IntPin;
use memory::Memory;
use reset::ResetLine;
use socket::Socket;

pub use chip::w5500::W5500;

/// Settings that differ between boards or are not in the datasheet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Time to link up after RSTn's release, power-up, a PHY reset by PHYCFGR, or plugging in the cable. Real chips
    /// negotiate for 1 to 3 s.
    pub phy_link_delay: Ps,
    /// The cable is plugged in at power-up.
    pub cable_plugged: bool,
    /// The W5500's PMODE\[2:0\] pins; 7 (auto-negotiation) with the internal pull-ups.
    pub pmode: u8,
    /// Duration of SOCK_TIME_WAIT before SOCK_CLOSED. The datasheet gives no figure and says that Sn_SR becomes
    /// SOCK_CLOSED when FIN/ACK is received (4.2 "Sn_CR", DISCON), so the default is 0.
    pub time_wait: Ps,
    /// Unit of RTR: 100 us in the datasheet (4.1 "RTR"), slightly more on measured chips (docs/evidence/silicon.md).
    pub retry_unit: Ps,
    /// Time from a TCP segment's arrival to the answer of the hardwired TCP. The datasheet gives no figure.
    pub tcp_answer: Ps,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            phy_link_delay: 1_500 * sim::PS_PER_MS,
            cable_plugged: true,
            pmode: 7,
            time_wait: 0,
            retry_unit: time::RTR_UNIT,
            tcp_answer: 0,
        }
    }
}

/// A chip of the family. Snapshots leave out its settings and its log.
#[derive(Snapshot)]
pub struct Wiznet<M: Model> {
    config: Config,
    /// The latest time passed by any call; time never goes back.
    now: Ps,
    /// The earliest time at which `advance` has work.
    due: Option<Ps>,
    common: Common,
    sockets: Vec<Socket>,
    tx: Memory,
    rx: Memory,
    phy: M::Phy,
    int_pin: IntPin,
    reset: ResetLine,
    selected: bool,
    spi: M::Decoder,
    own: M::Own,
    log: FrameLog,
    /// Identification field of the next IPv4 header.
    ip_id: u16,
    lcp: pppoe::Lcp,
    /// Frames for the PHY, in the order of their times.
    outgoing: VecDeque<(Ps, Vec<u8>)>,
    /// Delay of a frame's transmission from now.
    emit_delay: Ps,
    stats: EthernetStats,
    /// An unmodelled request of the host.
    unmodelled: Option<String>,
    /// See [`Device::take_touched`].
    touched: LeftOut<bool>,
}

sim::left_out!([] Config, [] FrameLog);

impl<M: Model> Wiznet<M> {
    /// The part's name.
    pub const NAME: &str = M::NAME;

    /// Creates a powered chip, with RSTn released and SCSn high, at time 0.
    pub fn new(config: Config) -> Self {
        let phy = M::Phy::new(&config);
        let mut chip = Self {
            config,
            now: 0,
            due: None,
            common: Common::default(),
            sockets: sockets(M::SOCKETS),
            tx: Memory::new(M::MEMORY_BYTES, M::SOCKETS),
            rx: Memory::new(M::MEMORY_BYTES, M::SOCKETS),
            phy,
            int_pin: IntPin::default(),
            reset: ResetLine::power_up(M::PLL_LOCK),
            selected: false,
            spi: M::Decoder::default(),
            own: M::Own::default(),
            log: FrameLog::default(),
            ip_id: 0,
            lcp: pppoe::Lcp::default(),
            outgoing: VecDeque::new(),
            emit_delay: 0,
            stats: EthernetStats::default(),
            unmodelled: None,
            touched: LeftOut(true),
        };
        M::reset(&mut chip);
        chip
    }

    /// Returns when the link being negotiated comes up or came up; `None` while no link is possible.
    pub fn link_up_at(&self) -> Option<Ps> {
        self.phy.link_at()
    }

    /// Runs every timer due at `self.now`.
    fn run_timers(&mut self) {
        self.reset_timer();
        for n in 0..M::SOCKETS {
            self.arp_timer(n);
            self.tcp_timers(n);
        }
        self.lcp_timer();
        M::timers(self);
    }

    /// Updates INTn and `due` after any change of a timer or an interrupt, a frame sent, or an unmodelled request.
    fn refresh(&mut self) {
        self.touched.0 = true;
        let pending = M::interrupt_pending(self);
        self.int_pin.update(self.now, pending, M::interrupt_wait(self));
        self.due = self
            .sockets
            .iter()
            .flat_map(|s| [s.arp.as_ref().map(|wait| wait.deadline), s.tcp.next_event()])
            .chain([self.reset.next_event(M::RESET_CYCLE), self.int_pin.next_event(pending), self.lcp.next_event()])
            .chain([M::next_event(self)])
            .chain([self.outgoing.iter().map(|&(at, _)| at).find(|&at| at > self.now)])
            .flatten()
            .min();
    }

    /// Returns whether an interrupt asserts INTn (datasheet 4.1 "IMR", "SIMR").
    fn shared_interrupt_pending(&self) -> bool {
        self.common.ir() & self.common.imr() != 0 || self.sir() & self.common.simr() != 0
    }

    /// Returns SIR: the sockets with an interrupt that Sn_IMR enables. Sn_IMR does not mask Sn_IR itself: MicroPython's
    /// MACRAW driver enables only RECV and still waits for SEND_OK in Sn_IR.
    fn sir(&self) -> u8 {
        (0..M::SOCKETS).filter(|&n| self.sockets[n].ir & self.sockets[n].imr() != 0).fold(0, |sir, n| sir | 1 << n)
    }

    /// Passes a frame from the MAC to the PHY, which drops it without a link.
    fn emit(&mut self, frame: Vec<u8>) {
        if self.link_up(self.now) {
            self.stats.frames_out += 1;
            let at = self.now.saturating_add(self.emit_delay);
            // There is one MAC: later frames wait for an earlier answer.
            let at = self.outgoing.back().map_or(at, |&(last, _)| last.max(at));
            self.outgoing.push_back((at, frame));
        }
    }

    /// Ends the run because the chip would do something that is not modelled.
    fn leave_out(&mut self, what: &str) {
        self.unmodelled.get_or_insert_with(|| format!("{} {what}", M::NAME));
    }

    /// Runs `act` for a received segment: its transmissions are delayed by the chip's processing time.
    fn answering_late(&mut self, act: impl FnOnce(&mut Self) -> bool) -> bool {
        self.emit_delay = self.config.tcp_answer;
        let done = act(self);
        self.emit_delay = 0;
        done
    }
}

/// Returns the chip's sockets, closed.
fn sockets(count: usize) -> Vec<Socket> {
    (0..count).map(|_| Socket::default()).collect()
}

impl<M: Model> Device for Wiznet<M> {
    fn name(&self) -> &'static str {
        M::NAME
    }

    /// Sets RSTn. A low pulse shorter than 500 us does not reset the chip.
    fn set_reset(&mut self, now: Ps, low: bool) {
        self.advance(now);
        if low != self.reset.is_low() {
            self.reset_line(low);
            self.refresh();
        }
    }

    fn interrupt_low(&self) -> bool {
        self.int_pin.low()
    }

    fn next_event(&self) -> Option<Ps> {
        self.due
    }

    fn take_touched(&mut self) -> bool {
        std::mem::take(&mut self.touched.0)
    }

    fn take_unmodelled(&mut self) -> Option<String> {
        self.unmodelled.take()
    }

    /// Each timer runs at its own time.
    fn advance(&mut self, now: Ps) {
        while let Some(due) = self.due.filter(|&due| due <= now) {
            self.now = self.now.max(due);
            self.run_timers();
            self.refresh();
        }
        self.now = self.now.max(now);
    }
}

impl<M: Model> SpiDevice for Wiznet<M> {
    fn select(&mut self, now: Ps, low: bool) {
        self.advance(now);
        if low == self.selected {
            return;
        }
        self.selected = low;
        if low {
            self.stats.chip_selects += 1;
            if self.reset.stable(self.now) {
                M::begin_frame(self);
            }
        } else {
            M::end_frame(self);
            self.spi = M::Decoder::default();
        }
    }

    /// Exchanges a byte; returns 0 while the chip does not drive MISO.
    fn exchange(&mut self, now: Ps, mosi: u8) -> u8 {
        self.advance(now);
        if !self.selected {
            return 0;
        }
        self.stats.bus_bytes += 1;
        if !self.reset.stable(self.now) {
            self.spi = M::Decoder::default();
        }
        M::exchange(self, mosi)
    }

    fn lanes(&self) -> Lanes {
        M::lanes(self)
    }

    fn clocked(&mut self, byte: Ps) {
        let hz = 8 * sim::PS_PER_S / byte.max(1);
        self.log.note_clock(hz, M::MOST_SCK_HZ);
    }

    fn set_log(&mut self, on: bool) {
        self.log.set(on);
    }

    fn take_log(&mut self) -> Vec<SpiFrame> {
        self.log.take()
    }
}

impl<M: Model> EthernetChip for Wiznet<M> {
    fn take_frame(&mut self) -> Option<(Ps, Vec<u8>)> {
        if self.outgoing.front()?.0 <= self.now { self.outgoing.pop_front() } else { None }
    }

    /// Receives a frame; it is lost if the link is down or its length is illegal.
    fn receive_frame(&mut self, now: Ps, frame: &[u8]) {
        self.advance(now);
        if !self.link_up(self.now) || !(wire::ETHERNET_HEADER..=wire::MAX_FRAME).contains(&frame.len()) {
            return;
        }
        self.stats.frames_in += 1;
        self.frame_arrived(frame);
        self.refresh();
    }

    fn set_cable(&mut self, now: Ps, plugged: bool) {
        self.advance(now);
        self.phy.set_cable(self.now, plugged);
    }

    fn link_up(&self, now: Ps) -> bool {
        self.phy.link_up(now)
    }

    fn stats(&self) -> EthernetStats {
        self.stats
    }
}
