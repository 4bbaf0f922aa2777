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
    pub mac: [u8; 6],
    pub address: Ipv4Addr,
    pub expires: Ps,
    pub bound: bool,
}

/// A message for a client, and its destination.
#[derive(Debug)]
pub(crate) struct Reply {
    pub mac: EthernetAddress,
    pub address: Ipv4Addr,
    pub payload: Vec<u8>,
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
mod tests {
    use super::*;
    use sim::SplitMix64;

    const SERVER: Ipv4Addr = Ipv4Addr::new(192, 168, 50, 1);
    const ZERO: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

    fn server(pool: u8) -> DhcpServer {
        let config = DhcpConfig {
            first: ip(100),
            last: ip(99 + pool),
            lease_s: 100,
            router: Some(SERVER),
            dns: vec![SERVER, ip(2)],
        };
        DhcpServer::new(config, SERVER, Ipv4Addr::new(255, 255, 255, 0))
    }

    fn ip(host: u8) -> Ipv4Addr {
        Ipv4Addr::new(192, 168, 50, host)
    }

    struct Message {
        kind: DhcpMessageType,
        mac: u8,
        ciaddr: Ipv4Addr,
        requested: Option<Ipv4Addr>,
        server_id: Option<Ipv4Addr>,
        broadcast: bool,
    }

    fn message(kind: DhcpMessageType, mac: u8) -> Message {
        Message { kind, mac, ciaddr: ZERO, requested: None, server_id: None, broadcast: false }
    }

    impl Message {
        fn bytes(&self) -> Vec<u8> {
            let repr = DhcpRepr {
                message_type: self.kind,
                transaction_id: 0x1234_5678,
                secs: 3,
                client_hardware_address: EthernetAddress([2, 0, 0, 0, 0, self.mac]),
                client_ip: self.ciaddr,
                your_ip: ZERO,
                server_ip: ZERO,
                router: None,
                subnet_mask: None,
                relay_agent_ip: ZERO,
                broadcast: self.broadcast,
                requested_ip: self.requested,
                // Some clients send a client identifier that is not a MAC address.
                client_identifier: None,
                server_identifier: self.server_id,
                parameter_request_list: None,
                dns_servers: None,
                max_size: None,
                lease_duration: None,
                renew_duration: None,
                rebind_duration: None,
                additional_options: &[DhcpOption { kind: 61, data: b"\x00board-7" }],
            };
            let mut bytes = vec![0; repr.buffer_len()];
            repr.emit(&mut DhcpPacket::new_unchecked(&mut bytes[..])).unwrap();
            bytes
        }

        fn to(&self, server: &mut DhcpServer, now: Ps) -> Option<(DhcpMessageType, Ipv4Addr, Reply)> {
            let reply = server.receive(&self.bytes(), now)?;
            let packet = DhcpPacket::new_checked(&reply.payload[..]).unwrap();
            let repr = DhcpRepr::parse(&packet).unwrap();
            assert_eq!((repr.transaction_id, repr.server_identifier), (0x1234_5678, Some(SERVER)));
            Some((repr.message_type, repr.your_ip, reply))
        }
    }

    fn select(
        server: &mut DhcpServer,
        mac: u8,
        address: Ipv4Addr,
        now: Ps,
    ) -> Option<(DhcpMessageType, Ipv4Addr, Reply)> {
        Message { requested: Some(address), server_id: Some(SERVER), ..message(DhcpMessageType::Request, mac) }
            .to(server, now)
    }

    #[test]
    fn discover_offer_request_ack_with_all_options() {
        let mut server = server(10);
        let (kind, address, reply) = message(DhcpMessageType::Discover, 7).to(&mut server, 0).unwrap();
        assert_eq!((kind, address), (DhcpMessageType::Offer, ip(100)));
        assert_eq!((reply.mac.0, reply.address), ([2, 0, 0, 0, 0, 7], ip(100)));
        assert_eq!(server.granted(), None);
        let (kind, address, reply) = select(&mut server, 7, ip(100), 5).unwrap();
        assert_eq!((kind, address, reply.payload.len()), (DhcpMessageType::Ack, ip(100), 300));
        let packet = DhcpPacket::new_checked(&reply.payload[..]).unwrap();
        let repr = DhcpRepr::parse(&packet).unwrap();
        assert_eq!(repr.lease_duration, Some(100));
        assert_eq!((repr.renew_duration, repr.rebind_duration), (Some(50), Some(87)));
        assert_eq!((repr.router, repr.subnet_mask), (Some(SERVER), Some(Ipv4Addr::new(255, 255, 255, 0))));
        assert_eq!(repr.dns_servers.unwrap().as_slice(), [SERVER, ip(2)]);
        let lease = Lease { mac: [2, 0, 0, 0, 0, 7], address: ip(100), expires: 5 + 100 * PS_PER_S, bound: true };
        assert_eq!(server.leases().collect::<Vec<_>>(), [lease]);
        assert_eq!(server.granted(), Some(5));
    }

    #[test]
    fn a_client_that_cannot_receive_unicast_gets_a_broadcast() {
        let mut server = server(10);
        let discover = Message { broadcast: true, ..message(DhcpMessageType::Discover, 7) };
        let (_, _, reply) = discover.to(&mut server, 0).unwrap();
        assert_eq!((reply.mac, reply.address), (EthernetAddress::BROADCAST, Ipv4Addr::BROADCAST));
    }

    #[test]
    fn one_address_per_client_and_none_when_the_pool_is_empty() {
        let mut server = server(2);
        for mac in [1, 2] {
            let (_, address, _) = message(DhcpMessageType::Discover, mac).to(&mut server, 0).unwrap();
            assert_eq!(address, ip(99 + mac));
            select(&mut server, mac, address, 0).unwrap();
        }
        assert!(message(DhcpMessageType::Discover, 3).to(&mut server, 0).is_none());
        // The same client gets its address again, and an expired lease goes to the next client.
        assert_eq!(message(DhcpMessageType::Discover, 2).to(&mut server, 0).unwrap().1, ip(101));
        assert_eq!(message(DhcpMessageType::Discover, 3).to(&mut server, 101 * PS_PER_S).unwrap().1, ip(100));
    }

    #[test]
    fn an_offer_is_held_for_a_minute_only() {
        let mut server = server(1);
        assert!(message(DhcpMessageType::Discover, 1).to(&mut server, 0).is_some());
        assert!(message(DhcpMessageType::Discover, 2).to(&mut server, OFFER_HOLD_PS - 1).is_none());
        assert!(message(DhcpMessageType::Discover, 2).to(&mut server, OFFER_HOLD_PS).is_some());
    }

    #[test]
    fn another_servers_offer_frees_ours() {
        let mut server = server(1);
        message(DhcpMessageType::Discover, 1).to(&mut server, 0).unwrap();
        let other = Message { requested: Some(ip(9)), server_id: Some(ip(2)), ..message(DhcpMessageType::Request, 1) };
        assert!(other.to(&mut server, 1).is_none());
        assert_eq!(server.leases().count(), 0);
    }

    #[test]
    fn renewing_rebinding_and_rebooting() {
        let mut server = server(10);
        select(&mut server, 1, ip(105), 0).unwrap();
        let renew = Message { ciaddr: ip(105), ..message(DhcpMessageType::Request, 1) };
        let (kind, _, reply) = renew.to(&mut server, 50 * PS_PER_S).unwrap();
        assert_eq!((kind, reply.address), (DhcpMessageType::Ack, ip(105)));
        assert_eq!(server.leases().next().unwrap().expires, 150 * PS_PER_S);
        let reboot = Message { requested: Some(ip(105)), ..message(DhcpMessageType::Request, 1) };
        assert_eq!(reboot.to(&mut server, 60 * PS_PER_S).unwrap().0, DhcpMessageType::Ack);
        let stolen = Message { requested: Some(ip(105)), ..message(DhcpMessageType::Request, 2) };
        let (kind, address, reply) = stolen.to(&mut server, 61 * PS_PER_S).unwrap();
        assert_eq!((kind, address, reply.address), (DhcpMessageType::Nak, ZERO, Ipv4Addr::BROADCAST));
        let foreign = Message { requested: Some(Ipv4Addr::new(10, 0, 0, 9)), ..message(DhcpMessageType::Request, 2) };
        assert_eq!(foreign.to(&mut server, 0).unwrap().0, DhcpMessageType::Nak);
    }

    #[test]
    fn release_frees_decline_blocks_and_inform_gives_no_address() {
        let mut server = server(1);
        select(&mut server, 1, ip(100), 0).unwrap();
        let inform = Message { ciaddr: ip(100), ..message(DhcpMessageType::Inform, 1) };
        let (kind, address, reply) = inform.to(&mut server, 0).unwrap();
        assert_eq!((kind, address, reply.address), (DhcpMessageType::Ack, ZERO, ip(100)));
        let packet = DhcpPacket::new_checked(&reply.payload[..]).unwrap();
        assert_eq!(DhcpRepr::parse(&packet).unwrap().lease_duration, None);
        let release = Message { ciaddr: ip(100), ..message(DhcpMessageType::Release, 1) };
        assert!(release.to(&mut server, 0).is_none());
        assert!(message(DhcpMessageType::Discover, 2).to(&mut server, 0).is_some());
        select(&mut server, 2, ip(100), 0).unwrap();
        let decline = Message { requested: Some(ip(100)), ..message(DhcpMessageType::Decline, 2) };
        assert!(decline.to(&mut server, 0).is_none());
        assert!(message(DhcpMessageType::Discover, 2).to(&mut server, 99 * PS_PER_S).is_none());
        assert!(message(DhcpMessageType::Discover, 2).to(&mut server, 100 * PS_PER_S).is_some());
    }

    #[test]
    fn garbage_never_panics_and_leases_stay_within_the_pool() {
        let mut random = SplitMix64::new(11);
        let mut server = server(5);
        for _ in 0..50_000 {
            let kind = DhcpMessageType::from(random.below(10) as u8);
            let mut bytes = Message {
                requested: Some(ip(random.below(256) as u8)),
                ciaddr: if random.below(2) == 0 { ZERO } else { ip(random.below(256) as u8) },
                server_id: (random.below(2) == 0).then_some(SERVER),
                ..message(kind, random.draw() as u8)
            }
            .bytes();
            for _ in 0..random.below(6) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.draw() as u8;
            }
            if random.below(8) == 0 {
                bytes.truncate(random.below(bytes.len() as u64) as usize);
            }
            server.receive(&bytes, random.below(1000) * PS_PER_S);
            assert!(server.leases().count() <= 5);
            assert!(server.leases().all(|lease| (ip(100)..=ip(104)).contains(&lease.address)));
        }
    }
}
