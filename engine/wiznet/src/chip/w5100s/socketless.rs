//! Commands without a socket: SLCR's ARP and PING, each repeated SLRCR times every SLRTR.

use sim::{Ps, Snapshot};

use super::W5100S;
use crate::icmp::ECHO_REQUEST;
use crate::time::retry_period;
use crate::wire::{IpAddr, Mac, be16};

pub(crate) const SLCR: u16 = 0x4C;
pub(crate) const SLRTR: u16 = 0x4D;
pub(crate) const SLRCR: u16 = 0x4F;
pub(crate) const SLPIPR: u16 = 0x50;
pub(crate) const SLPHAR: u16 = 0x54;
pub(crate) const PINGSEQR: u16 = 0x5A;
pub(crate) const PINGIDR: u16 = 0x5C;
pub(crate) const SLIMR: u16 = 0x5E;
pub(crate) const SLIR: u16 = 0x5F;
pub(crate) const FIRST: u16 = SLCR;
pub(crate) const LAST: u16 = SLIR;

/// Bit in SLCR, SLIMR and SLIR.
pub(crate) const PING: u8 = 0x01;
pub(crate) const ARP: u8 = 0x02;
/// Bit in SLIMR and SLIR.
pub(crate) const TIMEOUT: u8 = 0x04;
const INTERRUPTS: u8 = PING | ARP | TIMEOUT;

const BYTES: usize = (LAST - FIRST + 1) as usize;
/// Payload of a ping.
const PING_DATA: &[u8; 18] = b"abcdefghijklmnopqr";

#[derive(Snapshot)]
pub(crate) struct SocketLess {
    /// SLCR to SLIR.
    bytes: [u8; BYTES],
    running: Option<Running>,
}

#[derive(Snapshot)]
struct Running {
    /// The address to be resolved.
    next_hop: IpAddr,
    /// The address was resolved, and the echo request was sent.
    pinging: bool,
    deadline: Ps,
    repetitions: u8,
}

impl Default for SocketLess {
    fn default() -> Self {
        let mut socketless = Self { bytes: [0; BYTES], running: None };
        socketless.set(SLRTR, &2000u16.to_be_bytes());
        socketless
    }
}

impl SocketLess {
    pub(crate) fn read(&self, address: u16) -> u8 {
        self.bytes[usize::from(address - FIRST)]
    }

    fn set(&mut self, address: u16, value: &[u8]) {
        let at = usize::from(address - FIRST);
        self.bytes[at..at + value.len()].copy_from_slice(value);
    }

    fn array<const N: usize>(&self, address: u16) -> [u8; N] {
        let at = usize::from(address - FIRST);
        std::array::from_fn(|i| self.bytes[at + i])
    }

    fn target(&self) -> IpAddr {
        IpAddr::from(self.array::<4>(SLPIPR))
    }

    pub(crate) fn interrupt_pending(&self) -> bool {
        self.read(SLIR) & self.read(SLIMR) != 0
    }

    pub(crate) fn next_event(&self) -> Option<Ps> {
        self.running.as_ref().map(|running| running.deadline)
    }

    /// Ends a command; SLCR clears itself.
    fn finish(&mut self, interrupt: u8) {
        self.running = None;
        self.set(SLCR, &[0]);
        self.set(SLIR, &[self.read(SLIR) | interrupt]);
    }

    pub(crate) fn echo_reply(&mut self, from: IpAddr, message: &[u8]) -> bool {
        let waited_for = self.running.as_ref().is_some_and(|running| running.pinging)
            && from == self.target()
            && message[4..6] == self.array::<2>(PINGIDR)
            && message[6..8] == self.array::<2>(PINGSEQR);
        if waited_for {
            self.finish(PING);
        }
        waited_for
    }
}

impl W5100S {
    pub(super) fn write_socketless(&mut self, address: u16, value: u8) {
        let socketless = &mut self.own.socketless;
        match address {
            SLCR => self.socketless_command(value),
            SLPHAR..PINGSEQR => {}
            SLIMR => socketless.set(SLIMR, &[value & INTERRUPTS]),
            SLIR => socketless.set(SLIR, &[socketless.read(SLIR) & !value]),
            _ => socketless.set(address, &[value]),
        }
    }

    /// Starts a command. Both begin with ARP. A command during another one is ignored.
    fn socketless_command(&mut self, command: u8) {
        if self.own.socketless.running.is_some() || !matches!(command, ARP | PING) {
            return;
        }
        let next_hop = self.common.next_hop(self.own.socketless.target());
        let repetitions = self.own.socketless.read(SLRCR);
        self.own.socketless.set(SLCR, &[command]);
        let deadline = self.socketless_deadline();
        self.own.socketless.running = Some(Running { next_hop, pinging: false, deadline, repetitions });
        self.arp_request(next_hop);
    }

    fn socketless_deadline(&self) -> Ps {
        let slrtr = be16(&self.own.socketless.array::<2>(SLRTR), 0);
        self.now.saturating_add(retry_period(slrtr, self.config.retry_unit))
    }

    pub(super) fn socketless_timer(&mut self) {
        let deadline = self.socketless_deadline();
        let Some(running) = self.own.socketless.running.as_mut().filter(|running| running.deadline <= self.now) else {
            return;
        };
        let Some(left) = running.repetitions.checked_sub(1) else {
            self.own.socketless.finish(TIMEOUT);
            return;
        };
        running.repetitions = left;
        running.deadline = deadline;
        let (pinging, next_hop) = (running.pinging, running.next_hop);
        if pinging { self.socketless_ping() } else { self.arp_request(next_hop) }
    }

    pub(super) fn socketless_arp_reply(&mut self, ip: IpAddr, mac: Mac) -> bool {
        let (deadline, repetitions) = (self.socketless_deadline(), self.own.socketless.read(SLRCR));
        let socketless = &mut self.own.socketless;
        let Some(running) = socketless.running.as_mut().filter(|running| !running.pinging && running.next_hop == ip)
        else {
            return false;
        };
        (running.pinging, running.deadline, running.repetitions) = (true, deadline, repetitions);
        socketless.set(SLPHAR, &mac);
        if socketless.read(SLCR) == ARP {
            socketless.finish(ARP)
        } else {
            self.socketless_ping()
        }
        true
    }

    fn socketless_ping(&mut self) {
        let socketless = &self.own.socketless;
        let (mac, ip) = (socketless.array(SLPHAR), socketless.target());
        let mut message = vec![ECHO_REQUEST, 0, 0, 0];
        message.extend_from_slice(&socketless.array::<2>(PINGIDR));
        message.extend_from_slice(&socketless.array::<2>(PINGSEQR));
        message.extend_from_slice(PING_DATA);
        self.send_icmp(mac, ip, message);
    }
}
