//! RMSR, TMSR and the rings computed by the host.

use super::host::{Host, sn};
use crate::support::*;

#[test]
fn the_size_registers_are_two_views_of_one_setting() {
    let mut host = Host::up();
    host.write(0x001B, &[0b00_01_10_11]);
    assert_eq!([0, 1, 2, 3].map(|n| host.get(sn(n, 0x1F))), [8, 4, 2, 1]);
    assert_eq!([0, 1, 2, 3].map(|n| host.get16(sn(n, 0x20))), [8192, 4096, 2048, 1024]);
    assert_eq!(host.get(0x001A), 0x55, "RMSR is separate");
    host.write(sn(0, 0x1E), &[4]);
    host.write(sn(1, 0x1E), &[1]);
    assert_eq!(host.get(0x001A), 0b01_01_00_10);
    host.write(sn(0, 0x1E), &[0]);
    assert_eq!(host.get(0x001A), 0b01_01_00_00);
}

/// Sends datagrams of sizes that end at every place of the ring, with each division of the memories.
#[test]
fn datagrams_go_around_every_ring() {
    for sizes in [0x55, 0x03, 0x0A, 0x06, 0x00] {
        let mut host = Host::up();
        host.write(0x001A, &[sizes]);
        host.write(0x001B, &[sizes]);
        // Sizes that together exceed the memories leave nothing for the last sockets.
        for n in 0..(if sizes == 0x03 { 1 } else { 2 }) {
            let port = 1000 + n;
            host.open(n, 0x02, port);
            host.write(sn(n, 0x0C), &[255; 4]);
            host.put16(sn(n, 0x10), 9);
            for round in 0u16..60 {
                let data: Vec<u8> = (0..700 + round).map(|i| (i * 7 + round + n) as u8).collect();
                host.send(n, &data);
                assert_eq!(Datagram::parse(&host.frame()).data, data);
                host.arrive(&udp_frame(9, port, &data));
                assert_eq!(host.recv(n)[8..], data, "socket {n}, round {round}");
            }
        }
    }
}

#[test]
fn a_burst_beyond_the_ring_reaches_the_next_sockets_part() {
    let mut host = Host::up();
    host.write(0x4000 + 2046, &[1, 2, 3, 4]);
    assert_eq!(host.read(0x4800, 2), [3, 4], "socket 1");
    assert_eq!(host.read(0x4000, 2), [0, 0], "no wrap to socket 0's beginning");
}

#[test]
fn tcp_both_ways() {
    let mut host = Host::up();
    host.open(2, 0x01, BOARD_PORT);
    host.command(2, LISTEN);
    let mut peer = PeerEnd { port: PEER_PORT, board_port: BOARD_PORT, seq: PEER_ISS, ack: 0, window: 8000 };
    host.arrive(&peer.segment(SYN, &[]).frame());
    let syn = Segment::parse(&host.frame());
    assert_eq!((syn.flags, syn.window), (SYN | ACK, 2048));
    (peer.seq, peer.ack) = (peer.seq.wrapping_add(1), syn.seq.wrapping_add(1));
    host.arrive(&peer.segment(ACK, &[]).frame());
    assert_eq!(host.get(sn(2, 0x03)), ESTABLISHED);
    for round in 0u8..20 {
        let data = vec![round; 500];
        host.arrive(&peer.segment(ACK | PSH, &data).frame());
        peer.seq = peer.seq.wrapping_add(500);
        assert_eq!(host.recv(2), data);
        host.send(2, &data);
        let answer = Segment::parse(&host.frame());
        assert_eq!((answer.data, answer.ack), (data, peer.seq));
        peer.ack = peer.ack.wrapping_add(500);
        host.arrive(&peer.segment(ACK, &[]).frame());
        assert_eq!(host.get16(sn(2, 0x20)), 2048);
    }
}
