//! Tests of exact simulated times of the PC's automatic answers, with hand-made frames.

use crate::common;

use common::*;
use lan::{BridgeConfig, BridgeRule, Lan, LanConfig, UdpApp, wire_time_ps};
use sim::{AppReply, PS_PER_MS, PS_PER_US, Ps};
use std::net::{Ipv4Addr, SocketAddrV4};

/// A frame of at most 60 bytes: (8 + 60 + 4) byte times of 80 ns.
const SHORT: Ps = 5_760_000;

fn lan() -> Lan {
    Lan::new(sim::with!(LanConfig::default(), udp_echo_port: Some(7), tcp_echo_port: Some(7)))
}

/// Introduces the board to the PC; the reply arrives two short frames later.
fn introduce(lan: &mut Lan) {
    lan.from_board(0, &arp(1, BOARD, PC));
    let frames = frames_until(lan, 2 * SHORT);
    assert_eq!(frames.len(), 1);
}

#[test]
fn arp_is_answered_after_two_wire_times() {
    let mut lan = lan();
    assert_eq!(lan.next_event(), None);
    lan.from_board(1_000, &arp(1, BOARD, PC));
    assert_eq!(lan.next_event(), Some(1_000 + SHORT));
    let frames = frames_until(&mut lan, PS_PER_MS);
    assert_eq!(frames.len(), 1);
    let (at, reply) = &frames[0];
    assert_eq!(*at, 1_000 + 2 * SHORT);
    assert_eq!(reply.len(), 60);
    let expected = [
        &BOARD_MAC[..],
        &PC_MAC,
        &[8, 6, 0, 1, 8, 0, 6, 4, 0, 2],
        &PC_MAC,
        &PC.octets(),
        &BOARD_MAC,
        &BOARD.octets(),
        &[0; 18],
    ];
    assert_eq!(reply[..], expected.concat());
}

#[test]
fn stack_delay_and_propagation_add_up() {
    let mut lan = Lan::new(sim::with!(LanConfig::default(), stack_delay_ps: 30 * PS_PER_US, propagation_ps: 500_000));
    lan.from_board(0, &arp(1, BOARD, PC));
    let frames = frames_until(&mut lan, PS_PER_MS);
    assert_eq!(frames[0].0, 2 * (SHORT + 500_000) + 30 * PS_PER_US);
}

#[test]
fn only_requests_and_probes_for_the_pcs_address_are_answered() {
    let mut lan = lan();
    // A client probes its lease, as WIZnet's DHCP does, and announces it.
    lan.from_board(0, &arp(1, BOARD, Ipv4Addr::new(192, 168, 50, 100)));
    lan.from_board(0, &arp(1, Ipv4Addr::UNSPECIFIED, Ipv4Addr::new(192, 168, 50, 100)));
    lan.from_board(0, &arp(1, BOARD, BOARD));
    assert_eq!(frames_until(&mut lan, PS_PER_MS), []);
    lan.from_board(PS_PER_MS, &arp(1, Ipv4Addr::UNSPECIFIED, PC));
    let frames = frames_until(&mut lan, 2 * PS_PER_MS);
    assert_eq!((frames.len(), frames[0].0), (1, PS_PER_MS + 2 * SHORT));
    assert_eq!(frames[0].1[20..32], [&[0, 2][..], &PC_MAC, &PC.octets()].concat());
}

#[test]
fn ping_is_answered_without_turnaround() {
    let mut lan = lan();
    introduce(&mut lan);
    for len in [0usize, 18, 19, 56, 1472] {
        let mut icmp = vec![8, 0, 0, 0, 0x12, 0x34, 0, 1];
        icmp.extend((0..len).map(|i| i as u8));
        let sum = checksum(&[&icmp]);
        icmp[2..4].copy_from_slice(&sum.to_be_bytes());
        let start = PS_PER_MS * (1 + len as u64);
        lan.from_board(start, &ethernet(PC_MAC, 0x0800, &ipv4(1, BOARD, PC, &icmp)));
        let frames = frames_until(&mut lan, start + PS_PER_MS);
        assert_eq!(frames.len(), 1, "{len} bytes");
        assert_eq!(frames[0].0, start + 2 * wire_time_ps(42 + len), "{len} bytes");
        assert_eq!((frames[0].1[34], &frames[0].1[42..42 + len]), (0, &icmp[8..]));
    }
}

#[test]
fn udp_is_answered_after_the_turnaround_and_a_closed_port_by_icmp() {
    let mut lan = lan();
    introduce(&mut lan);
    let datagram = |port: u16, data: &[u8]| {
        let mut udp = vec![0x30, 0x39];
        udp.extend(port.to_be_bytes());
        udp.extend((8 + data.len() as u16).to_be_bytes());
        udp.extend([0, 0]);
        udp.extend(data);
        ethernet(PC_MAC, 0x0800, &ipv4(17, BOARD, PC, &udp))
    };
    lan.from_board(PS_PER_MS, &datagram(7, b"hello"));
    let frames = frames_until(&mut lan, 2 * PS_PER_MS);
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].0, PS_PER_MS + 2 * SHORT + 200 * PS_PER_US);
    assert_eq!(frames[0].1[26..30], PC.octets());
    assert_eq!(frames[0].1[34..38], [0, 7, 0x30, 0x39]);
    assert_eq!(frames[0].1[42..47], *b"hello");
    // Port unreachable quotes the datagram: 14 + 20 + 8 + 20 + 13 bytes.
    lan.from_board(3 * PS_PER_MS, &datagram(9, b"hello"));
    let frames = frames_until(&mut lan, 4 * PS_PER_MS);
    assert_eq!((frames.len(), frames[0].0), (1, 3 * PS_PER_MS + SHORT + wire_time_ps(75)));
    assert_eq!(frames[0].1[34..36], [3, 3]);
}

#[test]
fn a_udp_answer_has_the_address_that_was_asked_or_after_a_broadcast_the_pcs() {
    struct Answer;
    impl UdpApp for Answer {
        fn receive(&mut self, from: SocketAddrV4, data: &[u8], _: Ps) -> Option<Vec<u8>> {
            assert_eq!((from, data), (SocketAddrV4::new(BOARD, 12345), &b"who"[..]));
            Some(b"me".to_vec())
        }
    }
    // By a bridge the PC has a second address.
    let second = Ipv4Addr::new(192, 168, 50, 77);
    let rule = BridgeRule { guest: SocketAddrV4::new(second, 80), host: "127.0.0.1:9".parse().unwrap() };
    let mut lan = Lan::new(sim::with!(LanConfig::default(), bridge: Some(BridgeConfig::new(vec![rule]))));
    introduce(&mut lan);
    lan.udp_listen(4000, Box::new(Answer)).unwrap();
    let asked = [(Ipv4Addr::new(192, 168, 50, 255), PC), (Ipv4Addr::BROADCAST, PC), (PC, PC), (second, second)];
    for (index, (address, answers)) in asked.into_iter().enumerate() {
        let udp = [&[0x30, 0x39, 0x0f, 0xa0, 0, 11, 0, 0][..], b"who"].concat();
        let start = PS_PER_MS * (index as u64 + 1);
        let to = if address == answers { PC_MAC } else { [0xff; 6] };
        lan.from_board(start, &ethernet(to, 0x0800, &ipv4(17, BOARD, address, &udp)));
        let frames = frames_until(&mut lan, start + PS_PER_MS - 1);
        assert_eq!(frames.len(), 1);
        assert_eq!((&frames[0].1[26..30], &frames[0].1[42..44]), (&answers.octets()[..], &b"me"[..]));
    }
}

#[test]
fn several_answers_to_a_datagram_are_sent_in_order_of_time() {
    struct Stream;
    impl UdpApp for Stream {
        fn receive(&mut self, _: SocketAddrV4, _: &[u8], _: Ps) -> Option<Vec<u8>> {
            None
        }
        fn answers(&mut self, _: SocketAddrV4, _: &[u8], _: Ps) -> Vec<(Ps, Vec<u8>)> {
            vec![(2 * PS_PER_MS, b"b".to_vec()), (0, b"a".to_vec()), (2 * PS_PER_MS, b"c".to_vec()), (0, vec![0; 1473])]
        }
    }
    let mut lan = lan();
    introduce(&mut lan);
    lan.udp_listen(4000, Box::new(Stream)).unwrap();
    let udp = [&[0x30, 0x39, 0x0f, 0xa0, 0, 9, 0, 0][..], b"?"].concat();
    lan.from_board(PS_PER_MS, &ethernet(PC_MAC, 0x0800, &ipv4(17, BOARD, PC, &udp)));
    let frames: Vec<_> = frames_until(&mut lan, 9 * PS_PER_MS).into_iter().map(|(at, frame)| (at, frame[42])).collect();
    let asked = PS_PER_MS + SHORT;
    let first = asked + 200 * PS_PER_US + SHORT;
    let second = first + 2 * PS_PER_MS;
    // 12 byte times lie between frames.
    assert_eq!(frames, [(first, b'a'), (second, b'b'), (second + SHORT + 960_000, b'c')]);
}

#[test]
fn a_closed_tcp_port_is_reset_at_once() {
    let mut lan = lan();
    introduce(&mut lan);
    let syn = Segment { port: 4000, peer_port: 81, seq: 7, ack: 0, flags: SYN, window: 2048 };
    lan.from_board(PS_PER_MS, &syn.frame(b""));
    let frames = frames_until(&mut lan, 2 * PS_PER_MS);
    assert_eq!((frames.len(), frames[0].0), (1, PS_PER_MS + 2 * SHORT));
    let seen = parse_tcp(&frames[0].1).unwrap();
    assert_eq!((seen.seq, seen.ack, seen.flags), (0, 8, RST | ACK));
    assert_eq!(lan.connections(), []);
}

#[test]
fn a_port_without_a_listener_is_reset_and_can_be_reused() {
    let mut lan = lan();
    introduce(&mut lan);
    let mut flags = Vec::new();
    for (step, port) in (1..).zip([4000, 4001, 4002]) {
        match step {
            2 => assert!(lan.unlisten(5000) && !lan.unlisten(5000)),
            _ => lan.listen(5000, recorder(|_| AppReply::default()).1).unwrap(),
        }
        let syn = Segment { port, peer_port: 5000, seq: 7, ack: 0, flags: SYN, window: 2048 };
        lan.from_board(step * PS_PER_MS, &syn.frame(b""));
        let frames = frames_until(&mut lan, step * PS_PER_MS + PS_PER_MS / 2);
        flags.push(parse_tcp(&frames[0].1).unwrap().flags);
    }
    assert_eq!(flags, [SYN | ACK, RST | ACK, SYN | ACK]);
}

#[test]
fn the_first_ack_is_sent_at_once_and_later_ones_with_the_answer_or_after_40_ms() {
    let mut lan = lan();
    let (record, app) =
        recorder(|data: &[u8]| if data == b"quiet" { AppReply::default() } else { AppReply::send(*b"ok") });
    lan.listen(5000, app).unwrap();
    introduce(&mut lan);
    let mut segment = Segment { port: 4000, peer_port: 5000, seq: 100, ack: 0, flags: SYN, window: 2048 };
    lan.from_board(PS_PER_MS, &segment.frame(b""));
    let frames = frames_until(&mut lan, 2 * PS_PER_MS);
    // SYN-ACK carries one option, the maximum segment size: 14 + 20 + 24 bytes, padded.
    assert_eq!((frames.len(), frames[0].0), (1, PS_PER_MS + 2 * SHORT));
    assert_eq!(frames[0].1[54..58], [2, 4, 0x05, 0xb4]);
    let seen = parse_tcp(&frames[0].1).unwrap();
    assert_eq!((seen.ack, seen.flags, seen.window), (101, SYN | ACK, 64_240));

    segment = Segment { seq: 101, ack: seen.seq + 1, flags: ACK, ..segment };
    lan.from_board(2 * PS_PER_MS, &segment.frame(b""));
    let data = Segment { flags: ACK | PSH, ..segment };
    lan.from_board(3 * PS_PER_MS, &data.frame(b"hello"));
    let frames = frames_until(&mut lan, 49 * PS_PER_MS);
    assert_eq!(frames.len(), 2, "the ACK of a young connection does not wait for the answer");
    assert_eq!(frames[0].0, 3 * PS_PER_MS + 2 * SHORT);
    let seen = parse_tcp(&frames[0].1).unwrap();
    assert_eq!((seen.ack, seen.flags, seen.data.len()), (106, ACK, 0));
    assert_eq!(frames[1].0, 3 * PS_PER_MS + 2 * SHORT + 200 * PS_PER_US);
    let seen = parse_tcp(&frames[1].1).unwrap();
    assert_eq!((seen.ack, seen.flags, &seen.data[..]), (106, ACK | PSH, &b"ok"[..]));

    let again = Segment { seq: 106, ack: seen.seq + 2, flags: ACK | PSH, ..segment };
    lan.from_board(50 * PS_PER_MS, &again.frame(b"hello"));
    let frames = frames_until(&mut lan, 100 * PS_PER_MS);
    assert_eq!(frames.len(), 1, "one frame is both answer and ACK");
    assert_eq!(frames[0].0, 50 * PS_PER_MS + 2 * SHORT + 200 * PS_PER_US);
    let seen = parse_tcp(&frames[0].1).unwrap();
    assert_eq!((seen.ack, seen.flags, &seen.data[..]), (111, ACK | PSH, &b"ok"[..]));

    let quiet = Segment { seq: 111, ack: seen.seq + 2, flags: ACK | PSH, ..segment };
    lan.from_board(100 * PS_PER_MS, &quiet.frame(b"quiet"));
    let frames = frames_until(&mut lan, 200 * PS_PER_MS);
    // The stack's timer counts whole microseconds, and the data arrived at 5.76 us.
    assert_eq!((frames.len(), frames[0].0), (1, 140 * PS_PER_MS + 5 * PS_PER_US + SHORT));
    let seen = parse_tcp(&frames[0].1).unwrap();
    assert_eq!((seen.ack, seen.flags, seen.data.len()), (116, ACK, 0));

    // The delay expired without data: the next ACK is not delayed.
    let quiet = Segment { seq: 116, ..quiet };
    lan.from_board(200 * PS_PER_MS, &quiet.frame(b"quiet"));
    let frames = frames_until(&mut lan, 300 * PS_PER_MS);
    assert_eq!((frames.len(), frames[0].0), (1, 200 * PS_PER_MS + 2 * SHORT));

    let peer = SocketAddrV4::new(BOARD, 4000);
    assert_eq!(
        *record.lock().unwrap(),
        [
            Told::Accept(1, peer, 2 * PS_PER_MS + SHORT),
            Told::Receive(1, b"hello".to_vec(), 3 * PS_PER_MS + SHORT),
            Told::Receive(1, b"hello".to_vec(), 50 * PS_PER_MS + SHORT),
            Told::Receive(1, b"quiet".to_vec(), 100 * PS_PER_MS + SHORT),
            Told::Receive(1, b"quiet".to_vec(), 200 * PS_PER_MS + SHORT),
        ]
    );
}

#[test]
fn a_dns_query_gets_the_configured_address() {
    let mut lan = Lan::new(sim::with!(LanConfig::default(), dns_answer: Some(PC)));
    introduce(&mut lan);
    let query = [&[0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, b'x', 0, 0, 1, 0, 1][..]].concat();
    let udp = [&[0x30, 0x39, 0, 53, 0, 27, 0, 0][..], &query].concat();
    lan.from_board(PS_PER_MS, &ethernet(PC_MAC, 0x0800, &ipv4(17, BOARD, PC, &udp)));
    let frames = frames_until(&mut lan, 2 * PS_PER_MS);
    let reply = &frames[0].1[..];
    assert_eq!(reply[reply.len() - 4..], PC.octets());
    assert_eq!(frames[0].0, PS_PER_MS + wire_time_ps(61) + 200 * PS_PER_US + wire_time_ps(77));
}
