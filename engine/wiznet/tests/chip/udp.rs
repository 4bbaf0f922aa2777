//! UDP and IPRAW sockets.

use super::support::*;

fn open(board: &mut Board, n: u8, mode: u8, port: u16) {
    board.open(n, mode, port);
    assert_eq!(board.status(n), UDP);
}

fn header(port: u16, length: u16) -> Vec<u8> {
    [&PEER[..], &port.to_be_bytes(), &length.to_be_bytes()].concat()
}

#[test]
fn a_datagram_is_stored_behind_its_8_byte_header() {
    let mut board = Board::up();
    open(&mut board, 2, 0x02, 7);
    board.arrive(&udp_frame(0x1234, 7, b"hello"));
    board.arrive(&udp_frame(0x1234, 8, b"not ours"));
    board.arrive(&udp_frame(0x4321, 7, b""));
    assert_eq!(board.ir(2), IR_RECV);
    assert_eq!(board.get16(socket(2), RX_RSR), 8 + 5 + 8);
    let expected = [header(0x1234, 5), b"hello".to_vec(), header(0x4321, 0)].concat();
    assert_eq!(board.recv(2, 100), expected);
    assert_eq!(board.get16(socket(2), RX_RSR), 0);
}

#[test]
fn damaged_datagrams_are_dropped() {
    let mut board = Board::up();
    open(&mut board, 0, 0x02, 7);
    let good = udp_frame(1, 7, b"hello");
    for at in 14..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        board.arrive(&bad);
        if board.get16(socket(0), RX_RSR) != 0 {
            panic!("byte {at} damaged and still accepted");
        }
    }
    for length in 14..good.len() {
        board.arrive(&good[..length]);
    }
    assert_eq!(board.get16(socket(0), RX_RSR), 0);
    // A datagram without checksum is legal.
    let mut bare = good.clone();
    bare[40..42].fill(0);
    board.arrive(&bare);
    assert_eq!(board.get16(socket(0), RX_RSR), 13);
}

#[test]
fn ethernet_padding_is_not_data() {
    let mut board = Board::up();
    open(&mut board, 0, 0x02, 7);
    let mut frame = udp_frame(1, 7, b"hi");
    frame.resize(60, 0xEE);
    board.arrive(&frame);
    assert_eq!(board.recv(0, 100), [header(1, 2), b"hi".to_vec()].concat());
}

#[test]
fn a_full_buffer_drops_whole_datagrams() {
    let mut board = Board::up();
    open(&mut board, 0, 0x02, 7);
    board.arrive(&udp_frame(1, 7, &[1; 1000]));
    board.arrive(&udp_frame(1, 7, &[2; 1033]));
    assert_eq!(board.get16(socket(0), RX_RSR), 1008);
    board.arrive(&udp_frame(1, 7, &[3; 1032]));
    assert_eq!(board.get16(socket(0), RX_RSR), 2048);
    assert_eq!(board.recv(0, 2048)[1008 + 8..], [3; 1032]);
}

#[test]
fn pointers_wrap_at_the_buffer_and_at_64_kb() {
    let mut board = Board::up();
    open(&mut board, 1, 0x02, 7);
    board.write(socket(1), DIPR, &[255; 4]);
    board.put16(socket(1), DPORT, 9);
    for i in 0..150u16 {
        let data: Vec<u8> = (0..700).map(|k| (k + i) as u8).collect();
        board.arrive(&udp_frame(1, 7, &data));
        assert_eq!(board.recv(1, 4096)[8..], data, "datagram {i} in");
        board.send(1, &data);
        assert_eq!(Datagram::parse(&board.frame()).data, data, "datagram {i} out");
        assert_eq!(board.get16(socket(1), TX_FSR), 2048);
        board.clear_ir(1);
    }
    assert_eq!(u32::from(board.get16(socket(1), TX_WR)), 150 * 700 % 65_536);
}

#[test]
fn recv_alone_frees_the_buffer() {
    let mut board = Board::up();
    open(&mut board, 0, 0x02, 7);
    board.arrive(&udp_frame(1, 7, &[1; 100]));
    board.put16(socket(0), RX_RD, 108);
    assert_eq!(board.get16(socket(0), RX_RD), 108);
    assert_eq!(board.get16(socket(0), RX_RSR), 108);
    board.command(0, RECV);
    assert_eq!(board.get16(socket(0), RX_RSR), 0);
}

#[test]
fn broadcast_needs_no_arp() {
    let mut board = Board::up();
    open(&mut board, 0, 0x02, 68);
    board.put16(socket(0), DPORT, 67);
    for destination in [[255, 255, 255, 255], [192, 168, 1, 255]] {
        board.write(socket(0), DIPR, &destination);
        board.send(0, b"discover");
        let datagram = Datagram::parse(&board.frame());
        assert_eq!((datagram.to, datagram.dst), ([0xFF; 6], destination));
        assert_eq!((datagram.src_port, datagram.dst_port), (68, 67));
        assert_eq!(board.ir(0), IR_SEND_OK);
        board.clear_ir(0);
    }
}

#[test]
fn dhcp_without_an_address_works_by_broadcast() {
    let mut board = Board::up();
    board.write(COMMON, 0x01, &[0; 8]);
    board.write(COMMON, 0x0F, &[0; 4]);
    open(&mut board, 0, 0x02, 68);
    board.put16(socket(0), DPORT, 67);
    board.write(socket(0), DIPR, &[255; 4]);
    board.send(0, b"discover");
    assert_eq!(Datagram::parse(&board.frame()).to, [0xFF; 6]);
    board.arrive(&udp_frame_from((PEER, 67), [0xFF; 6], ([255; 4], 68), b"offer"));
    assert_eq!(board.recv(0, 100)[8..], *b"offer");
    // adafruit_wiznet5k leaves the broadcast flag clear, so the offer goes to the offered address.
    board.arrive(&udp_frame(67, 68, b"direct"));
    assert_eq!(board.recv(0, 100)[8..], *b"direct");
    board.arrive(&udp_frame(67, 69, b"unused"));
    board.no_frame();
    // Datagrams to a group are for sockets that have joined one.
    board.arrive(&udp_frame_from((PEER, 67), [1, 0, 0x5e, 0, 0, 1], ([224, 0, 0, 1], 68), b"group"));
    assert_eq!(board.get16(socket(0), 0x26), 0);
}

#[test]
fn send_mac_uses_dhar_as_written() {
    let mut board = Board::up();
    open(&mut board, 0, 0x02, 7);
    board.write(socket(0), DIPR, &PEER);
    board.put16(socket(0), DPORT, 9);
    board.write(socket(0), DHAR, &[2, 2, 2, 2, 2, 2]);
    board.fill(0, b"direct");
    board.command(0, SEND_MAC);
    let datagram = Datagram::parse(&board.frame());
    assert_eq!((datagram.to, datagram.data), ([2; 6], b"direct".to_vec()));
    assert_eq!(board.ir(0), IR_SEND_OK);
    // SEND resolves again, because the host has changed the address learned by ARP.
    board.send(0, b"asked");
    board.answer_arp(PEER);
    assert_eq!(Datagram::parse(&board.frame()).to, PEER_MAC);
}

#[test]
fn more_than_the_mtu_is_divided() {
    let mut board = Board::up();
    board.write(socket(0), TXBUF_SIZE, &[4]);
    open(&mut board, 0, 0x02, 7);
    board.write(socket(0), DIPR, &[255; 4]);
    board.put16(socket(0), DPORT, 9);
    let sizes = |board: &mut Board| -> Vec<usize> {
        board.frames().iter().map(|(_, frame)| Datagram::parse(frame).data.len()).collect()
    };
    board.send(0, &[7; 3000]);
    assert_eq!(sizes(&mut board), [1472, 1472, 56]);
    board.put16(socket(0), MSSR, 500);
    board.send(0, &[7; 1200]);
    assert_eq!(sizes(&mut board), [500, 500, 200]);
}

#[test]
fn ip_header_fields_come_from_the_socket() {
    let mut board = Board::up();
    open(&mut board, 0, 0x02, 7);
    board.write(socket(0), DIPR, &[255; 4]);
    board.write(socket(0), 0x15, &[0x10, 0x05]);
    board.send(0, b"x");
    let frame = board.frame();
    let packet = ip_of(&frame);
    assert_eq!((frame[15], packet.hop_limit(), packet.dont_frag()), (0x10, 5, true));
    let first = packet.ident();
    board.put16(socket(0), 0x2D, 0);
    board.send(0, b"x");
    let frame = board.frame();
    assert!(!ip_of(&frame).dont_frag());
    assert_eq!(ip_of(&frame).ident(), first + 1);
}

#[test]
fn broadcast_and_unicast_blocking() {
    const GROUP: [u8; 4] = [239, 1, 2, 3];
    let group_mac = [0x01, 0x00, 0x5E, 1, 2, 3];
    // Sn_MR, then whether unicast, broadcast and multicast are accepted.
    for (mode, unicast, broadcast, multicast) in [
        (0x02, true, true, false),
        (0x42, true, false, false),
        (0x12, true, true, false),
        (0x82, true, true, true),
        (0xC2, true, false, true),
        (0x92, false, true, true),
        (0xD2, false, false, true),
    ] {
        let mut board = Board::up();
        board.write(socket(0), DIPR, &GROUP);
        board.put16(socket(0), DPORT, 7);
        open(&mut board, 0, mode, 7);
        for (frame, accepted) in [
            (udp_frame(1, 7, b"u"), unicast),
            (udp_frame_from((PEER, 1), [0xFF; 6], ([255; 4], 7), b"b"), broadcast),
            (udp_frame_from((PEER, 1), [0xFF; 6], ([192, 168, 1, 255], 7), b"b"), broadcast),
            (udp_frame_from((PEER, 1), group_mac, (GROUP, 7), b"m"), multicast),
            (udp_frame_from((PEER, 1), [1, 0, 0x5E, 1, 2, 4], ([239, 1, 2, 4], 7), b"m"), false),
        ] {
            board.arrive(&frame);
            let received = board.recv(0, 100);
            assert_eq!(!received.is_empty(), accepted, "mode {mode:#04x}, frame {:02x?}", &frame[..6]);
        }
    }
}

#[test]
fn multicast_goes_out_to_the_groups_mac() {
    let mut board = Board::up();
    board.write(socket(0), DIPR, &[239, 129, 2, 3]);
    board.put16(socket(0), DPORT, 7);
    open(&mut board, 0, 0x82, 7);
    board.frames();
    board.send(0, b"to all");
    assert_eq!(Datagram::parse(&board.frame()).to, [0x01, 0x00, 0x5E, 1, 2, 3]);
}

#[test]
fn a_closed_port_is_unreachable() {
    let mut board = Board::up();
    let frame = udp_frame(1, 9999, b"anyone?");
    board.arrive(&frame);
    let answer = board.frame();
    let ip = ip_of(&answer);
    use smoltcp::wire::*;
    let message = Icmpv4Packet::new_checked(ip.payload()).unwrap();
    assert!(message.verify_checksum());
    assert_eq!((message.msg_type(), message.msg_code()), (Icmpv4Message::DstUnreachable, 3));
    assert_eq!(message.data(), &frame[14..14 + 28]);
    board.arrive(&udp_frame_from((PEER, 1), [0xFF; 6], ([255; 4], 9999), b"anyone?"));
    board.no_frame();
}

#[test]
fn closed_sockets_receive_nothing() {
    let mut board = Board::up();
    open(&mut board, 0, 0x02, 7);
    board.command(0, CLOSE);
    assert_eq!(board.status(0), CLOSED);
    board.arrive(&udp_frame(1, 7, b"x"));
    assert_eq!(board.get16(socket(0), RX_RSR), 0);
    board.send(0, b"x");
    assert_eq!(board.ir(0), 0);
}

#[test]
fn magic_packet_over_udp() {
    let mut board = Board::up();
    open(&mut board, 0, 0x02, 7);
    let magic = [vec![0xFF; 6], MAC.repeat(16)].concat();
    board.arrive(&udp_frame_from((PEER, 1), [0xFF; 6], ([255; 4], 9), &magic));
    assert_eq!(board.get(COMMON, 0x15), 0, "WOL is off");
    board.write(COMMON, 0x00, &[0x20]);
    board.arrive(&udp_frame_from((PEER, 1), [0xFF; 6], ([255; 4], 9), &magic[..101]));
    assert_eq!(board.get(COMMON, 0x15), 0);
    board.arrive(&udp_frame_from((PEER, 1), [0xFF; 6], ([255; 4], 9), &magic));
    assert_eq!(board.get(COMMON, 0x15), 0x10, "MP");
}

#[test]
fn ipraw_ping_as_iolibrary_does_it() {
    let mut board = Board::up();
    board.write(socket(3), 0x14, &[1]);
    board.write(socket(3), MR, &[0x03]);
    board.command(3, OPEN);
    assert_eq!(board.status(3), 0x32);
    board.write(socket(3), DIPR, &PEER);
    board.send(3, &[8, 0, 0xF7, 0xFE, 0, 1, 0, 0]);
    board.answer_arp(PEER);
    let frame = board.frame();
    assert_eq!(ip_of(&frame).next_header(), smoltcp::wire::IpProtocol::Icmp);
    assert_eq!(ip_of(&frame).payload(), [8, 0, 0xF7, 0xFE, 0, 1, 0, 0]);
    assert_eq!(board.ir(3), IR_SEND_OK);
    board.arrive(&ip_frame(MAC, PEER, IP, 1, &[0, 0, 0xFF, 0xFE, 0, 1, 0, 0]));
    let expected = [&PEER[..], &[0, 8], &[0, 0, 0xFF, 0xFE, 0, 1, 0, 0]].concat();
    assert_eq!(board.recv(3, 100), expected);
}

#[test]
fn ipraw_uses_only_the_protocol_set_by_the_host() {
    let mut board = Board::up();
    board.write(socket(3), 0x14, &[89]);
    board.write(socket(3), MR, &[0x03]);
    board.command(3, OPEN);
    board.write(socket(3), DIPR, &PEER);
    board.send(3, b"hello");
    board.answer_arp(PEER);
    assert_eq!(u8::from(ip_of(&board.frame()).next_header()), 89);
    board.arrive(&ip_frame(MAC, PEER, IP, 1, b"not ours"));
    board.arrive(&ip_frame(MAC, PEER, IP, 89, b"ours"));
    assert_eq!(board.recv(3, 100), [&PEER[..], &[0, 4], b"ours"].concat());
}

#[test]
fn open_discards_received_data() {
    let mut board = Board::up();
    open(&mut board, 0, 0x02, 7);
    board.arrive(&udp_frame(1, 7, b"before"));
    board.recv(0, 100);
    board.arrive(&udp_frame(1, 7, b"left"));
    board.command(0, CLOSE);
    open(&mut board, 0, 0x02, 7);
    assert_eq!((board.get16(socket(0), RX_RSR), board.get16(socket(0), RX_RD)), (0, 0));
    board.arrive(&udp_frame(1, 7, b"after"));
    assert_eq!(board.recv(0, 100), [header(1, 5), b"after".to_vec()].concat());
}
