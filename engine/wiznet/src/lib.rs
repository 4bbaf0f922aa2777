//! WIZnet's Ethernet chips with hardwired TCP/IP: sockets, protocols, memories and timers that the family shares, and in
//! `chip` what makes each one differ. Written to the W5500 datasheet 1.0.9, whose sections are named throughout.
//!
//! The chip is driven as on a board: chip select edges, SPI bytes, the RSTn pin and complete Ethernet frames, each with
//! its simulated time. Time only moves through these calls; equal calls give equal results.
//!
//! What takes the chip time is modelled only where the datasheet gives a figure (`time.rs`): RSTn and PLL lock, INTLEVEL,
//! RTR/RCR, PTIMER, Sn_KPALVTR, and where captures show it: `Config::tcp_answer`. The PHY's negotiation takes
//! `Config::phy_link_delay`. Commands, checksums and copies to and from the MAC take none.

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

use sim::{Device, EthernetChip, EthernetStats, Ps, SpiDevice, SpiFrame};

use chip::{Model, Phy};
use common::Common;
use frame_log::FrameLog;
use interrupt::IntPin;
use memory::Memory;
use reset::ResetLine;
use socket::Socket;

pub use chip::w5500::W5500;

/// What differs from board to board or cannot be known from the datasheet.
#[derive(Clone, Debug)]
pub struct Config {
    /// From RSTn's release, power-up, the end of a PHY reset by PHYCFGR, or plugging in the cable to link up.
    /// Real chips negotiate for 1 to 3 s.
    pub phy_link_delay: Ps,
    /// Is the cable plugged in at power-up?
    pub cable_plugged: bool,
    /// The W5500's PMODE[2:0] pins; 7 (auto-negotiation) is what the internal pull-ups give.
    pub pmode: u8,
    /// How long SOCK_TIME_WAIT shows before SOCK_CLOSED. The datasheet gives no figure and says that Sn_SR becomes
    /// SOCK_CLOSED when FIN/ACK is received (4.2 "Sn_CR", DISCON), so the default is 0.
    pub time_wait: Ps,
    /// Unit of RTR: 100 us by the datasheet (4.1 "RTR"), somewhat more on chips that were measured (docs/evidence/silicon.md).
    pub retry_unit: Ps,
    /// From a TCP segment's arrival to what the hardwired TCP itself answers. The datasheet gives no figure.
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

/// A chip of the family.
pub struct Wiznet<M: Model> {
    config: Config,
    /// The latest time that any call has told; time never goes back.
    now: Ps,
    /// The earliest time at which `advance` has something to do.
    due: Option<Ps>,
    common: Common,
    sockets: Vec<Socket>,
    tx: Memory,
    rx: Memory,
    phy: M::Phy,
    int_pin: IntPin,
    reset: ResetLine,
    spi: M::Decoder,
    own: M::Own,
    log: FrameLog,
    /// Identification field of the next IPv4 header.
    ip_id: u16,
    lcp: pppoe::Lcp,
    /// Frames for the PHY, in the order of their times.
    outgoing: VecDeque<(Ps, Vec<u8>)>,
    /// How much later than now a frame goes out.
    emit_delay: Ps,
    stats: EthernetStats,
    /// What the host asked for and is not modelled.
    unmodelled: Option<String>,
}

impl<M: Model> Wiznet<M> {
    pub const NAME: &str = M::NAME;

    /// A chip that is powered up, with RSTn released and SCSn high, at time 0.
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
            spi: M::Decoder::default(),
            own: M::Own::default(),
            log: FrameLog::default(),
            ip_id: 0,
            lcp: pppoe::Lcp::default(),
            outgoing: VecDeque::new(),
            emit_delay: 0,
            stats: EthernetStats::default(),
            unmodelled: None,
        };
        M::reset(&mut chip);
        chip
    }

    /// When the link that is being negotiated comes up or has come up; `None` while there can be none.
    pub fn link_up_at(&self) -> Option<Ps> {
        self.phy.link_at()
    }

    /// Runs every timer that is due at `self.now`.
    fn run_timers(&mut self) {
        self.reset_timer();
        for n in 0..M::SOCKETS {
            self.arp_timer(n);
            self.tcp_timers(n);
        }
        self.lcp_timer();
        M::timers(self);
    }

    /// After anything that may have changed a timer or an interrupt: brings INTn and `due` up to date.
    fn refresh(&mut self) {
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

    /// Does an interrupt ask for INTn to be low? (datasheet 4.1 "IMR", "SIMR")
    fn shared_interrupt_pending(&self) -> bool {
        self.common.ir() & self.common.imr() != 0 || self.sir() & self.common.simr() != 0
    }

    /// SIR: the sockets with an interrupt that Sn_IMR lets through. Sn_IMR does not keep a bit out of Sn_IR itself:
    /// MicroPython's MACRAW driver unmasks RECV alone and still waits for SEND_OK in Sn_IR.
    fn sir(&self) -> u8 {
        (0..M::SOCKETS).filter(|&n| self.sockets[n].ir & self.sockets[n].imr() != 0).fold(0, |sir, n| sir | 1 << n)
    }

    /// The MAC hands a frame to the PHY, which loses it when there is no link.
    fn emit(&mut self, frame: Vec<u8>) {
        if self.link_up(self.now) {
            self.stats.frames_out += 1;
            let at = self.now.saturating_add(self.emit_delay);
            // One MAC: what comes later waits for what is being answered.
            let at = self.outgoing.back().map_or(at, |&(last, _)| last.max(at));
            self.outgoing.push_back((at, frame));
        }
    }

    /// The run ends: the chip would do something that is not modelled.
    fn leave_out(&mut self, what: &str) {
        self.unmodelled.get_or_insert_with(|| format!("{} {what}", M::NAME));
    }

    /// Does `act` on a segment that has arrived: what it sends goes out when the chip has worked on it.
    fn answering_late(&mut self, act: impl FnOnce(&mut Self) -> bool) -> bool {
        self.emit_delay = self.config.tcp_answer;
        let done = act(self);
        self.emit_delay = 0;
        done
    }
}

/// As many closed sockets as the chip has.
fn sockets(count: usize) -> Vec<Socket> {
    (0..count).map(|_| Socket::default()).collect()
}

impl<M: Model> Device for Wiznet<M> {
    fn name(&self) -> &'static str {
        M::NAME
    }

    /// A low pulse shorter than 500 us is no reset.
    fn set_reset(&mut self, now: Ps, low: bool) {
        self.advance(now);
        self.reset_line(low);
        self.refresh();
    }

    fn interrupt_low(&self) -> bool {
        self.int_pin.low()
    }

    fn next_event(&self) -> Option<Ps> {
        self.due
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
        M::select(self, low);
    }

    /// Returns 0 where the chip does not drive MISO.
    fn exchange(&mut self, now: Ps, mosi: u8) -> u8 {
        self.advance(now);
        M::exchange(self, mosi)
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

    /// Lost when the link is down or the length is illegal.
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
