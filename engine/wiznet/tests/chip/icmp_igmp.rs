//! Ping, destination unreachable, IGMP.

use super::support::*;
use smoltcp::wire::*;

fn echo(kind: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, 0, 0, 0, 0x12, 0x34, 0, 1];
    bytes.extend_from_slice(data);
    Icmpv4Packet::new_unchecked(&mut bytes).fill_checksum();
    bytes
}

#[test]
fn ping_is_answered_with_the_same_data() {
    let mut board = Board::up();
    for data in [&b""[..], b"abcdefg", &[7; 1472]] {
        board.arrive(&ip_frame(MAC, PEER, IP, 1, &echo(8, data)));
        let frame = board.frame();
        assert_eq!(frame[..6], PEER_MAC);
        let ip = ip_of(&frame);
        assert_eq!(ip.dst_addr().octets(), PEER);
        assert_eq!(ip.payload(), echo(0, data));
    }
}

#[test]
fn ping_block_and_damaged_pings() {
    let mut board = Board::up();
    let mut damaged = echo(8, b"abc");
    damaged[9] ^= 1;
    board.arrive(&ip_frame(MAC, PEER, IP, 1, &damaged));
    board.arrive(&ip_frame([0xFF; 6], PEER, [192, 168, 1, 255], 1, &echo(8, b"abc")));
    board.no_frame();
    board.write(COMMON, 0, &[0x10]);
    board.arrive(&ip_frame(MAC, PEER, IP, 1, &echo(8, b"abc")));
    board.no_frame();
}

#[test]
fn fragments_are_dropped() {
    let mut board = Board::up();
    for fragment in [0x2000u16, 0x0001] {
        let mut frame = ip_frame(MAC, PEER, IP, 1, &echo(8, b"abc"));
        frame[20..22].copy_from_slice(&fragment.to_be_bytes());
        Ipv4Packet::new_unchecked(&mut frame[14..34]).fill_checksum();
        board.arrive(&frame);
        board.no_frame();
    }
}

#[test]
fn port_unreachable_sets_uipr_and_uportr() {
    let mut board = Board::up();
    board.open(0, 0x02, 1000);
    board.write(socket(0), DIPR, &PEER);
    board.put16(socket(0), DPORT, 4660);
    board.send(0, b"hello");
    board.answer_arp(PEER);
    let sent = board.frame();
    let message = |original: &[u8]| {
        let mut bytes = vec![3, 3, 0, 0, 0, 0, 0, 0];
        bytes.extend_from_slice(original);
        Icmpv4Packet::new_unchecked(&mut bytes).fill_checksum();
        ip_frame(MAC, PEER, IP, 1, &bytes)
    };
    for length in 0..24 {
        board.arrive(&message(&sent[14..14 + length]));
    }
    assert_eq!(board.get(COMMON, 0x15), 0, "too short to name the port");
    // The ports of its UDP header are sufficient: the rest is ignored.
    board.arrive(&message(&sent[14..14 + 24]));
    assert_eq!(board.get(COMMON, 0x15), 0x40);
    assert_eq!(board.read(COMMON, 0x28, 4), PEER);
    assert_eq!(board.get16(COMMON, 0x2C), 4660);
}

const GROUP: [u8; 4] = [239, 1, 2, 3];

fn igmp_of(frame: &[u8]) -> (Vec<u8>, [u8; 4]) {
    let ip = ip_of(frame);
    assert_eq!((ip.next_header(), ip.hop_limit()), (IpProtocol::Igmp, 1));
    assert_eq!(frame[34..38], [0x94, 4, 0, 0], "router alert");
    let mut sum: u32 = ip.payload().chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    sum = (sum & 0xFFFF) + (sum >> 16);
    assert_eq!(sum, 0xFFFF);
    (ip.payload().to_vec(), ip.dst_addr().octets())
}

#[test]
fn multicast_sockets_join_answer_queries_and_leave() {
    let mut query = vec![0x11, 10, 0, 0, 0, 0, 0, 0];
    query[2..4].copy_from_slice(&(!0x110Au16).to_be_bytes());
    let query = ip_frame([1, 0, 0x5E, 0, 0, 1], PEER, [224, 0, 0, 1], 2, &query);
    for (mode, report) in [(0x82, 0x16), (0xA2, 0x12)] {
        let mut board = Board::up();
        board.arrive(&query);
        board.no_frame();
        board.write(socket(0), DIPR, &GROUP);
        board.put16(socket(0), DPORT, 7);
        board.open(0, mode, 7);
        for asked in [false, true] {
            if asked {
                board.arrive(&query);
            }
            let frame = board.frame();
            assert_eq!(frame[..6], [1, 0, 0x5E, 1, 2, 3]);
            let (message, dst) = igmp_of(&frame);
            assert_eq!((message[0], &message[4..8], dst), (report, &GROUP[..], GROUP));
        }
        board.command(0, CLOSE);
        if report == 0x16 {
            let (message, dst) = igmp_of(&board.frame());
            assert_eq!((message[0], &message[4..8], dst), (0x17, &GROUP[..], [224, 0, 0, 2]));
        }
        board.no_frame();
    }
}
