//! A DHCP server (RFC 2131, RFC 2132) without I/O: each message may return a reply.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use sim::{PS_PER_S, Ps};
use smoltcp::wire::{DhcpFlags, DhcpMessageType, DhcpOpCode, DhcpOption, DhcpPacket, DhcpRepr, EthernetAddress};

use crate::config::DhcpConfig;

/// Time for which an address stays reserved after an OFFER.
const OFFER_HOLD_PS: Ps = 60 * PS_PER_S;
/// BOOTP's fixed message size (RFC 951); some clients drop shorter ones.
const MIN_MESSAGE_BYTES: usize = 300;
const MAGIC: u32 = 0x6382_5363;

const OPTION_REQUESTED_IP: u8 = 50;
const OPTION_MESSAGE_TYPE: u8 = 53;
const OPTION_SERVER_ID: u8 = 54;
const OPTION_T1: u8 = 58;
const OPTION_T2: u8 = 59;

/// An address that a client holds, or was offered if `bound` is false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The client's MAC address.
    pub mac: [u8; 6],
    /// The address in the pool.
    pub address: Ipv4Addr,
    /// Simulated time at which the lease or the offer ends.
    pub expires: Ps,
    /// The client has requested the address.
    pub bound: bool,
}

/// A message for a client, and its destination.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) mac: EthernetAddress,
    pub(crate) address: Ipv4Addr,
    pub(crate) payload: Vec<u8>,
}

pub(crate) struct DhcpServer {
    config: DhcpConfig,
    server: Ipv4Addr,
    mask: Ipv4Addr,
    /// Leases by address: the pool's size bounds their number.
    leases: BTreeMap<Ipv4Addr, Lease>,
    /// Time when an address was last acknowledged to a client.
    granted: Option<Ps>,
}

struct Request {
    kind: DhcpMessageType,
    xid: u32,
    secs: u16,
    mac: EthernetAddress,
    broadcast: bool,
    ciaddr: Ipv4Addr,
    giaddr: Ipv4Addr,
    requested: Option<Ipv4Addr>,
    server_id: Option<Ipv4Addr>,
}

impl Request {
    /// Parses the fields by hand, because `DhcpRepr` refuses client identifiers that are not a MAC address.
    fn parse(payload: &[u8]) -> Option<Self> {
        let packet = DhcpPacket::new_checked(payload).ok()?;
        let mac = packet.client_hardware_address();
        if packet.opcode() != DhcpOpCode::Request
            || packet.hardware_len() != 6
            || packet.magic_number() != MAGIC
            || !mac.is_unicast()
        {
            return None;
        }
        let mut kind = None;
        let (mut requested, mut server_id) = (None, None);
        for option in packet.options() {
            let address = || <[u8; 4]>::try_from(option.data).ok().map(Ipv4Addr::from);
            match option.kind {
                OPTION_MESSAGE_TYPE => kind = option.data.first().map(|&byte| DhcpMessageType::from(byte)),
                OPTION_REQUESTED_IP => requested = address(),
                OPTION_SERVER_ID => server_id = address(),
                _ => {}
            }
        }
        Some(Self {
            kind: kind?,
            xid: packet.transaction_id(),
            secs: packet.secs(),
            mac,
            broadcast: packet.flags().contains(DhcpFlags::BROADCAST),
            ciaddr: packet.client_ip(),
            giaddr: packet.relay_agent_ip(),
            requested: requested.filter(|ip| !ip.is_unspecified()),
            server_id,
        })
    }
}

impl DhcpServer {
    pub(crate) fn new(config: DhcpConfig, server: Ipv4Addr, mask: Ipv4Addr) -> Self {
        Self { config, server, mask, leases: BTreeMap::new(), granted: None }
    }

    pub(crate) fn leases(&self) -> impl Iterator<Item = Lease> + '_ {
        self.leases.values().copied()
    }

    pub(crate) fn granted(&self) -> Option<Ps> {
        self.granted
    }

    pub(crate) fn receive(&mut self, payload: &[u8], now: Ps) -> Option<Reply> {
        let request = Request::parse(payload)?;
        if !request.giaddr.is_unspecified() {
            return None;
        }
        match request.kind {
            DhcpMessageType::Discover => {
                let address = self.choose(&request, now)?;
                let held = self.leases.get(&address).filter(|lease| lease.bound && lease.expires > now);
                if held.is_none() {
                    self.hold(address, request.mac, now + OFFER_HOLD_PS, false);
                }
                Some(self.reply(&request, DhcpMessageType::Offer, address))
            }
            DhcpMessageType::Request => self.request(&request, now),
            DhcpMessageType::Decline => {
                // Another device uses the address: block it for the duration of a lease.
                if let Some(address) = request.requested
                    && self.leases.get(&address).is_some_and(|lease| lease.mac == request.mac.0)
                {
                    self.hold(address, EthernetAddress([0; 6]), now + self.lease_ps(), false);
                }
                None
            }
            DhcpMessageType::Release => {
                self.leases.retain(|&address, lease| address != request.ciaddr || lease.mac != request.mac.0);
                None
            }
            DhcpMessageType::Inform => Some(self.reply(&request, DhcpMessageType::Ack, Ipv4Addr::UNSPECIFIED)),
            _ => None,
        }
    }

    /// Handles a REQUEST, RFC 2131 section 4.3.2: selecting, init-reboot, renewing and rebinding.
    fn request(&mut self, request: &Request, now: Ps) -> Option<Reply> {
        if request.server_id.is_some_and(|id| id != self.server) {
            // The client accepted another server's offer.
            self.leases.retain(|_, lease| lease.mac != request.mac.0 || lease.bound);
            return None;
        }
        let address = if request.ciaddr.is_unspecified() { request.requested? } else { request.ciaddr };
        if !self.in_pool(address) || !self.is_free_for(address, request.mac, now) {
            return Some(self.reply(request, DhcpMessageType::Nak, Ipv4Addr::UNSPECIFIED));
        }
        self.leases.retain(|_, lease| lease.mac != request.mac.0);
        self.hold(address, request.mac, now + self.lease_ps(), true);
        self.granted = Some(now);
        Some(self.reply(request, DhcpMessageType::Ack, address))
    }

    /// Chooses the client's current address, or the requested one, or the first free one (RFC 2131 section 4.3.1).
    fn choose(&self, request: &Request, now: Ps) -> Option<Ipv4Addr> {
        let own = self.leases.values().find(|lease| lease.mac == request.mac.0).map(|lease| lease.address);
        let asked = request.requested.filter(|&ip| self.in_pool(ip) && self.is_free_for(ip, request.mac, now));
        own.or(asked).or_else(|| {
            let mut pool = (self.config.first.to_bits()..=self.config.last.to_bits()).map(Ipv4Addr::from_bits);
            pool.find(|&ip| self.in_pool(ip) && self.is_free_for(ip, request.mac, now))
        })
    }

    fn in_pool(&self, address: Ipv4Addr) -> bool {
        (self.config.first..=self.config.last).contains(&address) && address != self.server
    }

    fn is_free_for(&self, address: Ipv4Addr, mac: EthernetAddress, now: Ps) -> bool {
        self.leases.get(&address).is_none_or(|lease| lease.mac == mac.0 || lease.expires <= now)
    }

    fn hold(&mut self, address: Ipv4Addr, mac: EthernetAddress, expires: Ps, bound: bool) {
        self.leases.insert(address, Lease { mac: mac.0, address, expires, bound });
    }

    fn lease_ps(&self) -> Ps {
        Ps::from(self.config.lease_s) * PS_PER_S
    }

    fn reply(&self, request: &Request, kind: DhcpMessageType, your_ip: Ipv4Addr) -> Reply {
        let nak = kind == DhcpMessageType::Nak;
        let lease_s = (!your_ip.is_unspecified()).then_some(self.config.lease_s);
        let t1 = (self.config.lease_s / 2).to_be_bytes();
        let t2 = ((u64::from(self.config.lease_s) * 7 / 8) as u32).to_be_bytes();
        let timers = [DhcpOption { kind: OPTION_T1, data: &t1 }, DhcpOption { kind: OPTION_T2, data: &t2 }];
        let repr = DhcpRepr {
            message_type: kind,
            transaction_id: request.xid,
            secs: request.secs,
            client_hardware_address: request.mac,
            client_ip: if nak { Ipv4Addr::UNSPECIFIED } else { request.ciaddr },
            your_ip,
            server_ip: Ipv4Addr::UNSPECIFIED,
            router: self.config.router.filter(|_| !nak),
            subnet_mask: (!nak).then_some(self.mask),
            relay_agent_ip: Ipv4Addr::UNSPECIFIED,
            broadcast: request.broadcast,
            requested_ip: None,
            client_identifier: None,
            server_identifier: Some(self.server),
            parameter_request_list: None,
            dns_servers: (!nak && !self.config.dns.is_empty()).then(|| self.config.dns.iter().copied().collect()),
            max_size: None,
            lease_duration: lease_s,
            renew_duration: None,
            rebind_duration: None,
            additional_options: if lease_s.is_some() { &timers } else { &[] },
        };
        let mut payload = vec![0; repr.buffer_len().max(MIN_MESSAGE_BYTES)];
        repr.emit(&mut DhcpPacket::new_unchecked(&mut payload[..])).expect("buffer_len is enough for every option");

        let (mac, address) = if nak || (request.broadcast && request.ciaddr.is_unspecified()) {
            (EthernetAddress::BROADCAST, Ipv4Addr::BROADCAST)
        } else if !request.ciaddr.is_unspecified() {
            (request.mac, request.ciaddr)
        } else if your_ip.is_unspecified() {
            (EthernetAddress::BROADCAST, Ipv4Addr::BROADCAST)
        } else {
            (request.mac, your_ip)
        };
        Reply { mac, address, payload }
    }
}

#[cfg(test)]
mod tests;
