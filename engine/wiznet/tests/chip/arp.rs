//! ARP requests, answers, retries and the timeout.

use super::support::*;
use smoltcp::wire::*;

fn udp_send(board: &mut Board, destination: [u8; 4]) {
    board.open(0, 0x02, 1000);
    board.write(socket(0), DIPR, &destination);
    board.put16(socket(0), DPORT, 2000);
    board.send(0, b"hello");
}

#[test]
fn answers_for_its_own_address() {
    let mut board = Board::up();
    board.arrive(&arp_frame(ArpOperation::Request, PEER_MAC, PEER, [0; 6], IP));
    let frame = board.frame();
    assert_eq!(frame[..6], PEER_MAC);
    assert_eq!(
        arp_of(&frame),
        ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Reply,
            source_hardware_addr: EthernetAddress(MAC),
            source_protocol_addr: IP.into(),
            target_hardware_addr: EthernetAddress(PEER_MAC),
            target_protocol_addr: PEER.into(),
        }
    );
    board.arrive(&arp_frame(ArpOperation::Request, PEER_MAC, PEER, [0; 6], [192, 168, 1, 51]));
    board.no_frame();
}

#[test]
fn without_an_address_it_answers_nothing() {
    let mut board = Board::up();
    board.write(COMMON, 0x0F, &[0; 4]);
    board.arrive(&arp_frame(ArpOperation::Request, PEER_MAC, PEER, [0; 6], [0; 4]));
    board.no_frame();
}

#[test]
fn gives_up_after_rcr_plus_1_requests_of_rtr_each() {
    let mut board = Board::up();
    let start = board.now;
    udp_send(&mut board, PEER);
    let mut times = Vec::new();
    while let Some(at) = board.chip.next_event() {
        times.extend(board.frames().into_iter().map(|(time, frame)| {
            arp_of(&frame);
            time - start
        }));
        board.now = at;
        board.chip.advance(at);
    }
    assert_eq!(times, (0..9).map(|i| i * 200 * MS).collect::<Vec<_>>());
    assert_eq!(board.now - start, 1800 * MS, "(8 + 1) x 2000 x 100 us");
    assert_eq!(board.ir(0), IR_TIMEOUT);
    assert_eq!(board.status(0), UDP);
    assert_eq!(board.get16(socket(0), TX_FSR), 0x0800, "the datagram is dropped");
}

#[test]
fn timeout_is_exact_to_the_microsecond_for_other_settings() {
    for (rtr, rcr) in [(1u16, 0u8), (37, 3), (4000, 1), (0xFFFF, 2)] {
        let mut board = Board::up();
        board.put16(COMMON, 0x19, rtr);
        board.write(COMMON, 0x1B, &[rcr]);
        udp_send(&mut board, PEER);
        let total = u64::from(rtr) * 100 * US * (u64::from(rcr) + 1);
        board.run(total - US);
        assert_eq!(board.ir(0), 0);
        board.run(US);
        assert_eq!(board.ir(0), IR_TIMEOUT);
        assert_eq!(board.frames().len(), usize::from(rcr) + 1);
    }
}

#[test]
fn connect_times_out_into_closed() {
    let mut board = Board::up();
    board.open(0, 0x01, 1000);
    board.write(socket(0), DIPR, &PEER);
    board.put16(socket(0), DPORT, 5000);
    board.command(0, CONNECT);
    assert_eq!(board.status(0), SYNSENT);
    board.run(1800 * MS - 1);
    assert_eq!((board.status(0), board.ir(0)), (SYNSENT, 0));
    board.run(1);
    assert_eq!((board.status(0), board.ir(0)), (CLOSED, IR_TIMEOUT));
    assert_eq!(board.frames().len(), 9);
}

/// The readiness problem of the published benchmark: a PHY with a late link. The last of the nine requests is sent 1.6
/// s after CONNECT.
#[test]
fn late_link_makes_connect_slow_or_fail() {
    use wiznet::Config;
    for (link_ms, connects) in [(1500, true), (1900, true), (1901, false), (2500, false)] {
        let mut board = Board::new(sim::with!(Config::default(), phy_link_delay: link_ms * MS));
        board.now = 300 * MS;
        board.write(COMMON, 0x05, &MASK);
        board.write(COMMON, 0x09, &MAC);
        board.write(COMMON, 0x0F, &IP);
        board.open(0, 0x01, 1000);
        board.write(socket(0), DIPR, &PEER);
        board.put16(socket(0), DPORT, 5000);
        board.command(0, CONNECT);
        for _ in 0..4000 {
            board.run(MS);
            if !board.frames().is_empty() {
                board.arrive(&arp_frame(ArpOperation::Reply, PEER_MAC, PEER, MAC, IP));
                break;
            }
        }
        assert_eq!(board.frames().len(), usize::from(connects), "SYN with a link after {link_ms} ms");
        assert_eq!(board.ir(0), if connects { 0 } else { IR_TIMEOUT });
    }
}

#[test]
fn resolved_address_is_kept_until_the_destination_changes() {
    let mut board = Board::up();
    udp_send(&mut board, PEER);
    board.answer_arp(PEER);
    let datagram = Datagram::parse(&board.frame());
    assert_eq!((datagram.to, datagram.data), (PEER_MAC, b"hello".to_vec()));
    assert_eq!(board.read(socket(0), DHAR, 6), PEER_MAC);
    board.send(0, b"again");
    assert_eq!(Datagram::parse(&board.frame()).data, b"again");
    board.write(socket(0), DIPR, &[192, 168, 1, 11]);
    board.send(0, b"other");
    board.answer_arp([192, 168, 1, 11]);
    board.frame();
}

#[test]
fn a_write_to_the_address_discards_the_learned_one() {
    let mut board = Board::up();
    udp_send(&mut board, PEER);
    board.answer_arp(PEER);
    board.frame();
    board.write(socket(0), DHAR, &[2; 6]);
    board.send(0, b"asked");
    board.answer_arp(PEER);
    assert_eq!(Datagram::parse(&board.frame()).to, PEER_MAC);
}

#[test]
fn force_arp_asks_every_time() {
    let mut board = Board::up();
    board.write(COMMON, 0, &[0x02]);
    udp_send(&mut board, PEER);
    board.answer_arp(PEER);
    board.frame();
    board.send(0, b"again");
    board.answer_arp(PEER);
    assert_eq!(Datagram::parse(&board.frame()).data, b"again");
}

#[test]
fn other_subnets_go_through_the_gateway() {
    let mut board = Board::up();
    udp_send(&mut board, [10, 1, 2, 3]);
    board.answer_arp(GATEWAY);
    let datagram = Datagram::parse(&board.frame());
    assert_eq!((datagram.to, datagram.dst), (PEER_MAC, [10, 1, 2, 3]));
}

#[test]
fn answers_of_others_do_not_count() {
    let mut board = Board::up();
    udp_send(&mut board, PEER);
    board.frame();
    board.arrive(&arp_frame(ArpOperation::Reply, PEER_MAC, [192, 168, 1, 99], MAC, IP));
    board.no_frame();
    let mut foreign = arp_frame(ArpOperation::Reply, PEER_MAC, PEER, MAC, IP);
    foreign[0] = 0x04;
    board.arrive(&foreign);
    board.no_frame();
}

#[test]
fn close_ends_the_wait() {
    let mut board = Board::up();
    udp_send(&mut board, PEER);
    board.command(0, CLOSE);
    assert_eq!(board.chip.next_event(), None);
}
