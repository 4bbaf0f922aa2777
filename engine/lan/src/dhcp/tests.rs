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

fn select(server: &mut DhcpServer, mac: u8, address: Ipv4Addr, now: Ps) -> Option<(DhcpMessageType, Ipv4Addr, Reply)> {
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
    let packet = DhcpPacket::new_checked(&reply.payload[..]).unwrap();
    let repr = DhcpRepr::parse(&packet).unwrap();
    assert_eq!((repr.router, repr.subnet_mask, repr.lease_duration, repr.dns_servers), (None, None, None, None));
    let foreign = Message { requested: Some(Ipv4Addr::new(10, 0, 0, 9)), ..message(DhcpMessageType::Request, 2) };
    assert_eq!(foreign.to(&mut server, 0).unwrap().0, DhcpMessageType::Nak);
    let nothing = Message { requested: Some(ZERO), ..message(DhcpMessageType::Request, 1) };
    assert!(nothing.to(&mut server, 0).is_none());
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
    let release = |mac| Message { ciaddr: ip(100), ..message(DhcpMessageType::Release, mac) };
    for (mac, frees) in [(2, false), (1, true)] {
        assert!(release(mac).to(&mut server, 0).is_none());
        assert_eq!(message(DhcpMessageType::Discover, 2).to(&mut server, 0).is_some(), frees, "{mac}");
    }
    select(&mut server, 2, ip(100), 0).unwrap();
    let decline = Message { requested: Some(ip(100)), ..message(DhcpMessageType::Decline, 2) };
    assert!(decline.to(&mut server, 0).is_none());
    assert!(message(DhcpMessageType::Discover, 2).to(&mut server, 99 * PS_PER_S).is_none());
    assert!(message(DhcpMessageType::Discover, 2).to(&mut server, 100 * PS_PER_S).is_some());
}

/// Any change of an answer or a lease changes the checksum. If a change is wanted, show it in another test, and then
/// take the checksum from this one's failure.
#[test]
fn garbage_never_panics_leases_stay_within_the_pool_and_all_is_as_recorded() {
    let mut random = SplitMix64::new(11);
    let mut server = server(5);
    let mut sum = 0u64;
    for _ in 0..50_000 {
        let kind = DhcpMessageType::from(random.below(10) as u8);
        let mut bytes = Message {
            requested: Some(ip(random.below(256) as u8)),
            ciaddr: if random.below(2) == 0 { ZERO } else { ip(random.below(256) as u8) },
            server_id: [None, Some(SERVER), Some(ip(2))][random.below(3) as usize],
            broadcast: random.below(4) == 0,
            ..message(kind, random.below(12) as u8)
        }
        .bytes();
        for _ in 0..random.below(6) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.draw() as u8;
        }
        if random.below(8) == 0 {
            bytes.truncate(random.below(bytes.len() as u64) as usize);
        }
        let reply = server.receive(&bytes, random.below(1000) * PS_PER_S);
        let to = reply.as_ref().map(|reply| (reply.mac, reply.address));
        let seen = format!("{to:?} {:?} {:?}", server.granted(), server.leases().collect::<Vec<_>>());
        let payload = reply.map_or_else(Vec::new, |reply| reply.payload);
        sum = seen.bytes().chain(payload).fold(sum, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        assert!(server.leases().count() <= 5);
        assert!(server.leases().all(|lease| (ip(100)..=ip(104)).contains(&lease.address)));
    }
    assert_eq!(sum, 0x920557c972949538);
}

#[test]
fn another_servers_choice_frees_an_offer_and_keeps_a_lease() {
    let mut server = server(10);
    for mac in [1, 2] {
        message(DhcpMessageType::Discover, mac).to(&mut server, 0).unwrap();
    }
    select(&mut server, 1, ip(100), 0).unwrap();
    for mac in [1, 2] {
        let request = Message { server_id: Some(ip(9)), ..message(DhcpMessageType::Request, mac) };
        assert!(request.to(&mut server, 1).is_none());
    }
    assert_eq!(server.leases().map(|lease| (lease.address, lease.mac[5])).collect::<Vec<_>>(), [(ip(100), 1)]);
}
