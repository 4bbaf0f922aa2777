//! Socket 0 in MACRAW mode, with its filters and together with hardware sockets.

use super::support::*;
use smoltcp::wire::ArpOperation;

fn board(mode: u8) -> Board {
    let mut board = Board::up();
    board.write(COMMON, 0x0F, &[0; 4]);
    board.open(0, mode, 0);
    assert_eq!(board.status(0), MACRAW);
    board
}

fn frame_to(dst: [u8; 6], ethertype: u16, length: usize) -> Vec<u8> {
    ethernet(dst, PEER_MAC, ethertype, &vec![0x77; length - 14])
}

fn accepts(board: &mut Board, frame: &[u8]) -> bool {
    board.arrive(frame);
    !board.recv(0, 4096).is_empty()
}

#[test]
fn a_frame_is_stored_behind_its_length() {
    let mut board = board(0x04);
    let frame = frame_to(MAC, 0x1234, 100);
    board.arrive(&frame);
    assert_eq!(board.ir(0), IR_RECV);
    assert_eq!(board.get16(socket(0), RX_RSR), 102);
    assert_eq!(board.recv(0, 200), [&[0, 102][..], &frame].concat());
}

#[test]
fn short_frames_arrive_as_they_were_padded_on_the_wire() {
    let mut board = board(0x04);
    let frame = frame_to(MAC, 0x0800, 54);
    board.arrive(&frame);
    assert_eq!(board.recv(0, 200), [&[0, 62][..], &frame, &[0; 6]].concat());
}

#[test]
fn frames_of_illegal_length_are_lost() {
    let mut board = board(0x04);
    board.arrive(&frame_to(MAC, 0x0800, 1515));
    board.arrive(&[0xFF; 13]);
    board.arrive(&[]);
    assert_eq!(board.get16(socket(0), RX_RSR), 0);
    board.arrive(&frame_to(MAC, 0x0800, 1514));
    assert_eq!(board.get16(socket(0), RX_RSR), 1516);
}

#[test]
fn filters() {
    const OTHER: [u8; 6] = [2, 9, 9, 9, 9, 9];
    const MULTICAST: [u8; 6] = [0x33, 0x33, 0, 0, 0, 1];
    // Sn_MR: own, other's, broadcast, multicast, IPv6 to us.
    for (mode, own, other, broadcast, multicast, ipv6) in [
        (0x04, true, true, true, true, true),
        (0x84, true, false, true, true, true),
        (0xC4, true, false, false, true, true),
        (0xA4, true, false, true, false, true),
        (0x94, true, false, true, true, false),
        (0xF4, true, false, false, false, false),
        (0x24, true, true, true, false, true),
    ] {
        let mut board = board(mode);
        for (what, frame, accepted) in [
            ("own", frame_to(MAC, 0x1234, 60), own),
            ("other", frame_to(OTHER, 0x1234, 60), other),
            ("broadcast", frame_to([0xFF; 6], 0x1234, 60), broadcast),
            ("multicast", frame_to(MULTICAST, 0x1234, 60), multicast),
            ("IPv6", frame_to(MAC, 0x86DD, 60), ipv6),
        ] {
            assert_eq!(accepts(&mut board, &frame), accepted, "{what} in mode {mode:#04x}");
        }
    }
}

#[test]
fn the_filter_can_be_set_after_open() {
    let mut board = board(0x04);
    let other = frame_to([2, 9, 9, 9, 9, 9], 0x0800, 60);
    assert!(accepts(&mut board, &other));
    board.write(socket(0), MR, &[0x84]);
    assert!(!accepts(&mut board, &other));
}

#[test]
fn send_puts_the_frame_on_the_wire_as_it_is() {
    let mut board = board(0x84);
    let frame = ethernet([0xFF; 6], MAC, 0x0806, &[1; 28]);
    board.send(0, &frame);
    assert_eq!(board.frame(), frame);
    assert_eq!(board.ir(0), IR_SEND_OK);
    assert_eq!(board.get16(socket(0), TX_FSR), 2048);
    board.send(0, &[0xFF; 1515]);
    board.send(0, &[0xFF; 13]);
    board.no_frame();
}

#[test]
fn only_socket_0_has_it() {
    let mut board = Board::up();
    board.open(1, 0x04, 0);
    assert_eq!(board.status(1), CLOSED);
}

#[test]
fn micropython_buffers_of_16_kb_take_ten_full_frames() {
    let mut board = board(0x04);
    board.command(0, CLOSE);
    for n in 0..8 {
        board.write(socket(n), RXBUF_SIZE, &[if n == 0 { 16 } else { 0 }; 2]);
    }
    board.open(0, 0x84, 0);
    for i in 0..12u8 {
        let mut frame = frame_to(MAC, 0x0800, 1514);
        frame[20] = i;
        board.arrive(&frame);
    }
    assert_eq!(board.get16(socket(0), RX_RSR), 10 * 1516);
    for i in 0..10 {
        let stored = board.recv(0, 1516);
        assert_eq!((&stored[..2], stored[22]), (&1516u16.to_be_bytes()[..], i));
    }
    assert_eq!(board.get16(socket(0), RX_RSR), 0);
}

#[test]
fn without_an_address_everything_goes_to_the_host() {
    let mut board = board(0x84);
    let mut syn = PeerEnd { port: 1, board_port: 2, seq: 0, ack: 0, window: 0 }.segment(SYN, &[]);
    syn.mss = Some(1460);
    for frame in [
        arp_frame(ArpOperation::Request, PEER_MAC, PEER, [0; 6], IP),
        udp_frame(1, 68, b"offer"),
        ip_frame(MAC, PEER, IP, 1, &[8, 0, 0xF7, 0xFE, 0, 1, 0, 0]),
        syn.frame(),
    ] {
        assert!(accepts(&mut board, &frame));
        board.no_frame();
    }
}

#[test]
fn with_hardware_sockets_only_other_frames_go_to_the_host() {
    let mut board = board(0x84);
    board.write(COMMON, 0x0F, &IP);
    board.open(1, 0x02, 7);
    assert!(!accepts(&mut board, &udp_frame(1, 7, b"hardware")));
    assert_eq!(board.recv(1, 100)[8..], *b"hardware");
    assert!(accepts(&mut board, &udp_frame(1, 8, b"host")));
    board.no_frame();
    assert!(!accepts(&mut board, &arp_frame(ArpOperation::Request, PEER_MAC, PEER, [0; 6], IP)));
    assert_eq!(board.frames().len(), 1, "ARP answered by the chip");
    // A connection request without a listening socket goes to the host (no RST).
    let syn = PeerEnd { port: 1, board_port: 2, seq: 0, ack: 0, window: 0 }.segment(SYN, &[]);
    assert!(accepts(&mut board, &syn.frame()));
    board.no_frame();
    // With the ping block on, the host may answer.
    let ping = ip_frame(MAC, PEER, IP, 1, &[8, 0, 0xF7, 0xFE, 0, 1, 0, 0]);
    assert!(!accepts(&mut board, &ping));
    board.frame();
    board.write(COMMON, 0, &[0x10]);
    assert!(accepts(&mut board, &ping));
    board.no_frame();
}

/// MicroPython's driver enables only RECV, waits for SEND_OK in S0_IR and clears all of S0_IR at the end of a poll.
#[test]
fn micropython_interrupt_use() {
    let mut board = board(0x84);
    board.write(COMMON, 0x18, &[1]);
    board.write(socket(0), IMR, &[IR_RECV]);
    board.send(0, &frame_to([0xFF; 6], 0x0806, 60));
    board.frame();
    assert_eq!(board.ir(0), IR_SEND_OK);
    assert!(!board.chip.interrupt_low());
    board.write(socket(0), IR, &[IR_SEND_OK]);
    board.arrive(&frame_to(MAC, 0x0800, 60));
    assert!(board.chip.interrupt_low());
    board.recv(0, 4096);
    board.clear_ir(0);
    assert!(!board.chip.interrupt_low());
}
